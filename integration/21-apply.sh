# Layers applied by the program: the shared cases and the shared corpus of
# layers, good, odd and hostile, and what a person meets at the command line.
# shellcheck shell=sh

cases=$LAMINA_ROOT/../shared/cases
tars=$LAMINA_ROOT/../shared/tars

probe() { need python3 tar gzip zstd; }

scenarios() {
    if [ -x "$cases/run_cases.py" ]; then
        for kind in "$cases"/[0-9]*/kind; do
            [ "$(cat "$kind")" != apply ] ||
                echo "case_holds $(basename "$(dirname "$kind")")"
        done
    else
        echo "case_holds none"
    fi
    cat <<'LIST'
corpus_holds
takes_standard_input_and_fifos
demands_digests
limits_are_kept
failure_leaves_nothing
failure_in_a_used_root_says_what_stays
keeps_what_was_made_when_asked
full_destination_is_one_line
first_signal_cleans_up INT
first_signal_cleans_up TERM
stops_while_the_sender_is_silent
second_signal_ends_at_once
terminal_shows_bytes
maps_owners
overlay_mounts_what_was_applied
ordinary_user_applies_a_package
ordinary_user_applies_a_source_archive
LIST
}

case_holds() {
    [ -x "$cases/run_cases.py" ] || skip "no ../shared/cases here"
    need bash setfattr getfattr
    status=0
    # It applies under the umask 077.
    python3 "$cases/run_cases.py" --cases "$cases" --work "$T/work" \
        --only "${1%%-*}" --cmd apply="$LAMINA apply {tar} {dst}" \
        >"$T/said" || status=$?
    cat "$T/said"
    ! grep -q "^$1 *void$" "$T/said" || skip "the case cannot be made here"
    [ "$status" = 0 ] || fail "the case does not hold"
    grep -Eq "^$1 *ok!?$" "$T/said" || fail "the case did not run"
}

corpus_holds() {
    [ -x "$tars/run_tars.py" ] || skip "no ../shared/tars here"
    export PYTHONDONTWRITEBYTECODE=1
    python3 "$tars/run_tars.py" --work "$T/work" \
        --cmd "$LAMINA apply {tar} {root}" >"$T/said" ||
        fail "$(cat "$T/said")"
    note "$(tail -n 1 "$T/said")"
}

# A tree and its layer in three forms.
make_layers() {
    tree random "$T/src" 7 200 plain
    find "$T/src" -type s -delete
    tar -C "$T/src" -S --format=posix -cf "$T/l.tar" .
    gzip -nk "$T/l.tar"
    zstd -q "$T/l.tar"
}

takes_standard_input_and_fifos() {
    make_layers
    for form in tar tar.gz tar.zst; do
        does "$LAMINA" apply "$T/l.$form" "$T/$form"
        same_trees "$T/src" "$T/$form"
    done
    "$LAMINA" apply - "$T/in" <"$T/l.tar.gz" >"$T/out"
    same_trees "$T/src" "$T/in"
    mkfifo "$T/fifo"
    cat "$T/l.tar.zst" >"$T/fifo" &
    does "$LAMINA" apply "$T/fifo" "$T/piped"
    same_trees "$T/src" "$T/piped"
}

demands_digests() {
    make_layers
    diff_id=sha256:$(sha256sum <"$T/l.tar" | cut -d ' ' -f 1)
    digest=sha256:$(sha256sum <"$T/l.tar.gz" | cut -d ' ' -f 1)
    does "$LAMINA" apply --json --expect-diff-id "$diff_id" \
        --expect-digest "$digest" "$T/l.tar.gz" "$T/dst"
    report_is diff_id "$diff_id"
    report_is digest "$digest"
    refuses 1 "check digest on '.*l\.tar\.zst': wanted $digest" \
        "$LAMINA" apply --expect-digest "$digest" "$T/l.tar.zst" "$T/no"
    absent "$T/no"
    refuses 1 "check diffID on" \
        "$LAMINA" apply --expect-diff-id "$digest" "$T/l.tar.gz" "$T/no"
    absent "$T/no"
}

limits_are_kept() {
    head -c 64M /dev/zero >"$T/zeros"
    tar -C "$T" -cf - zeros | gzip -1 >"$T/bomb.tgz"
    mkdir -m 711 "$T/dst"
    tree dump "$T/dst" >"$T/before"
    refuses 1 "more than 1048576 bytes when unpacked" \
        "$LAMINA" apply --max-size 1M "$T/bomb.tgz" "$T/dst"
    refuses 1 "more than 20 times its size" \
        "$LAMINA" apply --max-ratio 20 "$T/bomb.tgz" "$T/dst"
    make_layers
    refuses 1 "entries" "$LAMINA" apply --max-entries 5 "$T/l.tar" "$T/dst"
    zstd -q --long=24 "$T/zeros" -o "$T/wide.zst"
    refuses 1 "window" "$LAMINA" apply --max-window 1M "$T/wide.zst" "$T/dst"
    tree dump "$T/dst" | cmp - "$T/before" || fail "the root is not as it was"
}

