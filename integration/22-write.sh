# `lamina write`: manifests, what is said of them, system calls, descriptors,
# and who may write what. The unit tests have the rest.
# shellcheck shell=sh

probe() { need python3; }

scenarios() {
    cat <<'LIST'
answer_is_the_last_line
lines_and_standard_input
bad_manifests_are_told
bad_names_leave_the_root_untouched
lower_bad_name_before_a_bad_output
failure_is_told_with_its_index
documented_example
one_mkdir_a_directory_and_no_probing
few_descriptors
many_outputs_in_little_memory
full_disk
ordinary_user
stopped_while_it_reads
from_a_pipe_that_waits
LIST
    for kind in ext4 xfs btrfs tmpfs overlay; do
        echo "on $kind"
    done
}

# manifest COUNT DIRECTORIES BYTES: JSON lines
manifest() {
    python3 - "$@" <<'PY'
import json, sys
count, directories, size = map(int, sys.argv[1:])
for i in range(count):
    print(json.dumps({"path": f"d{i % directories}/f{i}", "data": f"{i:0{size}}"}))
PY
}

# holds ROOT COUNT DIRECTORIES BYTES: it is what manifest() says
holds() {
    python3 - "$@" <<'PY' || fail "$1 is not what was to be written"
import os, stat, sys
root, count, directories, size = sys.argv[1], *map(int, sys.argv[2:])
for i in range(count):
    path = f"{root}/d{i % directories}/f{i}"
    assert open(path).read() == f"{i:0{size}}", path
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o644, path
found = sum(len(files) for _, _, files in os.walk(root))
assert found == count, f"{found} files"
PY
}

on() {
    dir=$(mount_fs "$1")
    manifest 1000 40 700 >"$T/manifest"
    for workers in 1 2 8; do
        does "$LAMINA" write "$dir/out" --manifest "$T/manifest" \
            --workers "$workers"
        holds "$dir/out" 1000 40 700
        report_is ok True
        report_is files 1000
    done
    # The second and third time all were there.
    report_is replaced 1000
    report_is directories 0
}

answer_is_the_last_line() {
    echo '[{"path":"a","data":"1"},{"path":"./a","data":"2"}]' >"$T/manifest"
    does "$LAMINA" write "$T/root" --manifest "$T/manifest"
    [ "$(wc -l <"$T/out")" = 1 ] || fail "$(cat "$T/out")"
    report_is ok True
    report_is error_index None
    report_is superseded "[0]"
    [ "$(cat "$T/root/a")" = 2 ] || fail "a is $(cat "$T/root/a")"
}

lines_and_standard_input() {
    {
        echo '{"path_b64": "Y2Fm6Q==", "data_b64": "AAH/", "mode": "755"}'
        echo
        echo '{"path": "d/b", "from": "'"$T"'/from", "mode": 384}'
    } >"$T/manifest"
    echo content >"$T/from"
    "$LAMINA" write "$T/root" --manifest - <"$T/manifest" >"$T/out"
    cmp "$T/from" "$T/root/d/b" || fail "d/b"
    [ "$(stat -c %a "$T/root/d/b")" = 600 ] || fail "mode of d/b"
    name=$(printf '%s/root/caf\351' "$T")
    [ "$(stat -c '%a %s' "$name")" = "755 3" ] || fail "the odd name"
}

# write_fails PATTERN INDEX: exit 1, one line on each stream
write_fails() {
    status=0
    "$LAMINA" write "$T/root" --manifest "$T/manifest" >"$T/out" 2>"$T/err" \
        </dev/null || status=$?
    [ "$status" = 1 ] || fail "exit $status"
    one_error_line "$1"
    [ "$(wc -l <"$T/out")" = 1 ] || fail "$(cat "$T/out")"
    report_is ok False
    report_is error_index "$2"
}

bad_manifests_are_told() {
    printf '' >"$T/manifest"
    write_fails 'the manifest is empty' 0
    echo '[{"path":"a","data":""},{"path":"b"}]' >"$T/manifest"
    write_fails 'output 1: no data, data_b64 or from' 1
    printf '[{"path":"a","data":""},\n' >"$T/manifest"
    write_fails 'output 1: not JSON' 1
    printf '{"path":"a","da\\u001b[2Jta":""}\n' >"$T/manifest"
    write_fails 'output 0: an unknown key' 0
    absent "$T/root"
    rm "$T/manifest"
    write_fails "open on .*/manifest': No such file" None
    mkdir "$T/manifest"
    write_fails "read on .*/manifest': Is a directory" None
    absent "$T/root"
    refuses 2 'manifest is required' "$LAMINA" write "$T/root"
    refuses 2 'ROOT must not be empty' "$LAMINA" write '' --manifest x
    refuses 2 'workers' "$LAMINA" write "$T/root" --manifest x --workers 0
}

bad_names_leave_the_root_untouched() {
    mkdir "$T/root"
    echo kept >"$T/root/a"
    remember "$T/root" before
    for name in '' ../up 'n\u0000l'; do
        printf '[{"path":"a","data":"new"},{"path":"%s","data":""}]' "$name" \
            >"$T/manifest"
        write_fails 'write' 1
        unchanged "$T/root" before
    done
}

lower_bad_name_before_a_bad_output() {
    printf '{"path":"a","data":""}\n{"path":"/b","data":""}\nx\n' >"$T/manifest"
    write_fails "write on '/b': the name is absolute" 1
}

