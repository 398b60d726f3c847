#!/usr/bin/env python3
"""Measures a cache hit beside what makes the same tree without a cache.

    bench/cache.py                        all shapes on all file systems
    bench/cache.py --shapes 219 --fs xfs --rounds 9 --json cache.json

A hit is a request to `lamina cache get --batch`, from the line written to the
answer read. Beside it, per request: `cp -al` of the same tree and, where there
are reflinks, `cp -a --reflink=always`. Each destination is new and is removed,
untimed, before the next. Runs as root, in a mount namespace of its own.
"""

import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
import filesystems
import scratch
import tools
from measure import Failed, call

# Files and bytes in all, as build workers see them.
SHAPES = {64: 64 << 10, 219: 40 << 20, 635: 180 << 20, 1978: 466 << 20}
BOUND = 0.65


class Shape:
    """A tree of so many files, of sizes by chance, in nested directories."""

    fresh = False

    def __init__(self, files):
        self.name = str(files)
        self.files = files
        chance = random.Random(files)
        weights = [chance.expovariate(1) + 0.05 for _ in range(files)]
        scale = SHAPES[files] / sum(weights)
        self._sizes = [max(1, int(weight * scale)) for weight in weights]

    def lay(self, source):
        chance = random.Random(self.files)
        for number, size in enumerate(self._sizes):
            place = source / f"d{number % 7}" / f"e{number // 7 % 5}"
            place.mkdir(parents=True, exist_ok=True)
            path = place / f"file{number}"
            path.write_bytes(chance.randbytes(size))
            path.chmod(0o755 if number % 20 == 0 else 0o644)


class Batch:
    """A `lamina cache get --batch` that is asked one request at a time."""

    def __init__(self, lamina, root, mode):
        self._mode = mode
        self._child = subprocess.Popen(
            [lamina, "cache", "get", "--batch", "--root", root],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def get(self, target):
        line = json.dumps({"key": "k", "destination": str(target),
                           "mode": self._mode}) + "\n"
        begun = time.perf_counter()
        self._child.stdin.write(line.encode())
        self._child.stdin.flush()
        answer = self._child.stdout.readline()
        taken = time.perf_counter() - begun
        answer = json.loads(answer or b"{}")
        if answer.get("outcome") != "hit" or answer.get("copied"):
            raise Failed(f"not a hit: {answer}")
        return taken * 1000

    def close(self):
        self._child.stdin.close()
        self._child.wait()


def copier(*words):
    def run(target):
        begun = time.perf_counter()
        subprocess.run([*words, target], check=True)
        return (time.perf_counter() - begun) * 1000
    return run


def rows_of(shape, filesystem, rounds, lamina):
    """One row for each way to get the tree that the file system has."""
    with filesystem.holding(shape) as fresh, fresh() as root:
        cache = root / "cache"
        call(lamina, "cache", "add", "k", root / "src", "--root", cache,
             "--max-bytes", "none")
        # What cp starts from is what the cache starts from: read-only files.
        entry = next((cache / "entries").iterdir()) / "tree"
        pairs = [("hardlink", ["cp", "-al", entry])]
        if filesystem.name in ("xfs", "btrfs"):
            pairs.append(("reflink", ["cp", "-a", "--reflink=always", entry]))
        for mode, words in pairs:
            batch = Batch(lamina, cache, mode)
            ways = {"hit": batch.get, "cp": copier(*words)}
            taken = {name: [] for name in ways}
            for number in range(-1, rounds):
                for name, way in ways.items():
                    target = root / f"{name}{number}"
                    sample = way(target)
                    if number >= 0:
                        taken[name].append(sample)
                    call("rm", "-rf", target)
            batch.close()
            hit, copy = (statistics.median(taken[name])
                         for name in ("hit", "cp"))
            yield {"files": shape.files, "fs": filesystem.name, "mode": mode,
                   "against": " ".join(words[:-1]), "hit_ms": round(hit, 3),
                   "cp_ms": round(copy, 3), "ratio": round(hit / copy, 3),
                   "samples_ms": taken}


def table(rows):
    yield "| files | fs | mode | hit, ms | against | ms | ratio |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for row in rows:
        mark = "" if row["ratio"] <= BOUND else " (over)"
        yield (f"| {row['files']} | {row['fs']} | {row['mode']} | "
               f"{row['hit_ms']} | `{row['against']}` | {row['cp_ms']} | "
               f"{row['ratio']}{mark} |")


def numbers(text):
    found = [int(word) for word in text.split(",")]
    if not set(found) <= set(SHAPES):
        raise argparse.ArgumentTypeError(f"of {', '.join(map(str, SHAPES))}")
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--shapes", type=numbers, default=list(SHAPES),
                        metavar="LIST", help="numbers of files")
    parser.add_argument("--fs", default=",".join(filesystems.NAMES),
                        metavar="LIST")
    parser.add_argument("--rounds", type=int, default=9, metavar="N")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    arguments = parser.parse_args()
    scratch.enter_namespace()
    scratch.stop_on_signals()
    rows = []
    with scratch.scratch() as place:
        tools.pin_lamina(place)
        lamina = tools.lamina_program()
        for name in arguments.fs.split(","):
            filesystem = filesystems.FileSystem(name, place)
            for files in arguments.shapes:
                try:
                    rows += rows_of(Shape(files), filesystem,
                                    arguments.rounds, lamina)
                except (Failed, OSError) as error:
                    print(f"{name}, {files} files: {error}", file=sys.stderr)
                if arguments.json:
                    arguments.json.write_text(json.dumps(rows, indent=1))
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
