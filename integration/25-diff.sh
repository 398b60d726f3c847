# Differences of trees as layers: applied by us and by others they give the same
# tree, and what is not whole never looks so.
# shellcheck shell=sh

scenarios() {
    for kind in ext4 xfs tmpfs; do
        echo "applies_to_the_same_tree $kind"
    done
    cat <<'LIST'
umoci_makes_the_same_tree
containerd_makes_the_same_tree
gnu_tar_makes_the_same_tree
tars_are_read_without_a_warning
a_file_over_8_gib_streams
same_bytes_on_other_file_systems
changes_as_docker_prints_them
shared_files_are_not_opened
deep_trees_with_few_descriptors
output_is_whole_or_absent
output_inside_a_tree_is_refused
a_failed_stream_is_no_archive
an_ordinary_user_diffs_what_is_theirs
wrong_usage_of_diff_is_2
LIST
}

# changed_trees DIR: a tree that people have as DIR/lower, and DIR/upper with
# changes of every kind.
changed_trees() {
    real_tree "$1/lower"
    tree make "$1/lower" <<'TREE'
        dir     odd          mtime=1000000000.250000000
        file    odd/one      link=1 mode=04755 text=linked
        file    odd/two      link=1
        file    odd/three    link=1
        symlink odd/link     -> one
        fifo    odd/fifo
        char    odd/null     dev=1:3 mode=0666
        file    odd/gone     text=gone
        dir     odd/away     mode=0700
        file    odd/away/f   text=away
        file    odd/kind     text=file
        dir     odd/kind2
        file    odd/kind2/f  text=directory
TREE
    "$LAMINA" copy "$1/lower" "$1/upper"
    change_tree "$1/upper"
}

change_tree() {
    (
        cd "$1" || fail "cannot enter $1"
        rm -r odd/gone odd/away etc/ssl
        rm odd/kind && mkdir odd/kind && echo new >odd/kind/new
        rm -r odd/kind2 && ln -s one odd/kind2
        ln odd/one sbin/first-name
        ln odd/one zz-last-name
        echo changed >etc/hostname
        touch -d '2001-02-03 04:05:06.789' etc/passwd
        chmod 0600 etc/group
        chown 12345:67890 etc/services
        cp etc/services etc/copied && ln etc/copied new-link
        mkdir -p new/deep && echo x >new/deep/file
        setfattr -n user.note -v here new/deep/file
        setfacl -m u:1234:r new/deep/file
        setfattr -n user.note -v here new/deep
        cp sbin/zic* new/ 2>/dev/null || cp "$LAMINA_ROOT/VERSION" new/prog
        setcap cap_net_raw+ep new/deep/file
        long=$(printf '%0200d' 7)
        mkdir "new/$long" && echo long >"new/$long/$long"
        ln -s "$long/$long/$long" new/long-target
        echo odd >"$(printf 'new/\001\n\377name')"
        truncate -s 3M new/sparse
        mknod new/dev c 4 300
        mkfifo new/fifo
    ) || fail "cannot change $1"
}

# The trees agree in all that a layer can hold.
same_layers() { same_trees "$1" "$2" root holes; }

applies_to_the_same_tree() {
    dir=$(mount_fs "$1")
    changed_trees "$dir"
    remember "$dir/lower" lower
    remember "$dir/upper" upper
    does "$LAMINA" diff --json "$dir/lower" "$dir/upper" -o "$dir/layer.tar"
    report_is bytes_out "$(stat -c %s "$dir/layer.tar")"
    report_is diff_id "sha256:$(sha256sum "$dir/layer.tar" | cut -d ' ' -f 1)"
    unchanged "$dir/lower" lower
    unchanged "$dir/upper" upper
    does "$LAMINA" copy "$dir/lower" "$dir/made"
    does "$LAMINA" apply "$dir/layer.tar" "$dir/made"
    same_layers "$dir/upper" "$dir/made"
    does "$LAMINA" diff "$dir/made" "$dir/upper" -o "$dir/none.tar"
    [ "$(sha256sum <"$dir/none.tar")" = "$(head -c 1024 /dev/zero |
        sha256sum)" ] || fail "something is left"
    # Shared inodes say the same.
    does "$LAMINA" copy --mode hardlink "$dir/lower" "$dir/shared"
    does "$LAMINA" diff "$dir/lower" "$dir/shared" -o "$dir/none.tar"
    [ "$(stat -c %s "$dir/none.tar")" = 1024 ] || fail "links are no change"
}

