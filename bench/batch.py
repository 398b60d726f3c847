#!/usr/bin/env python3
"""Measures write_batch at several widths, on fresh file systems.

    bench/batch.py                       all shapes, all file systems
    bench/batch.py --quick               a slice; its times say nothing
    bench/batch.py --fs ext4 --rounds 9 --json a.json --svg docs/images
    bench/batch.py --from a.json         measure nothing, report these results

Every width meets the same fresh image, in turn, and the order goes round. The
table goes to standard output, a plot for each shape to the folder of --svg.
Runs as root, in a mount namespace of its own. `make bench` builds the program
that it runs.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys

sys.dont_write_bytecode = True  # The source tree stays as it was.

# pylint: disable=wrong-import-position
import filesystems
import machine
import scratch
import tools
from cell import rotated, save, say
from measure import Failed, call

SHAPES = {
    "600": "16,004 files of 600 bytes, one directory",
    "1500": "16,004 files of 1,500 bytes, one directory",
    "many": "29,000 files of 300 to 9,000 bytes, 3,660 directories",
    "small": "300 files, 10 directories",
}
CHOSEN = "chosen"


class Nothing:
    """A source tree that needs no laying: a batch comes out of memory."""
    name = "batch"
    fresh = True

    @staticmethod
    def lay(_path):
        """Leaves the file system as it was made."""


def widths():
    """1, 2, 4, all CPUs, and what the table says."""
    numbers = sorted({1, 2, 4, len(os.sched_getaffinity(0))})
    return [str(number) for number in numbers] + [CHOSEN]


def run_once(program, root, shape, width):
    target = root / "out"
    target.mkdir()
    number = "0" if width == CHOSEN else width
    return json.loads(call(program, target, shape, number))


def measure(filesystem, shape, rounds):
    """A row for each width, and what could not be measured."""
    program = tools.ROOT / os.environ.get("LAMINA_BUILD", "build/release") / \
        "bench" / "batch_bench"
    samples = {width: [] for width in widths()}
    with filesystem.holding(Nothing) as fresh:
        for number in range(-1, rounds):  # Round -1 is the warm-up.
            for width in rotated(list(samples), number + 1):
                with fresh() as root:
                    sample = run_once(program, root, shape, width)
                if number >= 0:
                    samples[width].append(sample)
            say(f"  {shape} on {filesystem.name}: round {number + 1} of "
                f"{rounds}")
    return [row(filesystem.name, shape, width, found)
            for width, found in samples.items()]


def row(filesystem, shape, width, samples):
    def median(key):
        return round(statistics.median(one[key] for one in samples), 2)
    walls = [one["wall_ms"] for one in samples]
    return {"fs": filesystem, "shape": shape, "width": width,
            "wall_ms": median("wall_ms"),
            "sigma_ms": round(statistics.stdev(walls), 2)
            if len(walls) > 1 else None,
            "cpu_ms": round(statistics.median(
                one["user_ms"] + one["system_ms"] for one in samples), 2),
            "workers": max(one["workers"] for one in samples),
            "samples_ms": walls}


def campaign(arguments, work):
    results = {"machine": machine.describe(), "rounds": arguments.rounds,
               "load": round(os.getloadavg()[0], 2), "rows": [], "gaps": []}
    for name in arguments.fs:
        for shape in arguments.shapes:
            try:
                results["rows"] += measure(
                    filesystems.FileSystem(name, work), shape,
                    arguments.rounds)
            except (Failed, OSError) as error:
                results["gaps"].append(f"{shape} on {name}: {error}")
            save(results, arguments.json)
    return results


# ---- Report -----------------------------------------------------------------

def by_cell(results):
    cells = {}
    for one in results["rows"]:
        cells.setdefault((one["shape"], one["fs"]), {})[one["width"]] = one
    return cells


def verdict(cell):
    """What the bounds of the issue say of the chosen width."""
    chosen, single = cell[CHOSEN], cell["1"]
    best = min(one["wall_ms"] for one in cell.values())
    return (f"{chosen['wall_ms'] / best:.2f} x best, "
            f"{chosen['wall_ms'] / single['wall_ms']:.2f} x one thread, "
            f"CPU {chosen['cpu_ms'] / max(single['cpu_ms'], 0.01):.2f} x")


def table(results):
    cells = by_cell(results)
    names = sorted({one["width"] for one in results["rows"]})
    lines = [f"Medians of {results['rounds']}, wall (user + system) in ms; "
             f"load {results['load']} at the start.", ""]
    head = ["shape", "file system", *names, "chosen width"]
    lines += ["| " + " | ".join(head) + " |",
              "| --- | --- |" + " ---: |" * len(names) + " --- |"]
    for (shape, name), cell in cells.items():
        found = [f"{cell[w]['wall_ms']:.0f} ({cell[w]['cpu_ms']:.0f})"
                 if w in cell else "" for w in names]
        lines.append("| " + " | ".join([SHAPES[shape], name, *found,
                                        verdict(cell)]) + " |")
    lines += [f"\nNot measured: {gap}" for gap in results["gaps"]]
    return "\n".join(lines) + "\n"


COLOURS = ["#4477aa", "#66ccee", "#228833", "#ccbb44", "#aa3377"]


def plot(results, shape):
    """An SVG: for each file system a bar for each width."""
    cells = {name: cell for (found, name), cell in by_cell(results).items()
             if found == shape}
    names = [w for w in widths() if any(w in cell for cell in cells.values())]
    top = max(one["wall_ms"] for cell in cells.values()
              for one in cell.values()) or 1
    bar, gap, height, left = 26, 30, 240, 60
    group = bar * len(names) + gap
    wide = left + group * len(cells) + 20
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" '
           f'height="{height + 110}" font-family="sans-serif" '
           'font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="10" y="20" font-size="14">write_batch: {SHAPES[shape]}'
           '</text>',
           f'<text x="10" y="38" fill="#555">ms, median of '
           f'{results["rounds"]}; less is better</text>']
    for number, (name, cell) in enumerate(cells.items()):
        at = left + number * group
        for place, width in enumerate(names):
            if width not in cell:
                continue
            value = cell[width]["wall_ms"]
            tall = value / top * (height - 40)
            x, y = at + place * bar, 60 + height - 20 - tall
            out.append(f'<rect x="{x}" y="{y:.1f}" width="{bar - 3}" '
                       f'height="{tall:.1f}" fill="{COLOURS[place % 5]}"/>')
            out.append(f'<text x="{x + bar / 2 - 2}" y="{y - 4:.1f}" '
                       f'text-anchor="middle" font-size="10">{value:.0f}'
                       '</text>')
        out.append(f'<text x="{at + bar * len(names) / 2}" '
                   f'y="{60 + height - 2}" text-anchor="middle">{name}</text>')
    for place, width in enumerate(names):
        x = left + place * 90
        words = width if width == CHOSEN else f"{width} threads"
        out.append(f'<rect x="{x}" y="{height + 80}" width="12" height="12" '
                   f'fill="{COLOURS[place % 5]}"/>')
        out.append(f'<text x="{x + 17}" y="{height + 91}">{words}</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def words(known):
    def parse(text):
        found = text.split(",")
        for word in found:
            if word not in known:
                raise argparse.ArgumentTypeError(
                    f"{word}: not one of {', '.join(known)}")
        return found
    return parse


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--shapes", type=words(SHAPES),
                        default=["600", "1500", "many"], metavar="LIST")
    parser.add_argument("--fs", type=words(filesystems.NAMES), metavar="LIST",
                        default=filesystems.NAMES)
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--svg", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--from", dest="source", type=pathlib.Path,
                        metavar="FILE")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.shapes, arguments.rounds = ["small"], 1
    return arguments


def main():
    arguments = parse_arguments()
    if arguments.source:
        results = json.loads(arguments.source.read_text())
    else:
        scratch.enter_namespace()
        scratch.stop_on_signals()
        with scratch.scratch(os.environ.get("BENCH_DIR")) as work:
            results = campaign(arguments, work)
    if arguments.svg and results["rows"]:
        arguments.svg.mkdir(parents=True, exist_ok=True)
        for shape in {one["shape"]: None for one in results["rows"]}:
            (arguments.svg / f"batch-{shape}.svg").write_text(
                plot(results, shape))
    print(table(results) if results["rows"] else "\n".join(results["gaps"]),
          end="")
    return 1 if results["gaps"] else 0


if __name__ == "__main__":
    sys.exit(main())