# A layer whose last entry cannot be: the other name of a link is missing.
broken_layer() {
    mkdir "$T/in"
    echo one >"$T/in/one"
    echo two >"$T/in/two"
    ln "$T/in/two" "$T/in/zwei"
    tar -C "$T/in" -cf "$T/broken.tar" one two
    tar -C "$T/in" -cf "$T/more.tar" two zwei
    tar -f "$T/more.tar" --delete two
    tar -Af "$T/broken.tar" "$T/more.tar"
}

failure_leaves_nothing() {
    broken_layer
    # The link's target is there, so make it another name.
    sed -i 's/zwei\x00/zw\ni\x00/' "$T/more.tar"
    head -c 700 "$T/broken.tar" >"$T/cut.tar"
    refuses 1 "'?" "$LAMINA" apply "$T/cut.tar" "$T/dst"
    absent "$T/dst"
    refuses 1 "checksum" "$LAMINA" apply "$T/more.tar" "$T/dst"
    absent "$T/dst"
}

failure_in_a_used_root_says_what_stays() {
    broken_layer
    mkdir "$T/dst"
    echo old >"$T/dst/old"
    head -c 1600 "$T/broken.tar" >"$T/cut.tar"
    refuses 1 "entries were applied and stay" \
        "$LAMINA" apply "$T/cut.tar" "$T/dst"
    [ "$(cat "$T/dst/one" "$T/dst/old")" = "$(printf 'one\nold')" ] ||
        fail "$(ls "$T/dst")"
}

keeps_what_was_made_when_asked() {
    broken_layer
    head -c 1600 "$T/broken.tar" >"$T/cut.tar"
    refuses 1 "entries were applied and stay" \
        "$LAMINA" apply --keep-partial "$T/cut.tar" "$T/dst"
    [ "$(cat "$T/dst/one")" = one ] || fail "$(ls "$T/dst")"
    [ "$(stat -c %a "$T/dst")" = 755 ] || fail "the root is not finished"
}

full_destination_is_one_line() {
    dir=$(mount_fs tmpfs 4)
    mkdir "$T/in"
    head -c 3M /dev/urandom >"$T/in/fits"
    head -c 3M /dev/urandom >"$T/in/too-much"
    tar -C "$T/in" -cf "$T/l.tar" fits too-much
    refuses 1 "on 'too-much': No space left on device \(ENOSPC\)" \
        "$LAMINA" apply "$T/l.tar" "$dir/dst"
    absent "$dir/dst"
    mkdir "$dir/there"
    refuses 1 ENOSPC "$LAMINA" apply "$T/l.tar" "$dir/there"
    empty_directory "$dir/there"
}

# slowed COMMAND...: in the background, each file takes 20 ms.
slowed() {
    env --default-signal=INT,TERM strace -f -qq -o /dev/null -e trace=openat \
        -e inject=openat:delay_enter=20000 "$@" >"$T/out" 2>"$T/err" \
        </dev/null &
    job=$!
    for _ in $(seq 1 200); do
        worker=$(pgrep -P "$job" -x lamina || true)
        names=$(find "$T/dst" -mindepth 1 2>/dev/null | wc -l)
        [ -z "$worker" ] || [ "$names" -lt 20 ] || return 0
        sleep 0.02
    done
    fail "it did not begin: $(cat "$T/err")"
}

many_files() {
    need strace
    tree many "$T/src" 600 30
    tar -C "$T/src" -cf "$T/l.tar" .
}

# ended STATUS MS
ended() {
    began=$(now_ms)
    status=0
    wait "$job" || status=$?
    took=$(($(now_ms) - began))
    [ "$status" = "$1" ] || fail "exit $status: $(cat "$T/err")"
    [ "$took" -le "$2" ] || fail "it took $took ms"
}

first_signal_cleans_up() {
    many_files
    slowed "$LAMINA" apply "$T/l.tar" "$T/dst"
    kill -"$1" "$worker"
    ended 1 3000
    one_error_line "apply on '.*dst': stopped by SIG$1, what was made is removed"
    absent "$T/dst"
}

stops_while_the_sender_is_silent() {
    many_files
    mkfifo "$T/fifo"
    sleep 60 >"$T/fifo" &
    env --default-signal=INT "$LAMINA" apply "$T/fifo" "$T/dst" \
        >"$T/out" 2>"$T/err" </dev/null &
    job=$!
    sleep 0.5
    kill -INT "$job"
    ended 1 2000
    one_error_line "stopped by SIGINT, what was made is removed"
    absent "$T/dst"
}

second_signal_ends_at_once() {
    many_files
    slowed "$LAMINA" apply "$T/l.tar" "$T/dst"
    kill -STOP "$job"
    kill -INT "$worker"
    kill -CONT "$job"
    sleep 0.1
    kill -INT "$worker" 2>/dev/null || true
    ended 1 3000
    one_error_line "stopped by SIGINT|ended by a second SIGINT: what was made \
is left in '.*dst'"
}