# image DIR: an OCI layout of DIR/lower as one layer and the changes as another.
image() {
    mkdir "$1/empty"
    does "$LAMINA" diff "$1/empty" "$1/lower" -o "$1/base.tar"
    does "$LAMINA" diff "$1/lower" "$1/upper" -o "$1/layer.tar"
    umoci init --layout "$1/oci"
    umoci new --image "$1/oci:latest"
    umoci raw add-layer --image "$1/oci:latest" "$1/base.tar"
    umoci raw add-layer --image "$1/oci:latest" "$1/layer.tar"
}

umoci_makes_the_same_tree() {
    need umoci
    dir=$(mount_fs ext4)
    changed_trees "$dir"
    image "$dir"
    umoci raw unpack --image "$dir/oci:latest" "$dir/made"
    same_layers "$dir/upper" "$dir/made"
}

# start_containerd DIR: prints its socket. It ends with the scenario.
start_containerd() {
    mkdir "$1/root" "$1/state"
    cat >"$1/config.toml" <<CONFIG
version = 2
root = "$1/root"
state = "$1/state"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt"]
[grpc]
  address = "$1/sock"
CONFIG
    containerd --config "$1/config.toml" >"$1/log" 2>&1 &
    containerd=$!
    for _ in $(seq 100); do
        ! ctr --address "$1/sock" version >/dev/null 2>&1 || break
        sleep 0.2
    done
}

containerd_makes_the_same_tree() {
    need umoci containerd ctr
    dir=$(mount_fs ext4)
    changed_trees "$dir"
    image "$dir"
    tar -C "$dir/oci" -cf "$dir/oci.tar" .
    mkdir "$dir/containerd" "$dir/view"
    start_containerd "$dir/containerd"
    with="ctr --address $dir/containerd/sock"
    $with images import --base-name lamina.test/image "$dir/oci.tar"
    name=$($with images ls -q | head -n 1)
    $with images mount --snapshotter overlayfs "$name" "$dir/view"
    same_layers "$dir/upper" "$dir/view"
    umount "$dir/view"
    kill "$containerd"
    wait "$containerd" || true
}

# GNU tar knows no whiteouts: only what is added and changed.
gnu_tar_makes_the_same_tree() {
    dir=$(mount_fs ext4)
    changed_trees "$dir"
    mkdir "$dir/empty" "$dir/made"
    does "$LAMINA" diff "$dir/empty" "$dir/upper" -o "$dir/whole.tar"
    does tar --xattrs '--xattrs-include=*' --numeric-owner -C "$dir/made" \
        -xpf "$dir/whole.tar"
    same_layers "$dir/upper" "$dir/made"
}

tars_are_read_without_a_warning() {
    need bsdtar
    dir=$(mount_fs ext4)
    tree make "$dir/upper" <<'TREE'
        file    plain            text=1 mtime=1700000000
        file    fraction         mtime=1700000000.123456789
        file    before           mtime=-1.500000000
        file    far              mtime=10000000000
        file    ids              owner=3000000000:4000000000
        file    umlaut-\xc3\xa4  text=2
        file    bytes-\xff\xfe   text=3
        file    line\x0abreak
        symlink to-umlaut        -> \xc3\xa4
        char    device           dev=4095:1048575
        file    linked           link=1
        file    linked-too       link=1
        file    attributes       xattr:user.note=a\x00b\x0ac
TREE
    (
        cd "$dir/upper" || exit 1
        setfacl -m u:1234:rw attributes
        setcap cap_net_raw+ep attributes
        long=$(printf '%0100d' 1)
        mkdir -p "$long/$long/$long"
        echo x >"$long/x" # 102 bytes
        echo x >"$long/$long/$long/$long"
        ln -s "$long/$long" long-target
        ln "$long/$long/$long/$long" "$long/$long/other"
    ) || fail "cannot make the tree"
    mkdir "$dir/empty"
    does "$LAMINA" diff "$dir/empty" "$dir/upper" -o "$dir/odd.tar"
    entries=$(find "$dir/upper" -mindepth 1 -printf x | wc -c)
    for reader in tar bsdtar; do
        does "$reader" -tvf "$dir/odd.tar"
        [ "$(wc -l <"$T/out")" = "$entries" ] ||
            fail "$reader lists $(wc -l <"$T/out") of $entries"
    done
    mkdir "$dir/made"
    does tar --warning=no-timestamp --xattrs '--xattrs-include=*' \
        --numeric-owner -C "$dir/made" -xpf "$dir/odd.tar"
    same_layers "$dir/upper" "$dir/made"
}

