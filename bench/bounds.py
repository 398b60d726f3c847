"""What Lamina has to reach, and whether the measured rows say that it does."""

DISKS = ("ext4", "xfs", "btrfs")
REAL = ("node", "rootfs")
ALL = ("busybox", "node", "fresh", "rootfs")

# (peer, file systems, trees, bound): time over the peer's.
RATIOS = [
    ("floor", DISKS, ALL, 1.15),
    ("floor", ("tmpfs",), ALL, 1.3),
    ("cp", ("ext4", "xfs", "tmpfs"), REAL, 0.55),
    ("cp", ("btrfs",), REAL, 0.7),
    ("moby", ("ext4", "xfs", "tmpfs"), ALL, 0.45),
    ("moby", ("btrfs",), ALL, 0.55),
]
# (peer, what, bound) for rootfs.tar.gz, both digests computed.
LAYER_RATIOS = [
    ("tar", "wall", 0.38), ("tar", "cpu", 0.45),
    ("bsdtar", "wall", 0.6), ("bsdtar", "cpu", 0.95),
    ("umoci", "wall", 0.4), ("storage", "wall", 0.4),
]
CALLS_PER_ENTRY = 8.6
CALLS_PER_NAME = 1.1
START_MS = 5.0


def best_floors(rows):
    """One row per cell for the floor: the best of its widths and ways."""
    best = {}
    for row in rows:
        if not row["tool"].startswith("floor "):
            continue
        key = (row["tree"], row["fs"])
        if key not in best or row["median_ms"] < best[key]["median_ms"]:
            best[key] = dict(row, tool="floor", variant=row["tool"])
    return best


def cells(rows):
    """{(tree, fs): {tool: median}} with the best floor as "floor"."""
    table = {}
    for row in [*rows, *best_floors(rows).values()]:
        cell = table.setdefault((row["tree"], row["fs"]), {})
        cell[row["tool"]] = row["median_ms"]
    return table


def bound_for(peer, filesystem, tree):
    for name, filesystems, trees, bound in RATIOS:
        if name == peer and filesystem in filesystems and tree in trees:
            return bound
    return None


def verdict(value, bound):
    if bound is None:
        return ""
    if value <= bound:
        return "holds"
    return f"falls short by {value - bound:.3g}"


def ratios(rows, tool="lamina"):
    """Every ratio of `tool` to another one, with its bound and verdict."""
    found = []
    for (tree, filesystem), cell in cells(rows).items():
        if tool not in cell:
            continue
        for peer, median in cell.items():
            if peer == tool or peer.startswith("floor "):
                continue
            ratio = cell[tool] / median
            bound = bound_for(peer, filesystem, tree)
            found.append({"tree": tree, "fs": filesystem, "peer": peer,
                          "ratio": round(ratio, 3), "bound": bound,
                          "verdict": verdict(ratio, bound)})
    return found


def noise(rows):
    """cp under its second name over cp under its first, per cell."""
    return {key: round(cell["cp again"] / cell["cp"], 3)
            for key, cell in cells(rows).items()
            if "cp" in cell and "cp again" in cell}


def cost(row, what):
    """The wall time of a row, or the processor time."""
    if what == "wall":
        return row["median_ms"]
    return row["user_ms"] + row["system_ms"]


def layer_ratios(rows, tool="lamina"):
    """Every ratio of `tool` to another one applying the same layer."""
    found = []
    ours = {(row["tree"], row["fs"]): row for row in rows
            if row["tool"] == tool}
    for row in rows:
        own = ours.get((row["tree"], row["fs"]))
        if row["tool"] == tool or own is None:
            continue
        for what in ("wall", "cpu"):
            bound = next((bound for peer, kind, bound in LAYER_RATIOS
                          if (peer, kind) == (row["tool"], what)
                          and row["tree"] == "rootfs.tar.gz"), None)
            ratio = cost(own, what) / cost(row, what)
            found.append({"tree": row["tree"], "fs": row["fs"],
                          "peer": row["tool"], "what": what,
                          "ratio": round(ratio, 3), "bound": bound,
                          "verdict": verdict(ratio, bound)})
    return found


def single_verdicts(results):
    """The bounds that are not ratios of two times."""
    found = []

    def add(what, value, bound):
        found.append({"what": what, "value": value, "bound": bound,
                      "verdict": verdict(value, bound)})
    for row in results.get("syscalls", []):
        if row["tool"] == "lamina" and row["tree"] == "node":
            add("system calls per entry", row["per_entry"], CALLS_PER_ENTRY)
    for row in results.get("links", []):
        if row["tool"] == "lamina":
            add("system calls per further name of a hard link",
                row["per_name"], CALLS_PER_NAME)
    if results.get("start"):
        add("`lamina --version`, ms", results["start"]["median_ms"], START_MS)
    return found
