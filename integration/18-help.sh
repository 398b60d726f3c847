# The command line: help, version, refusals, reports.
# shellcheck shell=sh

scenarios() {
    cat <<'LIST'
help_names_every_command
help_of_each_command
version_is_one_line
wrong_usage_is_2
json_is_one_object
probe_tells_what_a_directory_can
paths_of_any_bytes
full_output_is_an_error
LIST
}

help_names_every_command() {
    does "$LAMINA" --help
    for word in copy apply unpack write changes diff remove lock unlock probe; do
        grep -qw "$word" "$T/out" || fail "no $word in the help"
    done
}

help_of_each_command() {
    for word in copy apply unpack write changes diff remove lock unlock probe; do
        does "$LAMINA" "$word" --help
        [ -s "$T/out" ] || fail "no help for $word"
    done
    does "$LAMINA" copy --help
    for option in mode xattrs owner uid-map gid-map label one-file-system \
        workers strict best-effort keep-partial verify json; do
        grep -qw -e "--$option" "$T/out" || fail "no --$option in the help"
    done
    ! awk 'length > 100' "$T/out" | grep -q . || fail "lines too long to read"
}

version_is_one_line() {
    does "$LAMINA" --version
    grep -Eq '^lamina [0-9]+\.[0-9]+' "$T/out" || fail "$(cat "$T/out")"
    [ "$(wc -l <"$T/out")" = 1 ] || fail "not one line"
}

# usage ARGUMENT...: refused as wrong usage, on standard error alone.
usage() {
    status=0
    "$LAMINA" "$@" >"$T/out" 2>"$T/err" </dev/null || status=$?
    [ "$status" = 2 ] || fail "exit $status: lamina $*"
    [ -s "$T/err" ] || fail "no reason: lamina $*"
    [ ! -s "$T/out" ] || fail "on standard output: lamina $*"
}

wrong_usage_is_2() {
    mkdir "$T/src"
    usage
    usage frobnicate
    usage copy
    usage copy "$T/src"
    usage copy "$T/src" "$T/dst" "$T/third"
    usage copy --mode sideways "$T/src" "$T/dst"
    usage copy --xattrs some "$T/src" "$T/dst"
    usage copy --owner me "$T/src" "$T/dst"
    usage copy --uid-map 0:x:1 --owner mapped "$T/src" "$T/dst"
    usage copy --workers 0x "$T/src" "$T/dst"
    usage copy --workers -1 "$T/src" "$T/dst"
    usage copy --no-such-option "$T/src" "$T/dst"
    usage copy --strict --best-effort "$T/src" "$T/dst"
    usage copy '' "$T/dst"
    usage remove
    usage lock
    usage lock "$T/src" "$T/src"
    usage probe
    absent "$T/dst"
}

json_is_one_object() {
    tree random "$T/src" 41 200 plain
    does "$LAMINA" copy --json "$T/src" "$T/dst"
    for key in directories reflinked linked copied_by_range \
        copied_by_read_write links_recreated symlinks specials bytes_logical \
        bytes_written workers seconds forgiven; do
        value=$(report "$key")
        [ -n "$value" ] || fail "$key is empty"
    done
    report_is directories "$(find "$T/src" -type d | wc -l)"
    report_is symlinks "$(find "$T/src" -type l -printf '%i\n' |
        sort -u | wc -l)"
    report_is specials "$(find "$T/src" \( -type p -o -type s \) \
        -printf '%i\n' | sort -u | wc -l)"
    report_is links_recreated "$(find "$T/src" ! -type d -printf '%i\n' |
        sort | uniq -d -c | awk '{ n += $1 - 1 } END { print n + 0 }')"
}

probe_tells_what_a_directory_can() {
    dir=$(mount_fs xfs)
    does "$LAMINA" probe "$dir"
    grep -qi reflink "$T/out" || fail "$(cat "$T/out")"
    does "$LAMINA" probe --json "$dir"
    report_is reflink True
    empty_directory "$dir"
    other=$(mount_fs ext4)
    does "$LAMINA" probe --json "$other"
    report_is reflink False
    empty_directory "$other"
    refuses 1 "'.*/nowhere': No such file or directory \(ENOENT\)$" \
        "$LAMINA" probe "$T/nowhere"
}

paths_of_any_bytes() {
    odd=$(printf 'a b\n\377-')
    mkdir "$T/$odd"
    echo x >"$T/$odd/f"
    cd "$T" || fail "cannot enter it"
    does "$LAMINA" copy "$odd" "./--dst"
    same_trees "$T/$odd" "$T/--dst"
    does "$LAMINA" remove -- --dst "$odd"
    absent "$T/--dst"
}

# A report that nobody could read is not a success.
full_output_is_an_error() {
    mkdir "$T/src"
    status=0
    "$LAMINA" copy --json "$T/src" "$T/dst" >/dev/full 2>"$T/err" || status=$?
    [ "$status" = 1 ] || fail "exit $status"
    one_error_line ENOSPC
}