failure_is_told_with_its_index() {
    mkdir -p "$T/root/b"
    printf '{"path":"%s","data":"1"}\n' a b c >"$T/manifest"
    write_fails "rename on 'b': Is a directory" 1
    [ "$(cat "$T/root/a")" = 1 ] || fail "a is not whole"
    [ -z "$(find "$T/root" -name '.lamina-*')" ] || fail "a temporary name"
}

# What docs/batch.md tells people to paste.
documented_example() {
    # shellcheck disable=SC2016 # backquotes
    sed -n '/^```sh$/,/^```$/p' "$LAMINA_ROOT/docs/batch.md" |
        grep -v '^```' >"$T/example"
    [ -s "$T/example" ] || fail "no example in docs/batch.md"
    mkdir "$T/bin"
    ln -s "$LAMINA" "$T/bin/lamina"
    (cd "$T" && PATH=$T/bin:$PATH sh -eu "$T/example") >"$T/said" || fail "$T"
    grep -q '^{"ok":true' "$T/said" || fail "$(cat "$T/said")"
    [ "$("$T/inputs/bin/tool")" = hello ] || fail "the tool does not run"
}

one_mkdir_a_directory_and_no_probing() {
    need strace
    manifest 2000 100 50 >"$T/manifest"
    strace -f -c -o "$T/calls" "$LAMINA" write "$T/root" \
        --manifest "$T/manifest" >"$T/out" 2>"$T/err" || skip "no strace here"
    calls() {
        awk -v name="$1" '$NF == name { n = $4 } END { print n + 0 }' "$T/calls"
    }
    [ "$(calls mkdirat)" = 101 ] || fail "$(cat "$T/calls")"
    [ "$(calls pwrite64)" = 2000 ] || fail "$(cat "$T/calls")"
    opens=$(calls openat)
    [ "$opens" -le 2150 ] || fail "$opens times openat"
    for call in fchmod renameat2 unlinkat readlink readlinkat access; do
        n=$(calls $call)
        # A few are the loader's, and those of a wrapper around the program.
        [ "$n" -le 20 ] || fail "$n times $call"
    done
    note "openat $opens, mkdirat 101, pwrite64 2000 for 2000 files in 100"
}

few_descriptors() {
    need prlimit
    manifest 3000 600 20 >"$T/manifest"
    for workers in 1 4; do
        does prlimit --nofile=40 "$LAMINA" write "$T/root" \
            --manifest "$T/manifest" --workers "$workers"
        holds "$T/root" 3000 600 20
        rm -r "$T/root"
    done
}

many_outputs_in_little_memory() {
    dir=$(mount_fs tmpfs)
    manifest 100000 10 30 >"$T/manifest"
    does "$TOOLS/peak" "$T/peak" "$LAMINA" write "$dir/out" \
        --manifest "$T/manifest"
    report_is files 100000
    # 3 MB of contents; a name, an entry and a plan of it for each.
    [ "$(cat "$T/peak")" -le 98304 ] || fail "$(cat "$T/peak") KiB"
    note "100,000 outputs: at most $(cat "$T/peak") KiB"
}

full_disk() {
    dir=$(mount_fs tmpfs 8)
    manifest 3000 7 4000 >"$T/manifest"
    status=0
    "$LAMINA" write "$dir" --manifest "$T/manifest" >"$T/out" 2>"$T/err" ||
        status=$?
    [ "$status" = 1 ] || fail "exit $status"
    one_error_line 'ENOSPC'
    [ -z "$(find "$dir" -type f ! -size 4000c)" ] || fail "a half file"
    index=$(report error_index)
    [ "$index" -gt 100 ] || fail "index $index"
    seq 0 $((index - 1)) | while read -r i; do
        [ -e "$dir/d$((i % 7))/f$i" ] || fail "f$i is missing"
    done
}

ordinary_user() {
    need setpriv
    chmod 777 "$T"
    manifest 300 5 40 >"$T/manifest"
    for mask in 022 077; do
        umask "$mask"
        does as_nobody "$LAMINA" write "$T/root" --manifest "$T/manifest"
        holds "$T/root" 300 5 40
        [ "$(stat -c %U:%a "$T/root/d0")" = nobody:755 ] || fail "d0"
        rm -r "$T/root"
    done
    umask 022
    mkdir -m 755 "$T/root"
    status=0
    as_nobody "$LAMINA" write "$T/root" --manifest "$T/manifest" >"$T/out" \
        2>"$T/err" || status=$?
    [ "$status" = 1 ] || fail "exit $status"
    one_error_line 'EACCES'
    empty_directory "$T/root"
}

stopped_while_it_reads() {
    mkfifo "$T/pipe"
    "$LAMINA" write "$T/root" --manifest "$T/pipe" >"$T/out" 2>"$T/err" &
    writer=$!
    exec 3>"$T/pipe"
    echo '{"path":"a","data":"1"}' >&3
    sleep 0.3
    kill -TERM "$writer"
    status=0
    wait "$writer" || status=$?
    exec 3>&-
    [ "$status" = 143 ] || fail "exit $status"
    absent "$T/root"
}

from_a_pipe_that_waits() {
    mkfifo "$T/pipe"
    (sleep 0.3 && echo '{"path":"a","data":"1"}' && sleep 0.3 &&
        echo '{"path":"b","data":"2"}') >"$T/pipe" &
    does "$LAMINA" write "$T/root" --manifest "$T/pipe"
    [ "$(cat "$T/root/a" "$T/root/b")" = 12 ] || fail "a and b"
}
