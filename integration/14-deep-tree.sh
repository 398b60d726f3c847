# 5,000 nested directories, far beyond PATH_MAX, are copied, locked and removed,
# however few descriptors there are.
# shellcheck shell=sh

scenarios() {
    echo "copied_and_removed any"
    echo "copied_and_removed 1024"
    echo "copied_and_removed 64"
    echo "failure_leaves_nothing"
}

limited() {
    if [ "$limit" = any ]; then
        "$@"
    else
        prlimit --nofile="$limit" "$@"
    fi
}

copied_and_removed() {
    dir=$(mount_fs tmpfs)
    tree chain "$dir/src" 5000
    limit=$1
    for width in 1 4; do
        does limited "$LAMINA" copy --workers "$width" --json "$dir/src" "$dir/dst"
        same_trees "$dir/src" "$dir/dst"
        report_is directories 5001
        does limited "$LAMINA" lock "$dir/dst"
        does limited "$LAMINA" unlock "$dir/dst"
        does limited "$LAMINA" remove "$dir/dst"
        absent "$dir/dst"
    done
    does limited "$LAMINA" copy --mode hardlink "$dir/src" "$dir/dst"
    does limited "$LAMINA" remove "$dir/dst" "$dir/src"
    empty_directory "$dir"
}

failure_leaves_nothing() {
    from=$(mount_fs tmpfs) dir=$(mount_fs tmpfs 64 nr_inodes=3000)
    tree chain "$from/src" 5000
    refuses 1 'No space left on device \(ENOSPC\)$' \
        "$LAMINA" copy "$from/src" "$dir/dst"
    empty_directory "$dir"
}
