# An ordinary user copies what is theirs, and is told what they may not.
# shellcheck shell=sh

scenarios() {
    cat <<'LIST'
own_tree ext4
own_tree xfs
own_tree btrfs
own_tree tmpfs
own_tree overlay
foreign_owner_is_refused
foreign_owner_is_left
foreign_owner_is_forgiven
lock_and_remove
remove_says_what_stays
LIST
}

probe() { need setpriv; }

own_tree() {
    dir=$(mount_fs "$1")
    chmod 777 "$dir"
    as_nobody "$TOOLS/tree" random "$dir/src" "${LAMINA_SEED:-31}" 500 plain
    for mask in 022 077; do
        umask "$mask"
        for mode in auto content hardlink; do
            does as_nobody "$LAMINA" copy --mode "$mode" "$dir/src" "$dir/dst"
            same_trees "$dir/src" "$dir/dst"
            does as_nobody "$LAMINA" remove "$dir/dst"
            absent "$dir/dst"
        done
    done
}

# A tree of root's that everybody may read.
foreign_tree() {
    dir=$(mount_fs tmpfs)
    chmod 777 "$dir"
    tree make "$dir/src" <<'TREE'
        file a/one  text=1
        file a/tool text=2 mode=4755
        symlink s -> a/one
TREE
}

foreign_owner_is_refused() {
    foreign_tree
    refuses 1 "chown.* on '.*': Operation not permitted \(EPERM\)$" \
        as_nobody "$LAMINA" copy "$dir/src" "$dir/dst"
    absent "$dir/dst"
}

foreign_owner_is_left() {
    foreign_tree
    does as_nobody "$LAMINA" copy --owner none "$dir/src" "$dir/dst"
    [ -z "$(find "$dir/dst" ! -uid 65534)" ] || fail "owned by others"
    # Set-id bits of another owner's program would hand out other rights.
    [ "$(stat -c %a "$dir/dst/a/tool")" = 755 ] || fail "set-id bit kept"
    chmod 755 "$dir/src/a/tool"
    touch -d @1000000000 "$dir/src/a/tool"
    chmod 755 "$dir/dst/a/tool"
    touch -d @1000000000 "$dir/dst/a/tool"
    same_trees "$dir/src" "$dir/dst" owners
}

foreign_owner_is_forgiven() {
    foreign_tree
    as_nobody "$LAMINA" copy --best-effort --json "$dir/src" "$dir/dst" \
        >"$T/out" 2>"$T/err" || fail "exit $?: $(cat "$T/err")"
    [ "$(report forgiven.owners)" -ge 1 ] || fail "nothing was counted"
    [ -f "$dir/dst/a/one" ] || fail "nothing was copied"
}

lock_and_remove() {
    dir=$(mount_fs tmpfs)
    chmod 777 "$dir"
    as_nobody "$TOOLS/tree" make "$dir/t" <<'TREE'
        file a/data text=1 mode=0664
        file a/tool text=2 mode=0775
        dir  b      mode=0500
        symlink s -> /etc/passwd
TREE
    does as_nobody "$LAMINA" lock "$dir/t"
    modes=$(cd "$dir/t" && stat -c '%n %a' . a a/data a/tool b | tr '\n' ' ')
    [ "$modes" = ". 755 a 755 a/data 444 a/tool 555 b 755 " ] ||
        fail "modes: $modes"
    does as_nobody "$LAMINA" unlock "$dir/t"
    does as_nobody "$LAMINA" remove "$dir/t"
    empty_directory "$dir"
}

remove_says_what_stays() {
    foreign_tree
    refuses 1 " on '.*': (Permission denied|Operation not permitted)" \
        as_nobody "$LAMINA" remove "$dir/src"
    [ -f "$dir/src/a/one" ] || fail "it is gone"
}
