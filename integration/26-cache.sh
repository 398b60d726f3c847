# The tree cache on real file systems: hits, users, builds, crashes.
# shellcheck shell=sh

scenarios() {
    for kind in ext4 xfs btrfs tmpfs; do
        echo "add_and_get $kind"
    done
    cat <<'LIST'
reflinks_share_no_inode xfs
reflinks_share_no_inode btrfs
blobs_stay_as_they_are ext4
blobs_stay_as_they_are xfs
many_processes_build_once ext4
killed_while_adding ext4
full_cache_is_direct
other_file_system_is_copied
one_chmod_at_most
batch_answers_each_line
ordinary_user ext4
ordinary_user btrfs
real_build ext4
real_build xfs
documented
usage
LIST
}

probe() { need python3 setpriv; }

cache() { "$LAMINA" cache "$@" --root "$dir/cache"; }

# outcome COMMAND...: a get with --json answers this
answers() {
    want=$1
    shift
    does "$@" --json
    report_is outcome "$want"
}

# A tree with all that a manifest holds.
a_tree() {
    tree make "$1" <<'TREE'
        file    a.txt      text=alpha
        file    bin/tool   text=#!/bin/sh\x0aecho\x20ok\x0a mode=0755
        file    lib/same   text=alpha mode=0600
        file    lib/x/one  size=100000 fill=1
        file    lib/empty
        file    odd\xff\x0aname text=odd
        dir     out/deep
        symlink to-file    -> a.txt
        symlink to-dir     -> lib/x
        symlink dangling   -> no/such
        symlink outside    -> /etc/hostname
TREE
}

# names_of DIR: what it holds, in names, types and bytes
names_of() {
    (cd "$1" && find . -printf '%y %P %l\n' | sort &&
        find . -type f -exec cksum {} + | sort)
}

same_names() {
    names_of "$1" >"$T/want"
    names_of "$2" >"$T/got"
    cmp -s "$T/want" "$T/got" || {
        diff -u "$T/want" "$T/got" | head -n 20
        fail "$2 is not $1"
    }
}

add_and_get() {
    dir=$(mount_fs "$1")
    a_tree "$dir/src"
    does cache add k "$dir/src"
    for mode in auto hardlink; do
        answers hit cache get k "$dir/$mode" --mode "$mode"
        same_names "$dir/src" "$dir/$mode"
        modes=$(cd "$dir/$mode" && stat -c '%a' . out/deep a.txt bin/tool \
            lib/same lib/empty | tr '\n' ' ')
        [ "$modes" = "755 755 444 555 444 444 " ] || fail "modes: $modes"
        [ "$("$dir/$mode/bin/tool")" = ok ] || fail "the tool does not run"
        [ "$(stat -c %h "$dir/$mode/lib/empty")" = 1 ] || fail "shared nothing"
    done
    report_is linked 5
    mkdir "$dir/there"
    answers hit cache get k "$dir/there"
    does cache verify
    does cache evict k
    same_names "$dir/src" "$dir/hardlink"
    refuses 1 "get on 'k': the key was not there.*ENOENT" \
        cache get k "$dir/after"
    absent "$dir/after"
    does "$LAMINA" remove "$dir/auto"
    does "$LAMINA" remove "$dir/hardlink"
    does "$LAMINA" remove "$dir/there"
    does cache evict --to 0
    [ -z "$(find "$dir/cache/blobs" -type f)" ] || fail "blobs stay"
}

reflinks_share_no_inode() {
    dir=$(mount_fs "$1")
    a_tree "$dir/src"
    does cache add k "$dir/src"
    answers hit cache get k "$dir/one"
    report_is reflinked 5
    report_is linked 0
    [ -z "$(find "$dir/one" -type f -links +1)" ] || fail "an inode is shared"
    # So that not even root's writing harms.
    echo spoilt >"$dir/one/a.txt"
    does cache verify
}

