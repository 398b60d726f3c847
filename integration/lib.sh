# What scenarios are written with. Sourced by integration/scenario, which sets
# -eu; a function that finds a fault calls `fail`, and the scenario ends.
#
# $T        an empty directory of this scenario
# $IMAGES   the same for file-system images
# $LAMINA   the program; $TOOLS: the helpers of tests/tools
#
# A script defines `probe` (calls `skip` when nothing of it can run here) and
# `scenarios` (prints one line for each: a function and its arguments).
# shellcheck shell=sh

probe() { :; }

fail() {
    echo "FAILED: $*"
    exit 1
}

skip() {
    printf '%s\n' "$*" >"$T/skip"
    exit 77
}

# Shown below the result when the scenario passes.
note() { echo "note: $*"; }

need() {
    for program; do
        command -v "$program" >/dev/null || skip "$program is not installed"
    done
}

tree() { "$TOOLS/tree" "$@"; }

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# ---- File systems -----------------------------------------------------------

# mount_fs KIND [MIB] [OPTIONS]: mounts a fresh one and prints an empty
# directory on it.
mount_fs() {
    point=$(mktemp -d "$T/mount.XXXXXX")
    case $1 in
    ext4 | xfs | btrfs) mount_image "$1" "${2:-1024}" "${3:-}" "$point" ;;
    tmpfs)
        mount -t tmpfs -o "mode=755,size=${2:-4096}m${3:+,$3}" tmpfs "$point"
        ;;
    overlay)
        base=$(mktemp -d "$T/layers.XXXXXX")
        mount -t tmpfs -o "mode=755,size=${2:-4096}m" tmpfs "$base"
        mkdir "$base/lower" "$base/upper" "$base/work"
        mount -t overlay -o "lowerdir=$base/lower,upperdir=$base/upper,\
workdir=$base/work${3:+,$3}" overlay "$point" || skip "no overlay on tmpfs"
        ;;
    *) fail "no file system '$1'" ;;
    esac
    chmod 755 "$point"
    mkdir "$point/root"
    echo "$point/root"
}

mount_image() {
    need "mkfs.$1"
    image=$(mktemp "$IMAGES/$1.XXXXXX")
    truncate -s "$2M" "$image"
    case $1 in
    ext4) mkfs.ext4 -q -F -m 0 -I 256 "$image" ;;
    xfs) mkfs.xfs -q -f -m reflink=1 "$image" ;;
    btrfs) mkfs.btrfs -q -f "$image" >"$T/mkfs" ;;
    esac
    mount -t "$1" -o "loop${3:+,$3}" "$image" "$4" 2>"$T/mount-error" ||
        skip "$(head -n 1 "$T/mount-error")"
}

# leave_free DIR KIB: uses up the file system of DIR (as mount_fs printed it).
leave_free() {
    ballast=$1/../ballast
    step=$((1 << 30))
    while [ "$step" -ge 4 ]; do
        free=$(df --output=avail -k "$1" | tail -n 1)
        size=$(stat -c %s "$ballast" 2>/dev/null || echo 0)
        if [ "$((free - $2))" -lt "$step" ] ||
            ! fallocate -o "$size" -l "${step}K" "$ballast" 2>/dev/null; then
            step=$((step / 2))
        fi
    done
}

# full_random DIR SEED COUNT: a tree by chance with all that DIR can hold.
full_random() {
    mkdir -p "$1"
    if setfattr -n user.probe "$1" 2>/dev/null; then
        setfattr -x user.probe "$1"
        tree random "$1" "$2" "$3"
    else
        tree random "$1" "$2" "$3" plain
    fi
    # xfs allocates ahead of what is written; once flushed, holes are holes.
    sync -f "$1"
}

# real_tree DIR: a tree that people have, of a few thousand names.
real_tree() {
    mkdir "$1"
    for part in /etc /usr/sbin /usr/share/zoneinfo /var/lib/dpkg/info; do
        [ ! -d "$part" ] || cp -a "$part" "$1/${part##*/}"
    done
    ln "$1/etc/passwd" "$1/etc/second-name"
}

# ---- Assertions -------------------------------------------------------------

# same_trees SRC DST [WITHOUT...]: the copy holds all that the source holds.
same_trees() {
    want=$1 got=$2
    shift 2
    tree dump "$want" "$@" >"$T/want"
    tree dump "$got" "$@" >"$T/got"
    cmp -s "$T/want" "$T/got" || {
        diff -u "$T/want" "$T/got" | head -n 40
        fail "$got is not $want"
    }
}

# remember DIR NAME / unchanged DIR NAME: nothing at all was done to it, not
# even for a moment (times of change tell).
remember() { state_of "$1" >"$T/state.$2"; }
unchanged() {
    state_of "$1" >"$T/state.now"
    cmp -s "$T/state.$2" "$T/state.now" || {
        diff "$T/state.$2" "$T/state.now" | head -n 20
        fail "$1 was changed"
    }
}
state_of() {
    tree dump "$1"
    find "$1" -printf '%i %n %C@ %P\n' | sort
}

absent() {
    if [ -e "$1" ] || [ -h "$1" ]; then
        fail "$1 is there: $(find "$1" | head)"
    fi
}
empty_directory() {
    [ -d "$1" ] || fail "$1 is no directory"
    inside_it=$(find "$1" -mindepth 1 | head -n 5)
    [ -z "$inside_it" ] || fail "$1 is not empty: $inside_it"
}

# refuses STATUS PATTERN COMMAND...: exit STATUS, nothing on standard output,
# and exactly one line on standard error, which matches PATTERN (extended).
refuses() {
    want_status=$1 pattern=$2
    shift 2
    got_status=0
    "$@" >"$T/out" 2>"$T/err" </dev/null || got_status=$?
    [ "$got_status" = "$want_status" ] || {
        cat -v "$T/err"
        fail "exit $got_status, not $want_status: $*"
    }
    one_error_line "$pattern"
    [ ! -s "$T/out" ] || fail "something on standard output: $(cat "$T/out")"
}
one_error_line() {
    # What strace says of itself is not the program's.
    sed -i '/^strace: /d' "$T/err"
    [ "$(wc -l <"$T/err")" = 1 ] || {
        cat -v "$T/err"
        fail "not one line on standard error"
    }
    ! LC_ALL=C grep -q '[^ -~]' "$T/err" || {
        cat -v "$T/err"
        fail "unescaped bytes on standard error"
    }
    grep -Eq "$1" "$T/err" || {
        cat -v "$T/err"
        fail "no '$1' on standard error"
    }
}

# does COMMAND...: exit 0 and nothing on standard error. Output is in $T/out.
does() {
    got_status=0
    "$@" >"$T/out" 2>"$T/err" </dev/null || got_status=$?
    [ "$got_status" = 0 ] || {
        cat -v "$T/err"
        fail "exit $got_status: $*"
    }
    [ ! -s "$T/err" ] || {
        cat -v "$T/err"
        fail "something on standard error: $*"
    }
}

# report KEY: a number of the JSON report in $T/out; KEY may be a.b
report() {
    python3 -c '
import json, sys
value = json.load(open(sys.argv[1]))
for key in sys.argv[2].split("."):
    value = value[key]
print(value)' "$T/out" "$1" || fail "no $1 in the report: $(cat "$T/out")"
}

# report_is KEY VALUE
report_is() {
    value=$(report "$1")
    [ "$value" = "$2" ] || fail "$1 is $value in the report, not $2"
}

# As the ordinary user nobody, without a right of root's.
as_nobody() {
    setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$@"
}