a_file_over_8_gib_streams() {
    dir=$(mount_fs tmpfs)
    mkdir "$dir/empty" "$dir/upper"
    truncate -s 8589934592 "$dir/upper/large"
    echo end | dd of="$dir/upper/large" bs=1 seek=8589934592 status=none
    "$LAMINA" diff "$dir/empty" "$dir/upper" | tar -tvf - >"$T/out" ||
        fail "not read"
    grep -q ' 8589934596 ' "$T/out" || fail "$(cat "$T/out")"
}

same_bytes_on_other_file_systems() {
    first=''
    for kind in ext4 xfs btrfs tmpfs; do
        dir=$(mount_fs "$kind")
        tree random "$dir/lower" "${LAMINA_SEED:-22}" 300 plain
        tree random "$dir/upper" "${LAMINA_SEED:-22}1" 300 plain
        # A directory's size and order are the file system's.
        sum=$("$LAMINA" diff "$dir/lower" "$dir/upper" | sha256sum)
        : "${first:=$sum}"
        [ "$sum" = "$first" ] || fail "$kind gives other bytes"
    done
}

changes_as_docker_prints_them() {
    mkdir "$T/lower"
    mkdir "$T/lower/etc" "$T/lower/gone"
    echo a >"$T/lower/etc/conf"
    echo b >"$T/lower/etc/old"
    echo c >"$T/lower/gone/inside"
    cp -a "$T/lower" "$T/upper"
    (
        cd "$T/upper" || exit 1
        rm -r gone etc/old
        echo changed >etc/conf
        echo x >"etc/$(printf 'new\nline')"
    )
    does "$LAMINA" changes "$T/lower" "$T/upper"
    cat >"$T/want" <<'LINES'
C /etc
C /etc/conf
A /etc/new\nline
D /etc/old
D /gone
LINES
    diff -u "$T/want" "$T/out" || fail "other changes"
    does "$LAMINA" changes --json "$T/lower" "$T/upper"
    report_is added 1
    report_is changed 2
    report_is deleted 2
    does "$LAMINA" changes "$T/lower" "$T/lower"
    [ ! -s "$T/out" ] || fail "a tree differs from itself"
}

shared_files_are_not_opened() {
    need strace
    dir=$(mount_fs ext4)
    real_tree "$dir/lower"
    "$LAMINA" copy --mode hardlink "$dir/lower" "$dir/upper"
    echo new >"$dir/upper/etc/new"
    strace -f -qq -e trace=openat,read,pread64 -o "$T/calls" \
        "$LAMINA" diff "$dir/lower" "$dir/upper" -o "$T/layer.tar"
    opened=$(grep -c 'openat([0-9].*O_RDONLY' "$T/calls")
    directories=$(find "$dir/lower" -type d | wc -l)
    # Each directory in both trees, and little else: none of 5,000 files.
    [ "$opened" -le "$((2 * directories + 50))" ] ||
        fail "$opened opened for $directories directories"
    tar -tf "$T/layer.tar" | tr '\n' ' ' | grep -qx 'etc/ etc/new ' ||
        fail "$(tar -tf "$T/layer.tar")"
}

deep_trees_with_few_descriptors() {
    tree chain "$T/lower" 900
    "$LAMINA" copy "$T/lower" "$T/upper"
    ln "$(find "$T/upper" -name bottom)" "$T/upper/zz-link"
    touch -d '2020-01-01' "$(find "$T/upper" -name bottom)"
    does prlimit --nofile=32 "$LAMINA" diff "$T/lower" "$T/upper" \
        -o "$T/layer.tar"
    does "$LAMINA" copy "$T/lower" "$T/made"
    does "$LAMINA" apply "$T/layer.tar" "$T/made"
    same_layers "$T/upper" "$T/made"
}