# blob_store DIR: a store as build workers keep one, and a manifest
blob_store() {
    mkdir "$1/store"
    python3 - "$1" <<'PY'
import hashlib, json, os, sys
top = sys.argv[1]
files = []
for number in range(200):
    data = (b"#!/bin/sh\necho ok\n" if number < 3 else b"") + b"%d\n" % number
    data = b"" if number == 9 else data
    name = hashlib.sha256(data).hexdigest()
    path = f"{top}/store/{name}"
    with open(path, "wb") as out:
        out.write(data)
    os.chmod(path, 0o444)
    os.utime(path, ns=(5, 5))
    files.append({"path": f"d{number % 9}/f{number}",
                  "digest": "sha256:" + name, "executable": number < 3})
with open(f"{top}/manifest.json", "w") as out:
    json.dump({"lamina_tree": 1, "files": files,
               "symlinks": [{"path": "s", "target": "nowhere"}]}, out)
PY
}

# Links may be counted; nothing else may change.
store_state() {
    tree dump "$1" && find "$1" -printf '%i %m %U:%G %s %T@ %P\n' | sort
}

blobs_stay_as_they_are() {
    dir=$(mount_fs "$1")
    blob_store "$dir"
    store_state "$dir/store" >"$T/before"
    set -- --manifest "$dir/manifest.json" --blobs "$dir/store"
    answers built cache get k "$dir/one" "$@"
    report_is build.linked 199
    report_is build.variants 3
    answers hit cache get k "$dir/two" "$@" --mode hardlink
    does cache add other "$dir/two"
    does cache verify
    does "$LAMINA" remove "$dir/one"
    # The files of a hard-linked tree are right already: no chmod.
    does "$LAMINA" lock "$dir/two"
    does "$LAMINA" unlock "$dir/two"
    does "$LAMINA" remove "$dir/two"
    does cache evict k
    does cache evict --older-than 0s
    store_state "$dir/store" >"$T/after"
    diff "$T/before" "$T/after" || fail "the store was changed"
    [ -z "$(find "$dir/store" -type f -links +1)" ] || fail "a link is left"
}

many_processes_build_once() {
    dir=$(mount_fs "$1")
    blob_store "$dir"
    for number in $(seq 64); do
        cache get k "$dir/to$number" --manifest "$dir/manifest.json" \
            --blobs "$dir/store" --json >"$T/answer.$number" 2>&1 &
    done
    wait
    does cache list --json
    report_is built 1
    report_is hits 63
    report_is direct 0
    for number in $(seq 64); do
        [ "$(find "$dir/to$number" | wc -l)" = 211 ] || {
            cat "$T/answer.$number"
            fail "to$number is not whole"
        }
    done
}

killed_while_adding() {
    dir=$(mount_fs "$1" 2048)
    tree random "$dir/src" 7 3000 plain
    # Whatever the delay hits, the next call has to find its way.
    for delay in 0.01 0.03 0.05 0.1 0.2 0.4; do
        timeout -s KILL "$delay" "$LAMINA" cache add k "$dir/src" \
            --root "$dir/cache" >"$T/out" 2>&1 || true
        timeout -s KILL "$delay" "$LAMINA" cache get k "$dir/half" \
            --root "$dir/cache" >"$T/out" 2>&1 || true
        rm -rf "$dir/half"
    done
    find "$dir/src" \( -type p -o -type s -o -type b -o -type c \) -delete
    does cache add k "$dir/src"
    answers hit cache get k "$dir/whole" --mode hardlink
    same_names "$dir/src" "$dir/whole"
    does cache verify
    empty_directory "$dir/cache/staging"
    empty_directory "$dir/cache/trash"
    empty_directory "$dir/cache/locks"
}

