# Images as people's tools make them, unpacked: the tree that umoci makes of
# them, from a layout, an OCI archive and what `docker save` writes, and a
# program that runs in it.
# shellcheck shell=sh

probe() { need umoci skopeo busybox python3; }

scenarios() {
    cat <<'LIST'
umoci_image_unpacks_as_umoci_does
skopeo_forms_unpack_alike
buildah_image_unpacks_as_umoci_does
busybox_runs_in_the_root
documented_commands_work
several_images_need_a_reference
damaged_layers_leave_nothing
first_signal_cleans_up
terminal_shows_bytes
LIST
}

# A first tree: busybox with its names, links, odd modes, attributes, devices.
fill_lower() {
    mkdir -p "$1/bin" "$1/etc/deep/er" "$1/dev" "$1/tmp" "$1/usr/lib"
    cp "$(command -v busybox)" "$1/bin/busybox"
    for name in sh ls cat echo; do
        ln "$1/bin/busybox" "$1/bin/$name"
    done
    ln -s usr/lib "$1/lib"
    chmod 1777 "$1/tmp"
    echo old >"$1/etc/old"
    echo kept >"$1/etc/deep/er/kept"
    echo gone >"$1/etc/deep/gone"
    mkfifo "$1/etc/fifo"
    mknod "$1/dev/null" c 1 3
    mkdir "$1/opaque"
    echo below >"$1/opaque/below"
    cp "$1/etc/old" "$1/bin/su"
    chown 7:8 "$1/bin/su"
    chmod 4755 "$1/bin/su"
    setfattr -n user.note -v value "$1/etc/old" 2>/dev/null || true
    setcap cap_net_raw+ep "$1/bin/cat" 2>/dev/null || true
    find "$1" -exec touch -h -d @1500000000.25 {} +
}

# What a second layer changes of it.
change() {
    rm "$1/etc/deep/gone"
    echo new >"$1/etc/new"
    ln "$1/etc/new" "$1/etc/new-too"
    rm -r "$1/opaque"
    mkdir "$1/opaque"
    echo above >"$1/opaque/above"
    rm "$1/etc/old"
    ln -s deep "$1/etc/old"
    chmod 700 "$1/etc/deep/er"
}

# umoci_image: a layout $T/layout with the image `two` of two layers.
umoci_image() {
    umoci init --layout "$T/layout"
    umoci new --image "$T/layout:one"
    umoci unpack --image "$T/layout:one" "$T/bundle"
    fill_lower "$T/bundle/rootfs"
    umoci repack --image "$T/layout:one" "$T/bundle"
    rm -rf "$T/bundle"
    umoci unpack --image "$T/layout:one" "$T/bundle"
    change "$T/bundle/rootfs"
    umoci repack --image "$T/layout:two" "$T/bundle"
    umoci rm --image "$T/layout:one"
}

# as_umoci IMAGE: the tree that umoci makes, in $T/umoci.
as_umoci() {
    umoci raw unpack --image "$1" "$T/umoci"
}

umoci_image_unpacks_as_umoci_does() {
    umoci_image
    as_umoci "$T/layout:two"
    does "$LAMINA" unpack --json "$T/layout:two" "$T/root"
    same_trees "$T/umoci" "$T/root"
    report_is platform linux/amd64
    python3 -c 'import json, sys
report = json.load(open(sys.argv[1]))
assert len(report["layers"]) == 2, report
assert report["layers"][1]["whiteouts"] >= 2, report' "$T/out"
    does "$LAMINA" unpack "$T/layout" "$T/alone"
    same_trees "$T/umoci" "$T/alone"
}

copy_image() { skopeo --insecure-policy copy -q "$@"; }

skopeo_forms_unpack_alike() {
    umoci_image
    as_umoci "$T/layout:two"
    copy_image "oci:$T/layout:two" "oci:$T/again:x:y"
    does "$LAMINA" unpack "$T/again:x:y" "$T/r1"
    same_trees "$T/umoci" "$T/r1"
    copy_image "oci:$T/layout:two" "oci-archive:$T/archive.tar:x"
    does "$LAMINA" unpack "$T/archive.tar:x" "$T/r2"
    same_trees "$T/umoci" "$T/r2"
    copy_image "oci:$T/layout:two" "docker-archive:$T/saved.tar:img:tag"
    does "$LAMINA" unpack "$T/saved.tar" "$T/r3"
    same_trees "$T/umoci" "$T/r3"
    does "$LAMINA" unpack "$T/saved.tar:docker.io/library/img:tag" "$T/r4"
    same_trees "$T/umoci" "$T/r4"
    copy_image --dest-compress-format zstd --dest-compress \
        "oci:$T/layout:two" "oci:$T/zstd:z"
    does "$LAMINA" unpack "$T/zstd" "$T/r5"
    same_trees "$T/umoci" "$T/r5"
}

buildah_image_unpacks_as_umoci_does() {
    need buildah
    mkdir "$T/lower" "$T/storage" "$T/run"
    fill_lower "$T/lower"
    echo '{"default":[{"type":"insecureAcceptAnything"}]}' >"$T/policy.json"
    b() {
        buildah --root "$T/storage" --runroot "$T/run" --storage-driver vfs \
            "$@"
    }
    working=$(b from --name w scratch) || skip "buildah cannot begin here"
    place=$(b mount "$working")
    cp -a "$T/lower/." "$place/"
    b commit -q --signature-policy "$T/policy.json" w "oci:$T/built:one"
    change "$place"
    b commit -q --signature-policy "$T/policy.json" w "oci:$T/built:two"
    for name in one two; do
        rm -rf "$T/umoci"
        as_umoci "$T/built:$name"
        does "$LAMINA" unpack "$T/built:$name" "$T/root-$name"
        # No layer names the root: umoci gives it times of its own.
        same_trees "$T/umoci" "$T/root-$name" root
    done
    b umount w >/dev/null
}

