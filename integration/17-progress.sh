# A person at a terminal sees how far a long copy is; a pipe sees nothing.
# shellcheck shell=sh

scenarios() {
    echo "terminal_shows_a_bar"
    echo "long_removal_shows_a_bar"
    echo "short_copy_shows_none"
    echo "pipe_shows_none"
    echo "json_on_a_terminal_is_still_json"
}

probe() { need script strace; }

# A copy of about three seconds, whatever the machine.
long_copy() {
    echo "strace -f -qq -o /dev/null -e trace=mkdirat \
-e inject=mkdirat:delay_enter=30000 \
'$LAMINA' copy --workers 1 $* '$T/src' '$T/dst'"
}

# on_terminal COMMAND: its output, standard error too, as a terminal gets it.
on_terminal() {
    TERM=xterm script -qec "stty cols 80 rows 24; $1" /dev/null \
        >"$T/screen" </dev/null || fail "exit $?: $(cat -v "$T/screen")"
}

terminal_shows_a_bar() {
    tree many "$T/src" 200 100
    on_terminal "$(long_copy)"
    same_trees "$T/src" "$T/dst"
    updates=$(tr '\r' '\n' <"$T/screen" | grep -cE '[0-9]' || true)
    [ "$updates" -ge 3 ] || fail "$updates updates: $(cat -v "$T/screen")"
    widest=$(tr '\r' '\n' <"$T/screen" | sed 's/\x1b\[[0-9;?]*[A-Za-z]//g' |
        awk '{ if (length > most) most = length } END { print most }')
    [ "$widest" -le 80 ] || fail "wider than the terminal: $widest"
    note "$updates updates, widest $widest columns"
}

long_removal_shows_a_bar() {
    tree many "$T/old" 200 100
    on_terminal "strace -f -qq -o /dev/null -e trace=unlinkat \
-e inject=unlinkat:delay_enter=10000 '$LAMINA' remove --workers 1 '$T/old'"
    [ ! -e "$T/old" ] || fail "it is still there"
    tr '\r' '\n' <"$T/screen" | grep -q '^removing  [0-9,]* entries' ||
        fail "no bar: $(cat -v "$T/screen")"
}

short_copy_shows_none() {
    tree many "$T/src" 20 2
    on_terminal "'$LAMINA' copy '$T/src' '$T/dst'"
    ! grep -q '%' "$T/screen" || fail "a bar: $(cat -v "$T/screen")"
}

pipe_shows_none() {
    tree many "$T/src" 200 100
    sh -c "$(long_copy)" >"$T/out" 2>"$T/err" || fail "exit $?"
    [ ! -s "$T/err" ] || fail "on standard error: $(cat -v "$T/err")"
    ! grep -q '[^ -~]' "$T/out" || fail "on standard output: $(cat -v "$T/out")"
}

json_on_a_terminal_is_still_json() {
    tree many "$T/src" 200 100
    on_terminal "$(long_copy --json) >'$T/out'"
    report_is directories 101
}
