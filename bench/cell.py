"""One cell of the table: every tool on one tree and one file system."""

import dataclasses
import json
import sys

from filesystems import count_entries
from measure import Failed, summary


def say(text):
    print(text, file=sys.stderr, flush=True)


def run_once(stopwatch, tool, root):
    """Copies root/src to root/dst and returns the sample."""
    target = root / "dst"
    if tool.needs_target:
        target.mkdir()
    sample, output = stopwatch.run(tool.words(root / "src", target))
    if tool.prints_ms:
        sample = dataclasses.replace(sample, wall_ms=float(output))
    return sample


def rotated(tools, by):
    by %= max(1, len(tools))
    return tools[by:] + tools[:by]


def measure(filesystem, tree, tools, rounds, stopwatch):
    """Interleaves the tools; returns a row for each and the gaps."""
    tools = [tool for tool in tools
             if not tool.only_on or filesystem.name in tool.only_on]
    samples = {tool.name: [] for tool in tools}
    gaps = {}
    with filesystem.holding(tree) as fresh:
        # Round -1 is the warm-up: not timed, but its copies are counted.
        for number in range(-1, rounds):
            for tool in rotated(tools, number + 1):
                if tool.name in gaps:
                    continue
                try:
                    with fresh() as root:
                        sample = run_once(stopwatch, tool, root)
                        if number < 0:
                            check(made_by(tool, root / "dst"), tree)
                        else:
                            samples[tool.name].append(sample)
                except (Failed, OSError, ValueError) as error:
                    gaps[tool.name] = str(error)
            say(f"  {tree.name} on {filesystem.name}: " +
                (f"round {number + 1} of {rounds}" if number >= 0
                 else "warm-up"))
    rows = [{"tree": tree.name, "fs": filesystem.name, "tool": tool.name,
             **summary(samples[tool.name])}
            for tool in tools if tool.name not in gaps]
    return rows, [{"tree": tree.name, "fs": filesystem.name, "tool": name,
                   "reason": reason} for name, reason in gaps.items()]


def made_by(tool, target):
    """The directory in `target` that holds the tree."""
    if not tool.result:
        return target
    found = list(target.glob(tool.result))
    if len(found) != 1:
        raise Failed(f"{len(found)} of {tool.result}")
    return found[0]


def check(target, tree):
    """Fails where a tool left something out and so had less to do."""
    made = count_entries(target)
    if made != tree.entries:
        raise Failed(f"made {made} entries of {tree.entries}")


def save(results, path):
    """Writes the results so far: a campaign that is stopped keeps its rows."""
    if path:
        unfinished = path.with_name(path.name + ".part")
        unfinished.write_text(json.dumps(results, indent=1) + "\n")
        unfinished.rename(path)