busybox_runs_in_the_root() {
    umoci_image
    copy_image "oci:$T/layout:two" "oci:$T/mine:latest"
    does "$LAMINA" unpack "$T/mine:latest" "$T/root"
    # shellcheck disable=SC2016 # for the shell in there
    said=$(chroot "$T/root" /bin/sh -c 'echo hello from $(cat /etc/new)')
    [ "$said" = "hello from new" ] || fail "it said '$said'"
}

# Every `lamina` line of docs/layers.md, one after the other.
documented_commands_work() {
    umoci_image
    copy_image "oci:$T/layout:two" "oci:$T/images:debian"
    copy_image "oci:$T/layout:two" "oci:$T/images:busybox"
    mkdir -p "$T/in/package/lib"
    echo x >"$T/in/package/lib/x"
    cd "$T" || fail "cannot enter it"
    tar -C in -cf layer.tar .
    tar -C in -cf base.tar .
    gzip -k layer.tar
    zstd -q layer.tar
    gzip -c base.tar >package.tgz
    PATH=$(dirname "$LAMINA"):$PATH
    sed -n 's/^    \(lamina [^#]*\).*/\1/p' "$LAMINA_ROOT/docs/layers.md" >lines
    [ "$(wc -l <lines)" -ge 7 ] || fail "$(cat lines)"
    while IFS= read -r line <&3; do
        rm -rf rootfs package
        note "$line"
        does sh -c "$line"
    done 3<lines
}

several_images_need_a_reference() {
    umoci_image
    umoci tag --image "$T/layout:two" three
    refuses 1 "several, say which: three, two" \
        "$LAMINA" unpack "$T/layout" "$T/root"
    refuses 1 "choose image on 'four': .*no such reference, only three, two" \
        "$LAMINA" unpack "$T/layout:four" "$T/root"
    refuses 1 "only for linux/amd64" \
        "$LAMINA" unpack --platform linux/s390x "$T/layout:two" "$T/root"
    refuses 1 "nowhere:x' *: No such file" \
        "$LAMINA" unpack "$T/nowhere:x" "$T/root"
    absent "$T/root"
    does "$LAMINA" unpack "$T/layout:three" "$T/root"
    refuses 1 ENOTEMPTY "$LAMINA" unpack "$T/layout:three" "$T/root"
}

damaged_layers_leave_nothing() {
    umoci_image
    layer=$(find "$T/layout/blobs" -type f -size +100k)
    size=$(stat -c %s "$layer")
    cp "$layer" "$T/good"
    for at in 0 200 4000 $((size / 2)) $((size - 5)); do
        cp "$T/good" "$layer"
        printf '\377\377\377' |
            dd of="$layer" bs=1 seek="$at" conv=notrunc status=none
        refuses 1 "in layer 1 of 2" "$LAMINA" unpack "$T/layout" "$T/root"
        absent "$T/root"
    done
    cp "$T/good" "$layer"
    truncate -s -1 "$layer"
    refuses 1 "check size on .*in layer 1 of 2" \
        "$LAMINA" unpack "$T/layout" "$T/root"
    absent "$T/root"
    mkdir -m 2711 "$T/root"
    tree dump "$T/root" >"$T/before"
    refuses 1 "in layer 1 of 2" "$LAMINA" unpack "$T/layout" "$T/root"
    tree dump "$T/root" | diff "$T/before" - || fail "it was not put back"
}

first_signal_cleans_up() {
    need strace
    umoci_image
    env --default-signal=TERM strace -f -qq -o /dev/null -e trace=openat \
        -e inject=openat:delay_enter=100000 \
        "$LAMINA" unpack "$T/layout" "$T/root" >"$T/out" 2>"$T/err" \
        </dev/null &
    job=$!
    for _ in $(seq 1 300); do
        [ ! -e "$T/root/bin" ] || break
        sleep 0.02
    done
    kill -TERM "$(pgrep -P "$job" -x lamina)"
    status=0
    wait "$job" || status=$?
    [ "$status" = 1 ] || fail "exit $status: $(cat "$T/err")"
    one_error_line "unpack on '.*root': stopped by SIGTERM, what was made is \
removed"
    absent "$T/root"
}

terminal_shows_bytes() {
    need script strace
    umoci_image
    cat >"$T/slow" <<SLOW
strace -f -qq -o /dev/null -e trace=openat,mkdirat \
    -e inject=openat,mkdirat:delay_enter=40000 \
    '$LAMINA' unpack '$T/layout' '$T/root'
SLOW
    TERM=xterm script -qec "stty cols 80 rows 24; sh '$T/slow'" /dev/null \
        >"$T/screen" </dev/null || fail "exit $?: $(cat -v "$T/screen")"
    tr '\r' '\n' <"$T/screen" | grep -Eq 'unpacking +[0-9]+% \[.* KiB of ' ||
        tr '\r' '\n' <"$T/screen" | grep -Eq 'unpacking  .*iB' ||
        fail "$(cat -v "$T/screen")"
}
