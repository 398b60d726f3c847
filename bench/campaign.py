"""A whole campaign: the cells of the table, then the side measurements."""

import datetime
import json
import os
import pathlib

import cell
import layers
import machine
import side
import tools
import trees
from filesystems import FileSystem
from measure import Failed, Stopwatch

MEMORY_COUNTS = [1_000, 10_000, 100_000, 1_000_000]
SWEEP_ROUNDS = 3  # A search for the best width, not a claim.


def empty():
    return {"machine": machine.describe(), "method": {}, "trees": [],
            "missing": {}, "gaps": [], "rows": [], "syscalls": [],
            "links": [], "memory": [], "sweep": [], "start": {},
            "layers": [], "chunks": []}


def run(arguments, scratch):
    """Measures what `arguments` ask for; what fails becomes a gap."""
    results = empty()
    results["method"] = {
        "rounds": arguments.rounds, "base": arguments.base,
        "quick": arguments.quick,
        "load": round(os.getloadavg()[0], 2),
        "date": datetime.date.today().isoformat()}
    return Campaign(arguments, scratch, results).run()


class Campaign:
    def __init__(self, arguments, scratch, results):
        self._arguments = arguments
        self._scratch = scratch
        self._results = results
        self._stopwatch = Stopwatch(tools.build("stopwatch"), scratch)
        tools.pin_lamina(scratch)

    def run(self):
        parts = self._arguments.parts
        for name in self._arguments.trees:
            if {"times", "sweep"} & set(parts):
                self._guard("tree", name, "-", lambda n=name: self._tree(n))
        if "syscalls" in parts:
            self._guard("system calls", "-", "xfs", self._system_calls)
            self._guard("links", "-", "xfs", self._links)
        if "memory" in parts:
            self._guard("memory", "-", "tmpfs", self._memory)
        if {"layers", "chunks"} & set(parts):
            for name in self._arguments.layers:
                self._guard("layer", name, "-", lambda n=name: self._layer(n))
        if "start" in parts:
            self._guard("start", "-", "-", self._start)
        self._save()
        return self._results

    def _guard(self, what, tree, filesystem, action):
        try:
            action()
        except (Failed, OSError) as error:
            cell.say(f"  {what}: {error}")
            self._gap(what, tree, filesystem, str(error))
        self._save()

    def _gap(self, what, tree, filesystem, reason):
        self._results["gaps"].append({"tool": what, "tree": tree,
                                      "fs": filesystem, "reason": reason})

    def _save(self):
        cell.save(self._results, self._arguments.json)

    def _tree(self, name):
        """Both tables of one tree, then its tar is gone."""
        cell.say(f"tree {name}")
        tree = self._make_tree(name)
        self._results["trees"].append(
            {"name": name, "what": tree.what, "entries": tree.entries,
             "content": tree.content})
        for filesystem in self._arguments.fs:
            if tree.fresh and filesystem == "tmpfs":
                continue  # Nothing is ever flushed there: the node row.
            if "times" in self._arguments.parts:
                self._guard("times", name, filesystem,
                            lambda f=filesystem: self._times(tree, f))
            if "sweep" in self._arguments.parts:
                self._guard("sweep", name, filesystem,
                            lambda f=filesystem: self._sweep(tree, f))
        if tree.tar.is_relative_to(self._scratch):
            tree.tar.unlink()

    def _layer(self, name):
        """All tools with one layer, and the sweep, where it may be."""
        cell.say(f"layer {name}")
        layer = layers.make(name, self._scratch, self._cache())
        self._results["missing"].update(layers.find_tools()[1])
        for filesystem in self._arguments.fs:
            if filesystem not in layers.FILE_SYSTEMS:
                continue
            for part, work in (("layers", layers.measure),
                               ("chunks", layers.sweep)):
                if part in self._arguments.parts:
                    self._guard(part, name, filesystem,
                                lambda p=part, w=work, f=filesystem:
                                self._apply(p, w, layer, f))
        if layer.blob.is_relative_to(self._scratch):
            layer.blob.unlink()

    def _apply(self, part, work, layer, filesystem):
        rows, gaps = work(layer, filesystem, self._scratch,
                          self._arguments.rounds, self._stopwatch)
        self._results[part] += rows
        self._results["gaps"] += gaps

    def _cache(self):
        cache = pathlib.Path(os.environ.get("BENCH_DIR") or
                             tools.OUT / "trees")
        cache.mkdir(parents=True, exist_ok=True)
        return cache

    def _make_tree(self, name):
        return trees.make(name, self._scratch, self._cache())

    def _times(self, tree, filesystem):
        found, missing = tools.make(self._arguments.tools,
                                    self._arguments.base)
        self._results["missing"].update(missing)
        self._measure("rows", tree, filesystem, found,
                      self._arguments.rounds)

    def _sweep(self, tree, filesystem):
        self._measure("sweep", tree, filesystem, side.sweep_tools(filesystem),
                      min(SWEEP_ROUNDS, self._arguments.rounds))

    def _measure(self, part, tree, filesystem, found, rounds):
        rows, gaps = cell.measure(FileSystem(filesystem, self._scratch), tree,
                                  found, rounds, self._stopwatch)
        self._results[part] += rows
        self._results["gaps"] += gaps

    def _system_calls(self):
        cell.say("system calls")
        tree = self._make_tree("small" if self._arguments.quick else "node")
        rows, gaps = side.system_calls(tree, self._scratch,
                                       self._count_runs())
        self._results["syscalls"] = rows
        self._side_gaps("system calls", gaps)

    def _links(self):
        rows, gaps = side.link_calls(self._scratch, self._count_runs())
        self._results["links"] = rows
        self._side_gaps("links", gaps)

    def _count_runs(self):
        return 1 if self._arguments.quick else 3

    def _side_gaps(self, what, gaps):
        for name, reason in gaps.items():
            self._gap(f"{what} of {name}", "-", "xfs", reason)

    def _memory(self):
        cell.say("memory")
        counts = MEMORY_COUNTS[:2] if self._arguments.quick else MEMORY_COUNTS
        self._results["memory"] = side.peak_memory(self._stopwatch,
                                                   self._scratch, counts)

    def _start(self):
        self._results["start"] = side.start_time(self._stopwatch)


def merged(paths):
    """One result out of several files; a later one replaces what it has."""
    whole = None
    for path in paths:
        part = json.loads(path.read_text())
        if whole is None:
            whole = part
            continue
        for name in ("rows", "sweep", "layers", "chunks"):
            rows = part.get(name, [])
            again = {(row["tree"], row["fs"]) for row in rows}
            whole[name] = [row for row in whole.get(name, [])
                           if (row["tree"], row["fs"]) not in again]
            whole[name] += rows
        names = {tree["name"] for tree in part["trees"]}
        whole["trees"] = [tree for tree in whole["trees"]
                          if tree["name"] not in names] + part["trees"]
        for name in ("syscalls", "links", "memory", "start"):
            whole[name] = part[name] or whole[name]
        for name in ("machine", "method"):
            whole[name] = part[name]
        whole["missing"].update(part["missing"])
        whole["gaps"] += part["gaps"]
    return whole
