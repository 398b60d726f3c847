"""Results as Markdown."""

import re

import bounds
from tools import ROOT

LAYERS = ["rootfs.tar", "rootfs.tar.gz", "rootfs.tar.zst", "node.tar.gz"]
LAYER_TOOLS = ["lamina", "tar", "bsdtar", "umoci", "storage"]
ORDER = ["lamina", "base", "floor", "cp", "cp again", "rsync", "tar", "moby",
         "continuity"]
TREES = ["busybox", "node", "fresh", "rootfs", "small"]
SYSTEMS = ["ext4", "xfs", "btrfs", "tmpfs"]


def rank(value, order):
    return order.index(value) if value in order else len(order)


NUMBER = re.compile(r"-|(<= )?[\d.,]+")


def table(heads, rows):
    """A Markdown table, columns of numbers to the right."""
    rows = [[str(cell) for cell in row] for row in rows]
    rules = []
    for i in range(len(heads)):
        numbers = all(NUMBER.fullmatch(row[i]) for row in rows)
        rules.append(" ---: " if numbers else " --- ")
    lines = ["| " + " | ".join(heads) + " |", "|" + "|".join(rules) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def number(value, digits=1):
    return "-" if value is None else f"{value:,.{digits}f}"


def machine(results):
    facts = results["machine"]
    versions = ", ".join(f"{name} {version}"
                         for name, version in facts["tools"].items())
    return (f"{facts['cpu']}, {facts['cores']} CPUs, "
            f"{facts['memory_gib']} GiB, Linux {facts['kernel']}; "
            f"{results['method']['date']}, load when it began "
            f"{results['method']['load']}.\n\n"
            f"Tools: {versions}.")


def tree_table(results):
    return table(["tree", "what", "entries", "MB in files"],
                 [[tree["name"], tree["what"], f"{tree['entries']:,}",
                   number(tree["content"] / 1e6)]
                  for tree in results["trees"]])


def main_table(results):
    rows = list(results["rows"])
    floors = bounds.best_floors(rows)
    rows = [row for row in rows if not row["tool"].startswith("floor ")]
    rows += floors.values()
    rows.sort(key=lambda row: (rank(row["tree"], TREES),
                               rank(row["fs"], SYSTEMS),
                               rank(row["tool"], ORDER)))
    return table(
        ["tree", "file system", "tool", "median ms", "sigma", "user ms",
         "system ms", "peak MiB", "minor faults", "voluntary switches",
         "involuntary"],
        [[row["tree"], row["fs"], row.get("variant", row["tool"]),
          number(row["median_ms"]), number(row["sigma_ms"]),
          number(row["user_ms"]), number(row["system_ms"]),
          number(row["peak_kib"] / 1024), f"{row['minor_faults']:,}",
          f"{row['voluntary']:,}", f"{row['involuntary']:,}"]
         for row in rows])


def ratio_table(results, tool="lamina"):
    """One row per cell that `tool` is in: its time over each other's."""
    found = bounds.ratios(results["rows"], tool)
    noise = bounds.noise(results["rows"])
    peers = [peer for peer in ORDER
             if any(row["peer"] == peer for row in found)
             and peer != "cp again"]
    keys = sorted({(row["tree"], row["fs"]) for row in found},
                  key=lambda key: (rank(key[0], TREES),
                                   rank(key[1], SYSTEMS)))
    by_key = {(row["tree"], row["fs"], row["peer"]): row["ratio"]
              for row in found}
    return table(
        ["tree", "file system", *[f"{tool} / {peer}" for peer in peers],
         "noise: cp again / cp"],
        [[*key, *[number(by_key.get((*key, peer)), 2) for peer in peers],
          number(noise.get(key), 2)] for key in keys])


def bound_rows(results):
    rows = [[f"{row['tree']} on {row['fs']}, lamina / {row['peer']}",
             number(row["ratio"], 3), f"<= {row['bound']}", row["verdict"]]
            for row in sorted(bounds.ratios(results["rows"]),
                              key=lambda row: (rank(row["peer"], ORDER),
                                               rank(row["tree"], TREES),
                                               rank(row["fs"], SYSTEMS)))
            if row["bound"] is not None]
    rows += [[f"apply {row['tree']} on {row['fs']}, lamina / {row['peer']}, "
              f"{row['what']}", number(row["ratio"], 3),
              f"<= {row['bound']}", row["verdict"]]
             for row in bounds.layer_ratios(results.get("layers", []))
             if row["bound"] is not None]
    rows += [[row["what"], number(row["value"], 3), f"<= {row['bound']}",
              row["verdict"]] for row in bounds.single_verdicts(results)]
    return rows


def calls_table(results):
    tools = [row["tool"] for row in results["syscalls"]]
    names = {row["tool"]: row["per_name"] for row in results["links"]}
    trees = sorted({row["tree"] for row in results["syscalls"]})
    per = {(row["tree"], row["tool"]): row["per_entry"]
           for row in results["syscalls"]}
    tools = list(dict.fromkeys([*tools, *names]))
    return table(
        ["tool", *[f"per entry of {tree}" for tree in trees],
         "per further name of a hard link"],
        [[tool, *[number(per.get((tree, tool))) for tree in trees],
          number(names.get(tool), 2)] for tool in tools])


def memory_table(results):
    return table(
        ["files", "directories", "peak MiB, one worker", "width of the table",
         "eight workers"],
        [[f"{row['files']:,}", f"{row['directories']:,}",
          *[number(row[key] / 1024)
            for key in ("one_kib", "table_kib", "eight_kib")]]
         for row in results["memory"]])


def sweep_table(results):
    """A row per tree, file system and tool; a column per width."""
    grid, widths = {}, set()
    for row in results["sweep"]:
        tool, width = row["tool"].rsplit(" ", 1)
        widths.add(int(width))
        key = (row["tree"], row["fs"], tool)
        grid.setdefault(key, {})[int(width)] = row["median_ms"]
    keys = sorted(grid, key=lambda key: (rank(key[0], TREES),
                                         rank(key[1], SYSTEMS), key[2]))
    rows = []
    for key in keys:
        best = min(grid[key], key=grid[key].get)
        rows.append([*key, *[number(grid[key].get(width))
                             for width in sorted(widths)], best])
    return table(["tree", "file system", "tool",
                  *[f"{width}, ms" for width in sorted(widths)], "best"],
                 rows)


def layer_table(results):
    rows = sorted(results["layers"],
                  key=lambda row: (rank(row["tree"], LAYERS),
                                   rank(row["fs"], SYSTEMS),
                                   rank(row["tool"], LAYER_TOOLS)))
    ratio = {(row["tree"], row["fs"], row["peer"], row["what"]): row["ratio"]
             for row in bounds.layer_ratios(rows)}
    return table(
        ["layer", "file system", "tool", "median ms", "sigma", "user ms",
         "system ms", "peak MiB", "lamina / it, wall", "lamina / it, CPU"],
        [[row["tree"], row["fs"], row["tool"], number(row["median_ms"]),
          number(row["sigma_ms"]), number(row["user_ms"]),
          number(row["system_ms"]), number(row["peak_kib"] / 1024),
          *[number(ratio.get((row["tree"], row["fs"], row["tool"], what)), 2)
            for what in ("wall", "cpu")]]
         for row in rows])


def chunk_table(results):
    """A row per layer, file system and workers; a column per chunk size."""
    grid, sizes = {}, set()
    for row in results["chunks"]:
        _, chunk, _, workers = row["tool"].split()
        sizes.add(int(chunk))
        key = (row["tree"], row["fs"], int(workers))
        grid.setdefault(key, {})[int(chunk)] = row
    keys = sorted(grid, key=lambda key: (rank(key[0], LAYERS),
                                         rank(key[1], SYSTEMS), key[2]))
    return table(["layer", "file system", "workers",
                  *["all, ms" if size >= 1 << 20 else f"{size}, ms"
                    for size in sorted(sizes)]],
                 [[*key, *[number(grid[key][size]["median_ms"])
                           if size in grid[key] else "-"
                           for size in sorted(sizes)]] for key in keys])


def gap_list(results):
    lines = [f"- {name}: {reason}"
             for name, reason in results["missing"].items()]
    lines += [f"- {gap['tool']}, {gap['tree']} on {gap['fs']}: "
              f"{gap['reason']}" for gap in results["gaps"]]
    return without_places("\n".join(lines))


def without_places(text):
    """Leaves out where on this machine, or on which server, it happened."""
    text = re.sub(r"\S*/lamina-bench-[^/\s]*/?", "", text)
    text = re.sub(r"https?://\S+", "the archive", text)
    return text.replace(f"{ROOT}/", "")


def render(results):
    """The whole report; parts that were not measured are left out."""
    parts = [("The machine", machine(results))]
    if results["trees"]:
        parts.append(("Trees", tree_table(results)))
    bound = bound_rows(results)
    if bound:
        parts.append(("What Lamina has to reach",
                      table(["what", "measured", "bound", ""], bound)))
    if any(row["tool"] == "lamina" for row in results["rows"]):
        parts.append(("Ratios", ratio_table(results)))
    if any(row["tool"] == "base" for row in results["rows"]):
        parts.append(("Against the revision "
                      f"{results['method'].get('base', '')}",
                      ratio_table(results, "base")))
    if results["rows"]:
        fewest = min(row["runs"] for row in results["rows"])
        parts.append((f"Times, rounds: {fewest}", main_table(results)))
    if results["syscalls"] or results["links"]:
        parts.append(("System calls, one worker, xfs", calls_table(results)))
    if results["memory"]:
        parts.append(("Peak memory, empty files on tmpfs",
                      memory_table(results)))
    if results["sweep"]:
        parts.append(("Widths", sweep_table(results)))
    if results.get("layers"):
        parts.append(("Layers applied", layer_table(results)))
    if results.get("chunks"):
        parts.append(("Entries a worker takes at a time",
                      chunk_table(results)))
    if results["start"]:
        start = results["start"]
        parts.append(("Starting up",
                      f"`lamina --version` takes {start['median_ms']:.1f} ms "
                      f"(median of {start['runs']}; best "
                      f"{start['best_ms']:.1f})."))
    if gap_list(results):
        parts.append(("Gaps", gap_list(results)))
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in parts)
