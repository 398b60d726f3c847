# Memory while a layer is applied: 64 MiB, the window of a zstd frame, 24 bytes
# for each name and 80 for each directory, however large the layer is. A slice
# without LAMINA_FULL=1.
# shellcheck shell=sh

probe() { need python3 gzip zstd; }

scenarios() {
    if [ "${LAMINA_FULL:-0}" = 0 ]; then
        large=256 many=50000
    else
        large=6144 many=1000000
    fi
    for form in cat gzip zstd; do
        echo "one_large_file $large $form"
    done
    for into in empty used; do
        echo "many_empty_files $many $into"
        echo "many_empty_directories $many $into"
    done
}

# make_tar COUNT KIND: that many empty entries, a thousand to a directory.
make_tar() {
    python3 -c '
import sys
count, kind = int(sys.argv[1]), sys.argv[2].encode()
out = sys.stdout.buffer
def header(name, type):
    block = bytearray(512)
    block[0:len(name)] = name
    block[100:107] = b"0000755"
    block[108:115] = block[116:123] = b"0000000"
    block[124:135] = b"00000000000"
    block[136:147] = b"14300000000"
    block[148:156] = b"        "
    block[156:157] = type
    block[257:265] = b"ustar\x0000"
    block[148:155] = b"%06o\0" % sum(block)
    return block
for i in range(count):
    if i % 1000 == 0:
        out.write(header(b"d%06d" % (i // 1000), b"5"))
    out.write(header(b"d%06d/n%06d" % (i // 1000, i), kind))
out.write(bytes(1024))' "$1" "$2"
}

# peak_of NAMES DIRECTORIES WINDOW-KIB ROOT: applies standard input.
peak_of() {
    "$TOOLS/peak" "$T/peak" "$LAMINA" apply --json - "$4" >"$T/out" ||
        fail "exit $?"
    peak=$(cat "$T/peak")
    bound=$((65536 + $3 + 24 * $1 / 1024 + 80 * $2 / 1024))
    note "peak $peak KiB, bound $bound KiB"
    [ "$peak" -le "$bound" ] || fail "peak $peak KiB, bound $bound KiB"
}

one_large_file() {
    # Zeros take no place where they are compressed.
    dir=$(mount_fs btrfs 4096 compress=zstd)
    mkfifo "$T/layer"
    {
        python3 -c '
import sys, tarfile
entry = tarfile.TarInfo("large")
entry.size = int(sys.argv[1]) << 20
sys.stdout.buffer.write(entry.tobuf(tarfile.GNU_FORMAT))' "$1"
        head -c "$1M" /dev/zero
        head -c 1024 /dev/zero
    } | case $2 in
    cat) cat ;;
    gzip) gzip -1 ;;
    zstd) zstd -q -1 ;;
    esac >"$T/layer" &
    peak_of 1 1 8192 "$dir/dst" <"$T/layer"
    [ "$(stat -c %s "$dir/dst/large")" = $(($1 << 20)) ] || fail "its size"
}

many_empty() {
    dir=$(mount_fs tmpfs 8192)
    mkdir "$dir/dst"
    # In a root that holds something names are remembered.
    [ "$2" = empty ] || touch "$dir/dst/there"
    mkfifo "$T/layer"
    make_tar "$1" "$3" >"$T/layer" &
    directories=$(($1 / 1000))
    [ "$3" = 0 ] || directories=$((directories + $1))
    peak_of $(($1 + $1 / 1000)) "$directories" 0 "$dir/dst" <"$T/layer"
    report_is entries $(($1 + $1 / 1000))
}
many_empty_files() { many_empty "$1" "$2" 0; }
many_empty_directories() { many_empty "$1" "$2" 5; }