full_cache_is_direct() {
    dir=$(mount_fs tmpfs 64)
    blob_store "$dir"
    small=$(mktemp -d "$T/small.XXXXXX")
    mount -t tmpfs -o size=64k tmpfs "$small"
    does "$LAMINA" cache get k "$dir/to" --manifest "$dir/manifest.json" \
        --blobs "$dir/store" --root "$small/cache" --json
    report_is outcome direct
    report reason | grep -q ENOSPC || fail "no reason: $(report reason)"
    [ "$(find "$dir/to" | wc -l)" = 211 ] || fail "it is not whole"
    [ "$("$dir/to/d0/f0")" = ok ] || fail "the tool does not run"
}

other_file_system_is_copied() {
    dir=$(mount_fs ext4)
    far=$(mount_fs tmpfs)
    a_tree "$dir/src"
    does cache add k "$dir/src"
    answers hit cache get k "$far/to"
    report_is copied 6
    report reason | grep -q 'could not be linked' || fail "no reason"
    same_names "$dir/src" "$far/to"
    [ "$("$far/to/bin/tool")" = ok ] || fail "the tool does not run"
}

one_chmod_at_most() {
    need strace
    dir=$(mount_fs ext4)
    a_tree "$dir/src"
    does cache add k "$dir/src"
    strace -f -o "$T/calls" -e trace=chmod,fchmod,fchmodat \
        "$LAMINA" cache get k "$dir/to" --root "$dir/cache" >"$T/out" ||
        fail "exit $?"
    chmods=$(grep -c 'chmod' "$T/calls" || true)
    [ "$chmods" -le 1 ] || fail "$chmods calls: $(cat "$T/calls")"
    strace -f -o "$T/calls" -c \
        "$LAMINA" cache get k "$dir/to2" --root "$dir/cache" >"$T/out"
    note "$(tail -n 1 "$T/calls")"
}

