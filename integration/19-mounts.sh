# Mounts in, above and below what is copied.
# shellcheck shell=sh

scenarios() {
    cat <<'LIST'
file_mounted_over_one_name_of_a_pair
file_mounted_over_one_name_keeps_both_contents
default_acl_above_the_destination
destination_inside_source_by_symlink
destination_inside_source_by_bind_mount
source_inside_destination_by_bind_mount
mounts_below_are_crossed
one_file_system_stays
same_inode_number_on_two_file_systems
remove_does_not_follow_a_mount_out
no_device_and_no_suid_mounts
LIST
}

# Both names have one inode number; one of them shows another file.
file_mounted_over_one_name_of_a_pair() {
    dir=$(mount_fs ext4)
    tree make "$dir/src" <<'TREE'
        file a text=pair link=1
        file b link=1
        file c text=pair2 link=2
        file d link=2
TREE
    other=$(mount_fs ext4)
    echo over >"$other/over"
    mount --bind "$other/over" "$dir/src/b"
    mount --bind "$other/over" "$dir/src/c"
    for mode in auto content hardlink; do
        does "$LAMINA" copy --mode "$mode" "$dir/src" "$dir/$mode"
        [ "$(cat "$dir/$mode/a" "$dir/$mode/b")" = "$(printf 'pairover')" ] ||
            fail "a and b: $(cat "$dir/$mode/a" "$dir/$mode/b")"
        [ "$(cat "$dir/$mode/d")" = pair2 ] || fail "d: $(cat "$dir/$mode/d")"
        same_trees "$dir/src" "$dir/$mode"
    done
}

# And a file of the same file system over it, whose number is listed nowhere.
file_mounted_over_one_name_keeps_both_contents() {
    dir=$(mount_fs xfs)
    tree make "$dir" <<'TREE'
        file src/a  text=pair link=1
        file src/b  link=1
        file beside text=beside
TREE
    mount --bind "$dir/beside" "$dir/src/b"
    does "$LAMINA" copy "$dir/src" "$dir/dst"
    [ "$(cat "$dir/dst/a" "$dir/dst/b")" = "pairbeside" ] ||
        fail "$(cat "$dir/dst/a" "$dir/dst/b")"
}

default_acl_above_the_destination() {
    need setfacl getfacl
    for kind in ext4 xfs btrfs tmpfs; do
        dir=$(mount_fs "$kind")
        tree random "$dir/src" 51 200 plain
        mkdir "$dir/above"
        setfacl -d -m u:1234:rwx,g:99:rx,o::- "$dir/above"
        does "$LAMINA" copy "$dir/src" "$dir/above/dst"
        same_trees "$dir/src" "$dir/above/dst"
        mkdir "$dir/above/empty"
        does "$LAMINA" copy "$dir/src" "$dir/above/empty"
        same_trees "$dir/src" "$dir/above/empty"
    done
}

small_tree() {
    tree make "$1" <<'TREE'
        file a/b/c text=x
TREE
}

destination_inside_source_by_symlink() {
    small_tree "$T/src"
    ln -s src/a/b "$T/link"
    ln -s "$T/src" "$T/to-src"
    remember "$T/src" source
    refuses 1 "'.*/link/dst': " "$LAMINA" copy "$T/src" "$T/link/dst"
    refuses 1 "'.*/src/a/dst': " "$LAMINA" copy "$T/to-src/." "$T/src/a/dst"
    unchanged "$T/src" source
}

destination_inside_source_by_bind_mount() {
    small_tree "$T/src"
    mkdir "$T/bound" "$T/bound-src"
    mount --bind "$T/src/a" "$T/bound"
    mount --bind "$T/src" "$T/bound-src"
    remember "$T/src" source
    refuses 1 'inside the source' \
        "$LAMINA" copy "$T/src" "$T/bound/b/dst"
    refuses 1 'inside the source' \
        "$LAMINA" copy "$T/bound-src" "$T/src/a/dst"
    unchanged "$T/src" source
}

source_inside_destination_by_bind_mount() {
    mkdir "$T/dst"
    small_tree "$T/src"
    mount --bind "$T/dst" "$T/src/a/b"
    # SRC now holds DST: a copy would read what it writes.
    refuses 1 'inside the source' "$LAMINA" copy "$T/src" "$T/dst"
    empty_directory "$T/dst"
}

mounts_below_are_crossed() {
    dir=$(mount_fs ext4)
    small_tree "$dir/src"
    mkdir "$dir/src/other" "$dir/src/proc"
    mount -t tmpfs tmpfs "$dir/src/other"
    tree random "$dir/src/other/t" 52 200 plain
    does "$LAMINA" copy "$dir/src" "$dir/dst"
    same_trees "$dir/src" "$dir/dst"
}

one_file_system_stays() {
    dir=$(mount_fs ext4)
    small_tree "$dir/src"
    mkdir "$dir/src/other"
    mount -t tmpfs tmpfs "$dir/src/other"
    echo x >"$dir/src/other/file"
    does "$LAMINA" copy --one-file-system "$dir/src" "$dir/dst"
    [ -f "$dir/dst/a/b/c" ] || fail "no a/b/c"
    empty_directory "$dir/dst/other"
}

same_inode_number_on_two_file_systems() {
    dir=$(mount_fs tmpfs)
    mkdir "$dir/src" "$dir/src/one" "$dir/src/two"
    for half in one two; do
        mount -t tmpfs tmpfs "$dir/src/$half"
        echo "$half" >"$dir/src/$half/a"
        ln "$dir/src/$half/a" "$dir/src/$half/b"
    done
    [ "$(stat -c %i "$dir/src/one/a")" = "$(stat -c %i "$dir/src/two/a")" ] ||
        fail "not the same number"
    does "$LAMINA" copy "$dir/src" "$dir/dst"
    same_trees "$dir/src" "$dir/dst"
}

remove_does_not_follow_a_mount_out() {
    dir=$(mount_fs tmpfs)
    small_tree "$dir/precious"
    small_tree "$dir/tree"
    mkdir "$dir/tree/mounted"
    mount --bind "$dir/precious" "$dir/tree/mounted"
    remember "$dir/precious" precious
    refuses 1 "mounted' is mounted inside" "$LAMINA" remove "$dir/tree"
    unchanged "$dir/precious" precious
}

# What a mount forbids to use, it does not forbid to make.
no_device_and_no_suid_mounts() {
    dir=$(mount_fs ext4 1024 nodev,nosuid,noexec)
    tree make "$dir/src" <<'TREE'
        char null dev=1:3 mode=0666
        file suid mode=4755 text=x
TREE
    does "$LAMINA" copy "$dir/src" "$dir/dst"
    same_trees "$dir/src" "$dir/dst"
}
