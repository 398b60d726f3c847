# System calls that fail when the program least expects it: strace makes them.
# Each failure is exit 1, one line that names the call and the reason, nothing
# left behind, no descriptor left open, and the source as it was.
# shellcheck shell=sh

probe() {
    need strace
    echo x >"$T/in"
    strace -qq -o /dev/null -e inject=read:error=EIO:when=1 \
        cat "$T/in" >/dev/null 2>&1 && skip "strace cannot inject faults here"
    true
}

# CALL ERRNO WHEN MODE: the WHEN-th CALL fails. Errors by which a file system
# says "not here" are not in the list: those move on to the next way.
scenarios() {
    cat <<'LIST'
fails close EIO copy content
fails close ENOSPC copy content
fails close EDQUOT copy content
fails copy_file_range EIO copy content
fails copy_file_range ENOSPC copy content
fails copy_file_range EDQUOT copy content
fails ioctl EIO copy auto
fails ioctl ENOSPC copy auto
fails getdents64 EIO copy auto
fails fchown,fchownat EIO copy auto
fails fchmod,fchmodat EIO copy auto
fails utimensat EIO copy auto
fails mkdirat ENOSPC copy auto
fails mkdirat EMLINK copy auto
fails symlinkat EIO copy auto
fails mknodat ENOSPC copy auto
fails linkat EIO copy auto
fails linkat ENOSPC copy hardlink
fails openat,openat2 EIO copy auto
fails openat,openat2 EMFILE copy auto
fails openat,openat2 ENFILE copy auto
fails fsetxattr,lsetxattr,setxattr ENOSPC copy auto
fails fsetxattr,lsetxattr,setxattr EIO copy auto
fails flistxattr,llistxattr,listxattr EIO copy auto
fails readlinkat EIO copy auto
without_ranges write,pwrite64,pwritev EIO
without_ranges write,pwrite64,pwritev ENOSPC
without_ranges read,pread64,preadv EIO
range_that_ends_at_once_is_finished
interrupted_calls_are_repeated
unlink_fails_while_removing
unlink_fails_while_cleaning_up
LIST
}

# A little of everything, so that each call is made several times.
source_tree() {
    tree make "$1" <<'TREE'
        dir     . owner=7:8
        file    a/one    text=1 mode=4755 owner=1:2 xattr:user.a=b
        file    a/two    size=300000 fill=2 owner=1:2 xattr:user.a=b
        file    a/three  size=300000 data=0+65536,200000+4096 link=1
        file    a/four   link=1
        symlink a/s      -> one link=2 owner=3:4
        symlink a/t      link=2
        fifo    b/pipe   mode=0620 owner=5:5
        socket  b/sock   mode=0602
        file    b/c/five size=70000 fill=3 mode=0640 xattr:user.a=b
        file    b/c/six  size=70000 fill=4 mode=0640 xattr:user.a=b
        symlink b/c/u    -> /nowhere
TREE
}

# Descriptors that the traced program opened and did not close, by their calls.
# A close that was made to fail counts: Linux would have closed it too.
left_open() {
    awk '
        /^[0-9]* *close\(/ {
            number = $0
            sub(/^[0-9]* *close\(/, "", number)
            sub(/[^0-9].*/, "", number)
            delete open[number]
            next
        }
        / = -1 / { next }
        /^[0-9]* *(<\.\.\. )?(openat2?|open|dup[23]?|fcntl\([0-9]+, F_DUPFD)/ {
            if ($NF ~ /^[0-9]+$/) open[$NF] = $0
        }
        END { for (number in open) print open[number] }' "$1"
}

# run_with_faults INJECTION ARGUMENT...: one thread, for a readable trace.
run_with_faults() {
    injection=$1
    shift
    status=0
    strace -f -qq -o "$T/trace" -e trace=all -e inject="$injection" \
        "$LAMINA" "$@" >"$T/out" 2>"$T/err" </dev/null || status=$?
}

# The calls of CALLS (a,b) in a run without faults that concern the copy: the
# program's own start is not under test.
count_calls() {
    strace -f -qq -o "$T/plain" -e trace="$1" \
        "$LAMINA" copy --workers 1 --mode "$2" "$dir/src" "$dir/plain" \
        >"$T/out" 2>&1 || fail "exit $?: $(cat "$T/out")"
    "$LAMINA" remove "$dir/plain"
    wc -l <"$T/plain"
}

# Where, in the numbered calls of the plain run, the copy begins.
first_of_the_copy() {
    awk -v src="$dir/src" 'index($0, src) { print NR; exit }' "$T/plain"
}

fails() {
    calls=$1 error=$2 mode=$4
    dir=$(mount_fs ext4)
    case $calls in ioctl) dir=$(mount_fs xfs) ;; esac
    source_tree "$dir/src"
    remember "$dir/src" source
    tree dump "$dir/src" >"$T/dump"
    total=$(count_calls "$calls" "$mode")
    first=1
    case $calls in
    close | openat*) first=$(first_of_the_copy) ;;
    esac
    first=${first:-1}
    [ "$calls" != close ] || first=$((total / 2))
    [ "$total" -gt 0 ] || skip "no $calls in a copy in mode $mode"
    failed_runs=0
    for when in $(seq "$first" "$total"); do
        run_with_faults "$calls:error=$error:when=$when" \
            copy --workers 1 --mode "$mode" "$dir/src" "$dir/dst"
        grep -q "INJECTED" "$T/trace" || continue
        if [ "$mode" = hardlink ]; then
            # Names come and go, so the times of change do as well.
            tree dump "$dir/src" | diff "$T/dump" - || fail "source changed"
        else
            unchanged "$dir/src" source
        fi
        case $status in
        0)
            # Something that may fail: a probe, or a descriptor only read.
            same_trees "$dir/src" "$dir/dst"
            "$LAMINA" remove "$dir/dst"
            ;;
        1)
            failed_runs=$((failed_runs + 1))
            one_error_line "^lamina: .*\($error\)$"
            absent "$dir/dst"
            ;;
        *) fail "exit $status at $calls $when: $(cat "$T/err")" ;;
        esac
        [ -z "$(left_open "$T/trace")" ] ||
            fail "left open at $calls $when: $(left_open "$T/trace")"
    done
    note "$failed_runs of $((total - first + 1)) faults ended the copy"
    [ "$failed_runs" -gt 0 ] || fail "no fault in $calls was noticed"
}

