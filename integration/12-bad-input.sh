# What cannot be copied: one line that says why, nothing left behind, and the
# source as it was.
# shellcheck shell=sh

scenarios() {
    cat <<'LIST'
source_missing
source_is_a_file
source_unreadable_inside
destination_not_empty
destination_is_a_file
destination_inside_source
source_inside_destination
parent_missing
parent_read_only
names_are_escaped
full_disk ext4
full_disk xfs
full_disk btrfs
full_disk tmpfs
full_disk overlay
no_inodes_left
quota_used_up
attribute_too_large
attribute_forgiven
device_without_the_right
few_descriptors
keep_partial_keeps
empty_destination_is_put_back
directory_swapped_for_a_symlink
file_swapped_for_a_fifo
source_shrinks_and_grows
LIST
}

small_tree() {
    mkdir -p "$1"
    tree make "$1" <<'TREE'
        file    a/one    text=1 mode=0640
        file    a/b/two  size=100000 fill=2
        symlink a/link   -> one
        file    three    link=1 text=3
        file    a/four   link=1
TREE
}

source_missing() {
    refuses 1 "open.* on '.*/nowhere': No such file or directory \(ENOENT\)$" \
        "$LAMINA" copy "$T/nowhere" "$T/dst"
    absent "$T/dst"
}

source_is_a_file() {
    echo x >"$T/file"
    refuses 1 "'.*/file': Not a directory \(ENOTDIR\)$" \
        "$LAMINA" copy "$T/file" "$T/dst"
    absent "$T/dst"
}

source_unreadable_inside() {
    dir=$(mount_fs tmpfs)
    chmod 777 "$dir"
    as_nobody "$TOOLS/tree" make "$dir/src" <<'TREE'
        file a/readable text=x
        file b/secret   text=x mode=0000
        dir  c/closed   mode=0000
TREE
    remember "$dir/src" source
    refuses 1 "open.* on 'b/secret': Permission denied \(EACCES\)$" \
        as_nobody "$LAMINA" copy "$dir/src" "$dir/dst"
    absent "$dir/dst"
    chmod 644 "$dir/src/b/secret"
    refuses 1 "open.* on 'c/closed': Permission denied \(EACCES\)$" \
        as_nobody "$LAMINA" copy "$dir/src" "$dir/dst"
    absent "$dir/dst"
}

destination_not_empty() {
    small_tree "$T/src"
    tree make "$T/dst" <<'TREE'
        file mine text=keep
TREE
    remember "$T/src" source
    remember "$T/dst" destination
    refuses 1 "'.*/dst': .*\((ENOTEMPTY|EEXIST)\)$" \
        "$LAMINA" copy "$T/src" "$T/dst"
    unchanged "$T/dst" destination
    unchanged "$T/src" source
}

destination_is_a_file() {
    small_tree "$T/src"
    echo mine >"$T/dst"
    refuses 1 "'.*/dst': " "$LAMINA" copy "$T/src" "$T/dst"
    [ "$(cat "$T/dst")" = mine ] || fail "the file was changed"
    ln -s nowhere "$T/dangling"
    refuses 1 "'.*/dangling': " "$LAMINA" copy "$T/src" "$T/dangling"
    absent "$T/nowhere"
}

destination_inside_source() {
    small_tree "$T/src"
    remember "$T/src" source
    refuses 1 "'.*/src/a/dst': " "$LAMINA" copy "$T/src" "$T/src/a/dst"
    refuses 1 "'.*/src/a/../dst': " "$LAMINA" copy "$T/src" "$T/src/a/../dst"
    refuses 1 "'.*/src': " "$LAMINA" copy "$T/src" "$T/src"
    unchanged "$T/src" source
}

# DST holds the source, so it is not empty; but the reason is the better one.
source_inside_destination() {
    small_tree "$T/dst/a/src"
    remember "$T/dst" destination
    refuses 1 'inside the destination' "$LAMINA" copy "$T/dst/a/src" "$T/dst"
    unchanged "$T/dst" destination
}

parent_missing() {
    small_tree "$T/src"
    refuses 1 "'.*/no(/dst)?': No such file or directory \(ENOENT\)$" \
        "$LAMINA" copy "$T/src" "$T/no/dst"
    absent "$T/no"
}

