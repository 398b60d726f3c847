# A signal stops a copy, and what it made goes; a second one ends it at once.
# Slowed down by strace, so that the signal comes in the middle on any machine.
# shellcheck shell=sh

scenarios() {
    for signal in INT TERM; do
        for width in 1 4; do
            echo "first_signal_cleans_up $signal $width"
        done
        echo "stops_a_large_tree_in_time $signal"
        echo "second_signal_ends_at_once $signal"
    done
    echo "empty_destination_is_kept"
    echo "stops_in_the_middle_of_one_file"
}

probe() { need strace; }

# Waits until a copy shows COUNT names in DST.
wait_for_names() {
    for _ in $(seq 1 200); do
        names=$(find "$1" -mindepth 1 2>/dev/null | wc -l)
        [ "$names" -lt "$2" ] || return 0
        sleep 0.02
    done
    fail "the copy did not begin: $(cat "$T/err")"
}

# start COMMAND...: in the background, as a shell in the foreground would
# start it: background jobs of a script ignore SIGINT.
start() {
    env --default-signal=INT,TERM "$@" >"$T/out" 2>"$T/err" </dev/null &
    job=$!
}

# slowed CALLS COMMAND...: each of the system calls takes 20 ms.
slowed() {
    calls=$1
    shift
    start strace -f -qq -o /dev/null -e trace="$calls" \
        -e inject="$calls":delay_enter=20000 "$@"
}

# The copy itself, below the shell's job.
lamina_of() {
    for _ in $(seq 1 100); do
        found=$(pgrep -P "$job" -x lamina || true)
        [ -z "$found" ] || break
        sleep 0.02
    done
    [ -n "$found" ] || found=$job
    echo "$found"
}

# stopped_within MS: how the job ended.
stopped_within() {
    began=$(now_ms)
    status=0
    wait "$job" || status=$?
    took=$(($(now_ms) - began))
    [ "$took" -le "$1" ] || fail "it took $took ms"
    note "ended with status $status after $took ms"
    case $status in
    1 | 130 | 143) ;;
    *) fail "exit $status: $(cat "$T/err")" ;;
    esac
}

first_signal_cleans_up() {
    tree many "$T/src" 600 30
    remember "$T/src" source
    slowed openat,openat2 "$LAMINA" copy --workers "$2" "$T/src" "$T/dst"
    wait_for_names "$T/dst" 20
    kill -"$1" "$(lamina_of)"
    stopped_within 2000
    one_error_line 'dst|stop|cancel|interrupt|signal'
    absent "$T/dst"
    unchanged "$T/src" source
}

stops_a_large_tree_in_time() {
    dir=$(mount_fs ext4 2048)
    tree many "$dir/src" 60000 600
    start "$LAMINA" copy --mode content "$dir/src" "$dir/dst"
    wait_for_names "$dir/dst" 3000
    kill -"$1" "$job"
    stopped_within 2000
    absent "$dir/dst"
}

second_signal_ends_at_once() {
    tree many "$T/src" 600 30
    slowed openat,openat2,unlinkat "$LAMINA" copy "$T/src" "$T/dst"
    wait_for_names "$T/dst" 100
    copier=$(lamina_of)
    kill -"$1" "$copier"
    sleep 0.3
    kill -"$1" "$copier"
    stopped_within 300
    grep -q 'dst' "$T/err" || fail "it does not say what is left: $(cat "$T/err")"
    [ -d "$T/dst" ] || fail "nothing is left, so the second came too late"
}

empty_destination_is_kept() {
    tree many "$T/src" 600 30
    mkdir -m 2711 "$T/dst"
    touch -d @9 "$T/dst"
    tree dump "$T/dst" >"$T/before"
    slowed openat,openat2 "$LAMINA" copy "$T/src" "$T/dst"
    wait_for_names "$T/dst" 20
    kill -TERM "$(lamina_of)"
    stopped_within 2000
    tree dump "$T/dst" | diff "$T/before" - || fail "it was not put back"
}

stops_in_the_middle_of_one_file() {
    dir=$(mount_fs tmpfs 8192)
    mkdir "$dir/src"
    head -c 2G /dev/zero >"$dir/src/big"
    start "$LAMINA" copy --mode content "$dir/src" "$dir/dst"
    wait_for_names "$dir/dst" 1
    kill -INT "$job"
    stopped_within 2000
    absent "$dir/dst"
}