batch_answers_each_line() {
    dir=$(mount_fs tmpfs)
    blob_store "$dir"
    cat >"$T/requests" <<LINES
{"key": "k", "destination": "$dir/1", "manifest": "$dir/manifest.json", "blobs": "$dir/store"}

{"key_b64": "aw==", "destination": "$dir/2"}
not JSON
{"key": "k", "destination": "$dir/2"}
{"key": "k", "destination": "$dir/3", "colour": "red"}
{"key": "k", "destination": "$dir/4", "mode": "content"}
{"key": "k", "destination": "$dir/5"}
LINES
    status=0
    cache get --batch <"$T/requests" >"$T/out" 2>"$T/err" || status=$?
    [ "$status" = 1 ] || fail "exit $status"
    one_error_line "4 of 7 requests failed"
    oks=$(python3 -c '
import json, sys
print(*[json.loads(l).get("outcome", "-") for l in sys.stdin])' <"$T/out")
    [ "$oks" = "built hit - - - - hit" ] || {
        cat "$T/out"
        fail "answers: $oks"
    }
}

ordinary_user() {
    dir=$(mount_fs "$1")
    chmod 777 "$dir"
    blob_store "$dir"
    set -- --manifest "$dir/manifest.json" --blobs "$dir/store" \
        --root "$dir/cache" --json
    # The store is root's: what may not be linked is copied, and counted.
    does as_nobody "$LAMINA" cache get k "$dir/one" "$@"
    report_is outcome built
    does as_nobody "$LAMINA" cache get k "$dir/two" "$@"
    report_is outcome hit
    for input in d0/f0 d5/f5 d0/f9; do
        refuses 2 "Permission denied" \
            as_nobody sh -c "echo x >'$dir/two/$input'"
    done
    for new in new d0/new d8/new; do
        as_nobody sh -c "echo x >'$dir/two/$new'" || fail "cannot make $new"
    done
    does as_nobody "$LAMINA" cache verify --root "$dir/cache"
    does as_nobody "$LAMINA" remove "$dir/two"
    does as_nobody "$LAMINA" cache evict k --root "$dir/cache"
}

# A project with a virtual environment, as jobs have them.
project() {
    mkdir -p "$1/src/util" "$1/venv/bin" "$1/venv/lib"
    cat >"$1/Makefile" <<'MAKE'
all: build/obj/main.o build/obj/util/util.o build/bin/tool
	build/bin/tool >build/said
	venv/bin/run >>build/said
build/obj/%.o: src/%.c
	mkdir -p $(@D)
	gcc -c -o $@ $<
build/bin/tool: build/obj/main.o build/obj/util/util.o
	mkdir -p $(@D)
	gcc -o $@ $^
MAKE
    cat >"$1/src/main.c" <<'C'
#include <stdio.h>
int number(void);
int main(void) { printf("%d\n", number()); return 0; }
C
    echo 'int number(void) { return 42; }' >"$1/src/util/util.c"
    cat >"$1/venv/bin/run" <<'RUN'
#!/bin/sh
exec "$(dirname "$0")/python" -c 'print(7)'
RUN
    chmod 755 "$1/venv/bin/run"
    ln -s /usr/bin/python3 "$1/venv/bin/python"
    ln -s lib "$1/venv/lib64"
    ln -s /no/such/site-packages "$1/venv/lib/dangling"
    : >"$1/venv/lib/__init__.py"
}

real_build() {
    need make gcc /usr/bin/python3
    dir=$(mount_fs "$1")
    chmod 777 "$dir"
    as_nobody mkdir "$dir/src"
    project "$dir/src"
    does as_nobody "$LAMINA" cache add k "$dir/src" --root "$dir/cache"
    for number in 1 2 3; do
        does as_nobody "$LAMINA" cache get k "$dir/job$number" --json \
            --root "$dir/cache" --mode hardlink
        report_is outcome hit
        as_nobody make -s -C "$dir/job$number" >"$T/make" 2>&1 || {
            cat "$T/make"
            fail "the build failed"
        }
        [ "$(tr '\n' ' ' <"$dir/job$number/build/said")" = "42 7 " ] ||
            fail "it said $(cat "$dir/job$number/build/said")"
        does as_nobody "$LAMINA" cache verify --root "$dir/cache"
    done
    does cache list --json
    report_is hits 3
    report_is direct 0
}

# What docs/cache.md shows is what a reader can paste.
documented() {
    dir=$(mount_fs tmpfs)
    awk '/^```/ { shown = $0 == "```sh"; next } shown' \
        "$LAMINA_ROOT/docs/cache.md" >"$T/example"
    [ -s "$T/example" ] || fail "no example"
    mkdir "$T/bin"
    ln -s "$LAMINA" "$T/bin/lamina"
    (cd "$dir" && PATH=$T/bin:$PATH sh -eu "$T/example") >"$T/out" 2>&1 || {
        cat "$T/out"
        fail "the example ends with $?"
    }
    [ "$("$dir/job2/bin/hello")" = hello ] || fail "no tree"
    grep -q '"outcome":"built"' "$T/out" || fail "not built: $(cat "$T/out")"
    [ "$(grep -c '"outcome":"hit"' "$T/out")" = 2 ] || {
        cat "$T/out"
        fail "no hits"
    }
}

usage() {
    dir=$(mount_fs tmpfs)
    refuses 2 "subcommand is required" "$LAMINA" cache
    refuses 2 "KEY must not be empty" cache get "" "$dir/x"
    refuses 2 "DEST must not be empty" cache get k
    refuses 2 "[-]-blobs needs --manifest" cache get k "$dir/x" --blobs /
    refuses 2 "[-]-mode must be auto, reflink or hardlink, not 'content'" \
        cache get k "$dir/x" --mode content
    refuses 2 "[-]-max-bytes must be a size" cache add k / --max-bytes 1X
    refuses 2 "[-]-older-than must be a time" cache evict --older-than 5
    refuses 2 "give either KEYs or one of" cache evict
    refuses 2 "with --batch" cache get k "$dir/x" --batch
    refuses 1 "open on '$dir/none': No such file" cache add k "$dir/none"
    refuses 1 "evict on '\[a\]': there is no entry" cache evict '[a]'
    absent "$dir/x"
}
