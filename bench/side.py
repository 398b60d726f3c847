"""Side measurements: system calls, memory, widths, and starting up.

Each returns rows and raises Failed where it cannot be made; the campaign then
has a gap.
"""

import os
import re
import statistics

import cell
import tools
import trees
from filesystems import FileSystem
from measure import Failed, call

TOTAL = re.compile(r"^100\.00\s+\S+\s+(?:\S+\s+)?(\d+)\s+(?:\d+\s+)?total$",
                   re.M)
LINKS = (1_000, 3_000)  # Two sizes, so that starting up cancels out.


def count_calls(command, scratch):
    """How many system calls `command` and its threads make."""
    out = scratch / "strace.txt"
    call("strace", "-f", "-qq", "-c", "-o", out, *command)
    found = TOTAL.search(out.read_text())
    if not found:
        raise Failed("strace: no total")
    return int(found.group(1))


def _counted_tools():
    """The copiers with one worker each, and why others are missing."""
    found, missing = tools.make(["lamina", "cp", "moby", "continuity"])
    one_worker = []
    for tool in found:
        words = tool.command
        if tool.name == "lamina":
            words = words[:2] + ("--workers", "1") + words[2:]
        one_worker.append(tools.Tool(tool.name, words))
    floor = tools.floor(1, "clone")
    one_worker.append(tools.Tool("floor", floor.command))
    return one_worker, missing


def _calls_on(tree, scratch, runs):
    """System calls of each tool copying `tree` on xfs: the fewest of `runs`.

    Go's runtime makes more of them the slower it is let run.
    """
    counts = {}
    copiers, gaps = _counted_tools()
    with FileSystem("xfs", scratch).holding(tree) as fresh:
        for tool in copiers:
            try:
                counts[tool.name] = min(_calls_once(tool, fresh, scratch)
                                        for _ in range(runs))
            except Failed as error:
                gaps[tool.name] = str(error)
    return counts, gaps


def _calls_once(tool, fresh, scratch):
    with fresh() as root:
        return count_calls(tool.words(root / "src", root / "dst"), scratch)


def system_calls(tree, scratch, runs):
    """Calls per entry of `tree`."""
    counts, gaps = _calls_on(tree, scratch, runs)
    rows = [{"tree": tree.name, "tool": name, "calls": count,
             "per_entry": round(count / tree.entries, 2)}
            for name, count in counts.items()]
    return rows, gaps


def link_calls(scratch, runs):
    """Calls per further name of one file, in the steady state."""
    few, many = [_calls_on(_linked(number, scratch), scratch, runs)
                 for number in LINKS]
    names = LINKS[1] - LINKS[0]
    rows = [{"tool": name,
             "per_name": round((many[0][name] - few[0][name]) / names, 3)}
            for name in few[0] if name in many[0]]
    return rows, {**few[1], **many[1]}


def _linked(number, scratch):
    tar = scratch / f"links-{number}.tar"
    made = trees.linked_names(tar, [f"name{i:05}" for i in range(number)])
    return trees.Tree(f"{number} links", "", tar, made.entries, made.content)


def start_time(stopwatch, runs=21):
    """`lamina --version`: the median, and the quickest of them."""
    command = [tools.lamina_program(), "--version"]
    walls = [stopwatch.run(command)[0].wall_ms for _ in range(runs)]
    return {"median_ms": round(statistics.median(walls), 3),
            "best_ms": min(walls), "runs": runs}


def peak_memory(stopwatch, scratch, counts):
    """Peak memory of lamina for many empty files, at several widths."""
    lamina = tools.lamina_program()
    rows = []
    for count in counts:
        for directories in (1, 1_000):
            tree = _EmptyFiles(count, directories)
            with FileSystem("tmpfs", scratch).holding(tree) as fresh:
                with fresh() as root:
                    rows.append({"files": count, "directories": directories,
                                 **_peaks(stopwatch, lamina, root)})
            cell.say(f"  memory: {count} files in {directories}")
    return rows


class _EmptyFiles:
    """Stands in for a tree: files without content, made by mknod."""

    fresh = True  # There is nothing to flush or to warm.

    def __init__(self, files, directories):
        self._files = files
        self._directories = directories

    def lay(self, directory):
        directory.mkdir()
        left = self._files
        for i in range(self._directories):
            part = directory / f"d{i:04}"
            part.mkdir()
            here = left // (self._directories - i)
            left -= here
            fd = os.open(part, os.O_PATH | os.O_DIRECTORY)
            try:
                for j in range(here):
                    os.mknod(f"file{j:07}", 0o644, dir_fd=fd)
            finally:
                os.close(fd)


def _peaks(stopwatch, lamina, root):
    peaks = {}
    for label, options in (("one", ["--workers", "1"]), ("table", []),
                           ("eight", ["--workers", "8"])):
        target = root / "dst"
        sample, _ = stopwatch.run([lamina, "copy", *options, root / "src",
                                   target])
        peaks[f"{label}_kib"] = sample.peak_kib
        call("rm", "-rf", target)
    return peaks


def sweep_tools(filesystem, widths=(1, 2, 4, 8)):
    """The floor and lamina at each width, by content where that differs."""
    clones = filesystem in ("xfs", "btrfs")
    ways = ["auto", "content"] if clones else ["auto"]
    found = []
    for width in widths:
        found.append(tools.floor(width, "clone" if clones else "copy"))
        try:
            lamina = tools.lamina_program()
        except Failed:
            continue
        found += [tools.Tool(f"lamina {way} {width}",
                             (lamina, "copy", "--mode", way, "--workers",
                              str(width), "SRC", "DST")) for way in ways]
    return found