# Where ranges cannot be copied, bytes are read and written; those fail too.
without_ranges() {
    dir=$(mount_fs ext4)
    source_tree "$dir/src"
    remember "$dir/src" source
    failed_runs=0
    for when in $(seq 1 40); do
        status=0
        strace -f -qq -o "$T/trace" -e trace="$1",copy_file_range \
            -e inject=copy_file_range:error=EOPNOTSUPP \
            -e inject="$1:error=$2:when=$when" \
            "$LAMINA" copy --workers 1 --mode content "$dir/src" "$dir/dst" \
            >"$T/out" 2>"$T/err" </dev/null || status=$?
        unchanged "$dir/src" source
        if [ "$status" = 0 ]; then
            same_trees "$dir/src" "$dir/dst"
            "$LAMINA" remove "$dir/dst"
            continue
        fi
        absent "$dir/dst"
        # What the loader reads is not under test, nor the mount table.
        grep -q '^lamina: ' "$T/err" || continue
        [ "$status" = 1 ] || fail "exit $status: $(cat "$T/err")"
        one_error_line "^lamina: .*\($2\)$"
        failed_runs=$((failed_runs + 1))
    done
    note "$failed_runs faults ended the copy"
    [ "$failed_runs" -gt 0 ] || fail "no fault was noticed"
}

range_that_ends_at_once_is_finished() {
    dir=$(mount_fs ext4)
    source_tree "$dir/src"
    run_with_faults copy_file_range:retval=0 \
        copy --mode content "$dir/src" "$dir/dst"
    [ "$status" = 0 ] || fail "exit $status: $(cat "$T/err")"
    same_trees "$dir/src" "$dir/dst" holes
}

interrupted_calls_are_repeated() {
    dir=$(mount_fs ext4)
    source_tree "$dir/src"
    run_with_faults copy_file_range:when=1+2:error=EINTR \
        copy --workers 1 --mode content "$dir/src" "$dir/dst"
    grep -q 'EINTR.*INJECTED' "$T/trace" || fail "nothing was interrupted"
    [ "$status" = 0 ] || fail "exit $status: $(cat "$T/err")"
    same_trees "$dir/src" "$dir/dst"
}

unlink_fails_while_removing() {
    dir=$(mount_fs ext4)
    source_tree "$dir/src"
    run_with_faults unlinkat:error=EIO:when=2 remove "$dir/src"
    [ "$status" = 1 ] || fail "exit $status"
    one_error_line '^lamina: unlinkat on .*\(EIO\)$'
    does "$LAMINA" remove "$dir/src"
    absent "$dir/src"
}

# Then something does stay, and the line is still about the first failure.
unlink_fails_while_cleaning_up() {
    dir=$(mount_fs ext4)
    source_tree "$dir/src"
    status=0
    strace -f -qq -o "$T/trace" -e trace=unlinkat,symlinkat \
        -e inject=symlinkat:error=ENOSPC -e inject=unlinkat:error=EIO:when=1 \
        "$LAMINA" copy --workers 1 "$dir/src" "$dir/dst" \
        >"$T/out" 2>"$T/err" </dev/null || status=$?
    [ "$status" = 1 ] || fail "exit $status"
    grep -q 'symlinkat.*(ENOSPC)' "$T/err" || fail "$(cat "$T/err")"
    note "said: $(tr '\n' '|' <"$T/err")"
}
