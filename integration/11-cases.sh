# The reproduction cases that lie beside the repository: each holds, under the
# usual umask and under 077.
# shellcheck shell=sh

cases=$LAMINA_ROOT/../shared/cases

probe() {
    [ -x "$cases/run_cases.py" ] || skip "no ../shared/cases here"
    need python3 bash setfattr setfacl getfattr
}

scenarios() {
    for mask in 022 077; do
        for kind in "$cases"/[0-9]*/kind; do
            case $(cat "$kind") in
            copy | copy-hardlink | cache-* | batch) ;;
            *) continue ;;
            esac
            name=$(dirname "$kind")
            [ ! -e "$name/check.sh" ] || echo "holds $mask ${name##*/}"
        done
    done
}

holds() {
    umask "$1"
    number=${2%%-*}
    status=0
    python3 "$cases/run_cases.py" --cases "$cases" --work "$T/work" \
        --only "$number" \
        --cmd copy="$LAMINA copy {src} {dst}" \
        --cmd copy-hardlink="$LAMINA copy --mode hardlink {src} {dst}" \
        --cmd batch="$LAMINA write {dst} --manifest {src}" \
        --cmd cache-evict="$LAMINA remove {src}" \
        --cmd cache-lock="$LAMINA lock {src}" \
        --cmd cache-materialise="$LAMINA cache add K {src} --root $T/cache && \
$LAMINA cache get K {dst} --root $T/cache" >"$T/said" || status=$?
    cat "$T/said"
    ! grep -q "^$2 *void$" "$T/said" || skip "the case cannot be made here"
    [ "$status" = 0 ] || fail "the case does not hold"
    grep -Eq "^$2 *ok!?$" "$T/said" || fail "the case did not run"
}