parent_read_only() {
    small_tree "$T/src"
    dir=$(mount_fs tmpfs)
    mount -o remount,ro "$dir/.."
    refuses 1 "'.*/dst': Read-only file system \(EROFS\)$" \
        "$LAMINA" copy "$T/src" "$dir/dst"
    absent "$dir/dst"
}

names_are_escaped() {
    dir=$(mount_fs tmpfs)
    chmod 777 "$dir"
    as_nobody "$TOOLS/tree" make "$dir/src" <<'TREE'
        file a\x0alamina:\x1b[2J\xff text=x mode=0000
TREE
    refuses 1 "Permission denied \(EACCES\)$" \
        as_nobody "$LAMINA" copy "$dir/src" "$dir/dst"
    absent "$dir/dst"
}

full_disk() {
    dir=$(mount_fs "$1" 512)
    small_tree "$T/src"
    tree make "$T/src/big" <<'TREE'
        file z0 size=3000000 fill=1
        file z1 size=3000000 fill=2
        file z2 size=3000000 fill=3
        file z3 size=3000000 fill=4
        file z4 size=3000000 fill=5
TREE
    leave_free "$dir" 4096
    remember "$T/src" source
    for mode in auto content; do
        for width in 1 4; do
            refuses 1 "on '[^']+': No space left on device \(ENOSPC\)$" \
                "$LAMINA" copy --mode "$mode" --workers "$width" \
                "$T/src" "$dir/dst"
            absent "$dir/dst"
        done
    done
    unchanged "$T/src" source
    # And with a little more room, the same tree fits.
    rm "$dir/../ballast"
    sync -f "$dir"
    does "$LAMINA" copy "$T/src" "$dir/dst"
    same_trees "$T/src" "$dir/dst"
}

no_inodes_left() {
    dir=$(mount_fs tmpfs 64 nr_inodes=100)
    tree many "$T/src" 300 10
    for width in 1 4; do
        refuses 1 "No space left on device \(ENOSPC\)$" \
            "$LAMINA" copy --workers "$width" "$T/src" "$dir/dst"
        absent "$dir/dst"
    done
}

quota_used_up() {
    need btrfs
    dir=$(mount_fs btrfs)
    btrfs quota enable "$dir/.."
    btrfs subvolume create "$dir/limited" >"$T/made"
    btrfs qgroup limit 4M "$dir/limited"
    tree make "$T/src" <<'TREE'
        file a size=3000000 fill=1
        file b size=3000000 fill=2
        file c size=3000000 fill=3
TREE
    remember "$T/src" source
    for width in 1 4; do
        refuses 1 "on '[abc]': Disk quota exceeded \(EDQUOT\)$" \
            "$LAMINA" copy --workers "$width" "$T/src" "$dir/limited/dst"
        absent "$dir/limited/dst"
    done
    unchanged "$T/src" source
}

# xfs holds 64 KiB of one attribute, ext4 less than one block of them all.
with_large_attribute() {
    from=$(mount_fs xfs) dir=$(mount_fs ext4)
    small_tree "$from/src"
    setfattr -n user.large -v "$(head -c 20000 /dev/zero | tr '\0' x)" \
        "$from/src/a/one"
}

attribute_too_large() {
    with_large_attribute
    remember "$from/src" source
    refuses 1 "setxattr.* on 'a/one'.*: .*\((ENOSPC|E2BIG|ERANGE)\)$" \
        "$LAMINA" copy "$from/src" "$dir/dst"
    absent "$dir/dst"
    unchanged "$from/src" source
}

attribute_forgiven() {
    with_large_attribute
    "$LAMINA" copy --best-effort --json "$from/src" "$dir/dst" \
        >"$T/out" 2>"$T/err" || fail "exit $?: $(cat "$T/err")"
    same_trees "$from/src" "$dir/dst" xattrs
    report_is forgiven.xattrs 1
}

device_without_the_right() {
    dir=$(mount_fs tmpfs)
    tree make "$dir/src" <<'TREE'
        char dev/null dev=1:3 mode=0666
TREE
    refuses 1 "mknodat on 'dev/null': Operation not permitted \(EPERM\)$" \
        setpriv --bounding-set=-mknod --inh-caps=-mknod \
        "$LAMINA" copy "$dir/src" "$dir/dst"
    absent "$dir/dst"
}

few_descriptors() {
    tree random "$T/src" 21 500 plain
    for limit in 64 32 16 8 6 5 4; do
        status=0
        prlimit --nofile="$limit" "$LAMINA" copy "$T/src" "$T/dst" \
            >"$T/out" 2>"$T/err" || status=$?
        case $status in
        0)
            same_trees "$T/src" "$T/dst"
            rm -rf "$T/dst"
            ;;
        1)
            one_error_line 'Too many open files \(EMFILE\)$'
            absent "$T/dst"
            ;;
        127)
            # Not even the program's libraries could be opened.
            absent "$T/dst"
            ;;
        *) fail "exit $status with $limit descriptors: $(cat "$T/err")" ;;
        esac
        note "$limit descriptors: exit $status"
        [ "$limit" -lt 64 ] || [ "$status" = 0 ] || fail "64 do not suffice"
    done
}