terminal_shows_bytes() {
    need script
    head -c 40M /dev/urandom >"$T/random"
    tar -C "$T" -cf "$T/l.tar" random
    cat >"$T/slow" <<SLOW
(head -c 20M '$T/l.tar'; sleep 2.5; tail -c +20971521 '$T/l.tar') |
    '$LAMINA' apply - '$T/dst'
SLOW
    TERM=xterm script -qec "stty cols 80 rows 24; sh '$T/slow'" /dev/null \
        >"$T/screen" </dev/null || fail "exit $?: $(cat -v "$T/screen")"
    tr '\r' '\n' <"$T/screen" | grep -Eq 'applying  [0-9.]+ MiB  .*/s' ||
        fail "$(cat -v "$T/screen")"
    cmp "$T/random" "$T/dst/random"
}

maps_owners() {
    make_layers
    does "$LAMINA" apply --uid-map 0:100000:65536 --gid-map 0:200000:65536 \
        "$T/l.tar" "$T/dst"
    odd=$(find "$T/dst" -mindepth 1 \( -uid -100000 -o -gid -200000 \) | head)
    [ -z "$odd" ] || fail "not mapped: $odd"
}

ordinary_user_applies_a_package() {
    need setpriv
    mkdir -p "$T/in/package/lib" "$T/out-dir"
    echo '{}' >"$T/in/package/package.json"
    echo x >"$T/in/package/lib/.wh.x"
    tar -C "$T/in" --owner 1000 --group 1000 -czf "$T/p.tgz" package
    chown 65534:65534 "$T/out-dir"
    as_nobody "$LAMINA" apply --whiteouts none --strip 1 --owner none \
        "$T/p.tgz" "$T/out-dir/p" >"$T/out" || fail "refused"
    [ "$(cat "$T/out-dir/p/lib/.wh.x")" = x ] || fail "$(find "$T/out-dir")"
    [ "$(stat -c %u "$T/out-dir/p/package.json")" = 65534 ] || fail owner
}

# Two layers kept apart and mounted are the two applied to one root.
overlay_mounts_what_was_applied() {
    dir=$(mount_fs tmpfs 64)
    mkdir -p "$T/in/d/sub" "$T/in/usr/lib" "$T/new/d/sub" "$T/new/lib"
    echo old >"$T/in/d/file"
    echo gone >"$T/in/d/sub/gone"
    ln -s usr/lib "$T/in/lib"
    chmod 2751 "$T/in/d"
    tar -C "$T/in" -cf "$T/base.tar" .
    echo so >"$T/new/lib/new.so"
    : >"$T/new/d/sub/.wh.gone"
    # A link into the layer below, a whiteout, and a parent that is a link there.
    ln "$T/in/d/file" "$T/in/d/link"
    tar -C "$T/in" -cf "$T/both.tar" d/file d/link
    dd if="$T/both.tar" of="$T/layer.tar" bs=512 skip=2 count=1 status=none
    tar -C "$T/new" -cf "$T/rest.tar" d/sub/.wh.gone lib/new.so
    cat "$T/rest.tar" >>"$T/layer.tar"
    does "$LAMINA" apply "$T/base.tar" "$dir/one"
    does "$LAMINA" apply "$T/layer.tar" "$dir/one"
    does "$LAMINA" apply --whiteouts overlay "$T/base.tar" "$dir/base"
    does "$LAMINA" apply --json --whiteouts overlay --lower "$dir/base" \
        "$T/layer.tar" "$dir/upper"
    report_is copied_up 1
    mkdir "$dir/work" "$dir/merged"
    mount -t overlay -o "lowerdir=$dir/base,upperdir=$dir/upper,\
workdir=$dir/work" overlay "$dir/merged" || skip "no overlay on tmpfs"
    same_trees "$dir/one" "$dir/merged" root
    [ "$(stat -c %i "$dir/upper/d/file")" = \
        "$(stat -c %i "$dir/upper/d/link")" ] || fail "not one inode"
}

# As a release is packed: a global header, a folder around all, long names.
ordinary_user_applies_a_source_archive() {
    need git setpriv
    mkdir "$T/src" "$T/out-dir"
    long=$(printf '%0100d/%0100d' 1 2)
    mkdir -p "$T/src/$long"
    echo deep >"$T/src/$long/file"
    ln -s "$long" "$T/src/short"
    cp "$LAMINA_ROOT/README.md" "$T/src"
    git -C "$T/src" init -q
    git -C "$T/src" add -A
    git -C "$T/src" -c user.name=n -c user.email=e commit -qm all
    git -C "$T/src" archive --format=tar.gz --prefix=pkg-1.0/ HEAD \
        >"$T/pkg.tar.gz"
    chown 65534:65534 "$T/out-dir"
    as_nobody "$LAMINA" apply --whiteouts none --strip 1 --owner none \
        "$T/pkg.tar.gz" "$T/out-dir/pkg" >"$T/out" || fail "refused"
    rm -rf "$T/src/.git"
    diff -r "$T/src" "$T/out-dir/pkg" || fail "not what was packed"
}