output_is_whole_or_absent() {
    dir=$(mount_fs tmpfs)
    mkdir "$dir/empty" "$dir/upper" "$dir/out"
    echo x >"$dir/upper/.wh.bad"
    echo x >"$dir/upper/a"
    refuses 1 "'.wh.bad': a name in a layer cannot begin with .wh." \
        "$LAMINA" diff "$dir/empty" "$dir/upper" -o "$dir/out/layer.tar"
    empty_directory "$dir/out"
    echo old >"$dir/out/layer.tar"
    refuses 1 "wh.bad" \
        "$LAMINA" diff "$dir/empty" "$dir/upper" -o "$dir/out/layer.tar"
    [ "$(cat "$dir/out/layer.tar")" = old ] || fail "the old one is gone"
    rm "$dir/upper/.wh.bad"
    does "$LAMINA" diff "$dir/empty" "$dir/upper" -o "$dir/out/layer.tar"
    tar -tf "$dir/out/layer.tar" | grep -qx a || fail "not replaced"
    [ "$(find "$dir/out" -mindepth 1 | wc -l)" = 1 ] || fail "something is left"
    # A full disk.
    head -c 20000000 /dev/zero >"$dir/upper/large"
    small=$(mount_fs tmpfs 4)
    refuses 1 ENOSPC \
        "$LAMINA" diff "$dir/empty" "$dir/upper" -o "$small/layer.tar"
    empty_directory "$small"
    does "$LAMINA" diff "$dir/empty" "$dir/upper" -o /dev/null
    [ -c /dev/null ] || fail "/dev/null was replaced"
}

output_inside_a_tree_is_refused() {
    mkdir "$T/lower" "$T/upper" "$T/upper/in"
    refuses 1 'it lies inside UPPER$' \
        "$LAMINA" diff "$T/lower" "$T/upper" -o "$T/upper/in/layer.tar"
    refuses 1 'it lies inside LOWER$' \
        "$LAMINA" diff "$T/lower" "$T/upper" -o "$T/lower/layer.tar"
    empty_directory "$T/lower"
    empty_directory "$T/upper/in"
}

a_failed_stream_is_no_archive() {
    need bsdtar
    mkdir "$T/empty" "$T/upper"
    for name in a b c; do
        head -c 100000 /dev/urandom >"$T/upper/$name"
    done
    echo x >"$T/upper/z"
    mkdir "$T/upper/zz"
    echo x >"$T/upper/zz/.wh.x"
    status=0
    "$LAMINA" diff "$T/empty" "$T/upper" >"$T/half.tar" 2>"$T/err" || status=$?
    [ "$status" = 1 ] || fail "exit $status"
    one_error_line "'zz/.wh.x'"
    for reader in tar bsdtar; do
        ! "$reader" -tf "$T/half.tar" >"$T/out" 2>&1 ||
            fail "$reader takes it for a whole archive"
    done
    refuses 1 'ends early' "$LAMINA" apply "$T/half.tar" "$T/made"
    absent "$T/made"
}

an_ordinary_user_diffs_what_is_theirs() {
    need setpriv
    dir=$(mount_fs ext4)
    chmod 777 "$dir"
    as_nobody "$TOOLS/tree" random "$dir/lower" 7 100 plain
    as_nobody "$TOOLS/tree" random "$dir/upper" 8 100 plain
    find "$dir/lower" "$dir/upper" -type s -delete
    does as_nobody "$LAMINA" diff "$dir/lower" "$dir/upper" -o "$dir/layer.tar"
    does as_nobody "$LAMINA" copy "$dir/lower" "$dir/made"
    does as_nobody "$LAMINA" apply "$dir/layer.tar" "$dir/made"
    same_layers "$dir/upper" "$dir/made"
    echo secret >"$dir/upper/secret"
    chmod 600 "$dir/upper/secret"
    refuses 1 "'secret': Permission denied \(EACCES\)" \
        as_nobody "$LAMINA" diff "$dir/lower" "$dir/upper" -o "$dir/no.tar"
    absent "$dir/no.tar"
}

wrong_usage_of_diff_is_2() {
    mkdir "$T/lower" "$T/upper"
    refuses 2 LOWER "$LAMINA" diff
    refuses 2 UPPER "$LAMINA" diff "$T/lower"
    refuses 2 xattrs "$LAMINA" diff --xattrs some "$T/lower" "$T/upper"
    refuses 2 UPPER "$LAMINA" changes "$T/lower" ''
    refuses 1 'ENOENT' "$LAMINA" diff "$T/lower" "$T/none" -o "$T/layer.tar"
    absent "$T/layer.tar"
    # A terminal is not written to.
    need script
    status=0
    script -qec "$LAMINA diff $T/lower $T/upper" /dev/null >"$T/out" \
        </dev/null || status=$?
    [ "$status" = 2 ] || fail "exit $status on a terminal: $(cat "$T/out")"
    grep -q 'not written to a terminal' "$T/out" || fail "$(cat "$T/out")"
}