keep_partial_keeps() {
    dir=$(mount_fs tmpfs 8)
    small_tree "$T/src"
    tree make "$T/src/z" <<'TREE'
        file big size=20000000 fill=1
TREE
    refuses 1 "on 'z/big': No space left on device \(ENOSPC\)$" \
        "$LAMINA" copy --keep-partial "$T/src" "$dir/dst"
    [ -f "$dir/dst/a/one" ] || fail "nothing was kept"
}

empty_destination_is_put_back() {
    dir=$(mount_fs ext4 64)
    small_tree "$T/src"
    tree make "$T/src/z" <<'TREE'
        file big size=200000000 fill=1
TREE
    tree make "$dir/dst" <<'TREE'
        dir . mode=2711 owner=5:6 mtime=7.000000008 xattr:user.mine=1
TREE
    setfacl -m u:99:rx "$dir/dst"
    touch -d @9 "$dir/dst"
    tree dump "$dir/dst" >"$T/before"
    refuses 1 "on 'z/big': No space left on device \(ENOSPC\)$" \
        "$LAMINA" copy "$T/src" "$dir/dst"
    tree dump "$dir/dst" | diff "$T/before" - || fail "it was not put back"
}

# race_with A B COMMAND...: swaps A and B while COMMAND runs, a few times. The
# copy must end, done or refused, and touch nothing outside.
race_with() {
    first=$1 second=$2
    shift 2
    for turn in 1 2 3 4 5; do
        tree exchange "$first" "$second" 3 &
        racer=$!
        status=0
        timeout 20 "$@" >"$T/out" 2>"$T/err" || status=$?
        kill "$racer" 2>/dev/null || true
        wait "$racer" || true
        case $status in
        0) ;;
        1)
            one_error_line ': '
            absent "$T/dst"
            ;;
        *) fail "exit $status in turn $turn: $(cat "$T/err")" ;;
        esac
        rm -rf "$T/dst"
    done
}

directory_swapped_for_a_symlink() {
    mkdir "$T/src"
    tree random "$T/src/a" 22 300 plain
    tree random "$T/src/b" 23 300 plain
    tree make "$T/outside" <<'TREE'
        file d/canary text=alive
TREE
    ln -s "$T/outside" "$T/link"
    remember "$T/outside/d" canary
    race_with "$T/src/b" "$T/link" "$LAMINA" copy "$T/src" "$T/dst"
    race_with "$T/src/b" "$T/link" "$LAMINA" copy --mode hardlink \
        "$T/src" "$T/dst"
    unchanged "$T/outside/d" canary
}

file_swapped_for_a_fifo() {
    small_tree "$T/src"
    mkfifo "$T/fifo"
    race_with "$T/src/a/one" "$T/fifo" "$LAMINA" copy "$T/src" "$T/dst"
}

source_shrinks_and_grows() {
    tree make "$T/src" <<'TREE'
        file a size=30000000 fill=1
        file b size=30000000 fill=2
TREE
    for turn in 1 2 3; do
        (
            while :; do
                truncate -s 1000 "$T/src/a"
                head -c 4000000 /dev/zero >>"$T/src/b"
                truncate -s 30000000 "$T/src/a"
            done
        ) &
        writer=$!
        status=0
        timeout 20 "$LAMINA" copy --mode content "$T/src" "$T/dst" \
            2>"$T/err" || status=$?
        kill "$writer"
        wait "$writer" || true
        [ "$status" -le 1 ] || fail "exit $status in turn $turn"
        [ "$status" = 0 ] || absent "$T/dst"
        rm -rf "$T/dst"
        truncate -s 30000000 "$T/src/b"
    done
}
