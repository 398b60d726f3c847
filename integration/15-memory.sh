# Memory does not grow with the tree: one directory of a million files and a
# thousand directories with as many stay below 32 MiB. A slice without
# LAMINA_FULL=1: no million.
# shellcheck shell=sh

limit_kib=32768

scenarios() {
    for files in 1000 10000 100000 1000000; do
        [ "$files" != 1000000 ] || [ "${LAMINA_FULL:-0}" != 0 ] || continue
        echo "peak_below_the_limit $files 1"
        echo "peak_below_the_limit $files 1000"
    done
}

# peak COMMAND...: its largest resident size in KiB.
peak() {
    "$TOOLS/peak" "$T/peak" "$@" >"$T/out" || fail "exit $?: $*"
    cat "$T/peak"
}

peak_below_the_limit() {
    dir=$(mount_fs tmpfs 16384)
    tree many "$dir/src" "$1" "$2"
    said="$1 files in $2:"
    for width in 1 4; do
        copy=$(peak "$LAMINA" copy --workers "$width" "$dir/src" "$dir/dst")
        count=$(find "$dir/dst" -type f | wc -l)
        [ "$count" = "$1" ] || fail "$count files, not $1"
        remove=$(peak "$LAMINA" remove "$dir/dst")
        absent "$dir/dst"
        said="$said width $width: copy $copy KiB, remove $remove KiB;"
        [ "$copy" -lt "$limit_kib" ] || fail "$said"
        [ "$remove" -lt "$limit_kib" ] || fail "$said"
    done
    note "$said"
}
