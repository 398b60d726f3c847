# Trees copied within and between real file systems lose nothing.
# shellcheck shell=sh

scenarios() {
    for kind in ext4 xfs btrfs tmpfs overlay; do
        echo "copy_real_tree $kind"
        echo "random_tree_in_each_mode $kind"
        echo "to_another_file_system $kind"
        echo "holes_stay_holes $kind"
        echo "every_width_makes_the_same_tree $kind"
    done
    for kind in xfs btrfs; do
        echo "reflinks_share_extents $kind"
    done
    for kind in ext4 tmpfs; do
        echo "reflink_mode_says_where_it_cannot $kind"
    done
    echo "further_names_cost_one_call_each"
    echo "times_of_access_are_kept"
    echo "verify_finds_an_equal_tree"
    echo "empty_destination_keeps_its_place"
}

copy_real_tree() {
    dir=$(mount_fs "$1")
    real_tree "$dir/src"
    remember "$dir/src" source
    for mask in 022 077; do
        umask "$mask"
        does "$LAMINA" copy --json "$dir/src" "$dir/dst$mask"
        same_trees "$dir/src" "$dir/dst$mask"
    done
    umask 022
    unchanged "$dir/src" source
    report_is links_recreated 1
    report_is directories "$(find "$dir/src" -type d | wc -l)"
    report_is symlinks "$(find "$dir/src" -type l | wc -l)"
}

random_tree_in_each_mode() {
    dir=$(mount_fs "$1")
    full_random "$dir/src" "${LAMINA_SEED:-11}" 600
    remember "$dir/src" source
    for mode in auto content; do
        umask 077
        does "$LAMINA" copy --mode "$mode" "$dir/src" "$dir/$mode"
        umask 022
        same_trees "$dir/src" "$dir/$mode"
        unchanged "$dir/src" source
        does "$LAMINA" remove "$dir/$mode"
        absent "$dir/$mode"
    done
    tree dump "$dir/src" >"$T/before"
    does "$LAMINA" copy --mode hardlink --json "$dir/src" "$dir/linked"
    same_trees "$dir/src" "$dir/linked"
    tree dump "$dir/src" | cmp - "$T/before" || fail "the source was changed"
    report_is reflinked 0
    [ "$(report linked)" -gt 100 ] || fail "nothing was linked"
}

# Only what both file systems can hold is in the tree.
to_another_file_system() {
    dir=$(mount_fs "$1")
    for other in ext4 xfs btrfs tmpfs overlay; do
        [ "$other" != "$1" ] || continue
        there=$(mount_fs "$other")
        tree random "$there/src" "${LAMINA_SEED:-12}" 200 plain
        does "$LAMINA" copy "$there/src" "$dir/from-$other"
        same_trees "$there/src" "$dir/from-$other"
        does "$LAMINA" copy --mode hardlink --json "$there/src" "$dir/h-$other"
        same_trees "$there/src" "$dir/h-$other"
        report_is linked 0
        umount "$there/.."
    done
}

holes_stay_holes() {
    dir=$(mount_fs "$1")
    tree make "$dir/src" <<'TREE'
        file all      size=67108864
        file middle   size=67108864 data=33554432+65536
        file ends     size=67108864 data=0+65536,67043328+65536
        file stripes  size=16777216 data=0+65536,1048576+65536,2097152+65536
        file none     size=1048576 fill=4
TREE
    sync -f "$dir/src"
    for mode in auto content; do
        does "$LAMINA" copy --mode "$mode" "$dir/src" "$dir/$mode"
        sync -f "$dir/$mode"
        same_trees "$dir/src" "$dir/$mode"
        for name in all middle ends stripes; do
            blocks=$(stat -c %b "$dir/$mode/$name")
            [ "$blocks" -le 1024 ] || fail "$name takes $blocks blocks"
        done
    done
}

every_width_makes_the_same_tree() {
    dir=$(mount_fs "$1")
    full_random "$dir/src" "${LAMINA_SEED:-13}" 600
    for width in 1 2 5; do
        does "$LAMINA" copy --workers "$width" --json "$dir/src" "$dir/$width"
        same_trees "$dir/src" "$dir/$width"
        [ "$(report workers)" -le "$width" ] || fail "more than $width workers"
    done
}

# Where the bytes of a file lie on the disk, and what is said of them.
extents() { filefrag -v "$1" | awk '/^ *[0-9]+:/ { print $4, $5 }'; }

reflinks_share_extents() {
    need filefrag
    dir=$(mount_fs "$1")
    tree make "$dir/src" <<'TREE'
        file big  size=8388608 fill=5
        file tail size=1000001 fill=6
TREE
    for mode in auto reflink content; do
        does "$LAMINA" copy --mode "$mode" --json "$dir/src" "$dir/$mode"
        sync -f "$dir/src"
        same_trees "$dir/src" "$dir/$mode"
        [ -n "$(extents "$dir/src/big")" ] || fail "filefrag says nothing"
        if [ "$mode" = content ]; then
            # These file systems share ranges that copy_file_range(2) copies
            # as well, so nothing is said of the extents.
            report_is reflinked 0
        else
            report_is reflinked 2
            [ "$(extents "$dir/src/big")" = "$(extents "$dir/$mode/big")" ] ||
                fail "$mode does not share extents"
        fi
    done
}

reflink_mode_says_where_it_cannot() {
    dir=$(mount_fs "$1")
    tree make "$dir/src" <<'TREE'
        file sub/file text=x
TREE
    refuses 1 "FICLONE.* on 'sub/file': .*\(E[A-Z]+\)$" \
        "$LAMINA" copy --mode reflink "$dir/src" "$dir/dst"
    absent "$dir/dst"
}

# calls_for NAMES: system calls to copy one file with so many names.
calls_for() {
    seq "$1" | sed 's/.*/file n& link=1/' | tree make "$dir/src$1"
    strace -f -o "$T/calls$1" "$LAMINA" copy --workers 1 \
        "$dir/src$1" "$dir/dst$1" >"$T/report$1"
    same_trees "$dir/src$1" "$dir/dst$1"
    wc -l <"$T/calls$1"
}

further_names_cost_one_call_each() {
    need strace
    dir=$(mount_fs ext4)
    few=$(calls_for 300)
    many=$(calls_for 800)
    note "500 further names cost $((many - few)) system calls"
    [ $((many - few)) -le 550 ] || {
        tail -n 20 "$T/calls800"
        fail "$((many - few)) calls for 500 names"
    }
}

times_of_access_are_kept() {
    dir=$(mount_fs ext4 1024 noatime)
    tree make "$dir/src" <<'TREE'
        file f    text=x atime=-7.000000001
        dir  d    atime=1000000000.000000002
        symlink s -> f atime=5.000000003
TREE
    does "$LAMINA" copy "$dir/src" "$dir/dst"
    same_trees "$dir/src" "$dir/dst" atimes
}

verify_finds_an_equal_tree() {
    dir=$(mount_fs xfs)
    full_random "$dir/src" "${LAMINA_SEED:-14}" 500
    does "$LAMINA" copy --verify "$dir/src" "$dir/dst"
    same_trees "$dir/src" "$dir/dst"
}

empty_destination_keeps_its_place() {
    dir=$(mount_fs ext4)
    tree random "$dir/src" 15 100 plain
    mkdir -m 700 "$dir/dst"
    inode=$(stat -c %i "$dir/dst")
    does "$LAMINA" copy "$dir/src" "$dir/dst"
    same_trees "$dir/src" "$dir/dst"
    [ "$(stat -c %i "$dir/dst")" = "$inode" ] || fail "it was replaced"
}
