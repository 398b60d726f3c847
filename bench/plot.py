"""Draws results as SVG, by hand: a picture in the documents needs no more."""

import html

WIDTH, HEIGHT = 360, 240  # Of one panel.
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 34, 42
COLOURS = ["#1b6ca8", "#c8553d", "#3a7d44", "#7d5ba6", "#8a6d3b"]
ALL = 1 << 20  # A chunk this large is the whole layer.


def chunks(rows):
    """A panel for each layer and file system; a line for each width."""
    panels = {}
    for row in rows:
        _, chunk, _, workers = row["tool"].split()
        panel = panels.setdefault((row["tree"], row["fs"]), {})
        panel.setdefault(int(workers), {})[int(chunk)] = row
    columns = len({fs for _, fs in panels}) or 1
    parts = []
    for i, (key, lines) in enumerate(panels.items()):
        x, y = i % columns * WIDTH, i // columns * HEIGHT
        parts.append(f'<g transform="translate({x},{y})">'
                     f'{_panel(" on ".join(key), lines)}</g>')
    height = -(-len(panels) // columns) * HEIGHT
    return ('<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" '
            f'font-size="11" viewBox="0 0 {columns * WIDTH} {height}">\n'
            f'<rect width="100%" height="100%" fill="white"/>\n'
            + "\n".join(parts) + "\n</svg>\n")


def _panel(title, lines):
    sizes = sorted({size for line in lines.values() for size in line})
    most = max(row["median_ms"] + (row["sigma_ms"] or 0)
               for line in lines.values() for row in line.values()) * 1.05

    def x_of(size):
        step = (WIDTH - LEFT - RIGHT) / max(1, len(sizes) - 1)
        return LEFT + sizes.index(size) * step

    def y_of(value):
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / most)
    out = [_text(LEFT, 14, title, "start", "bold")]
    out += _axes(sizes, most, x_of, y_of)
    for i, (workers, line) in enumerate(sorted(lines.items())):
        colour = COLOURS[i % len(COLOURS)]
        points = " ".join(f"{x_of(size):.1f},{y_of(row['median_ms']):.1f}"
                          for size, row in sorted(line.items()))
        out.append(f'<polyline points="{points}" fill="none" '
                   f'stroke="{colour}" stroke-width="1.5"/>')
        out += [_error_bar(x_of(size), row, y_of, colour)
                for size, row in line.items()]
        out.append(_text(LEFT + 90 * i, 28,
                         f"{workers} worker{'s' * (workers > 1)}", "start",
                         colour=colour))
    return "\n".join(out)


def _axes(sizes, most, x_of, y_of):
    out = []
    for i in range(5):
        value = most * i / 4
        y = y_of(value)
        out.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" '
                   f'y2="{y:.1f}" stroke="#ddd"/>')
        out.append(_text(LEFT - 6, y + 4, f"{value:,.0f}", "end"))
    for size in sizes:
        out.append(_text(x_of(size), HEIGHT - BOTTOM + 16,
                         "all" if size >= ALL else str(size), "middle"))
    middle = (LEFT + WIDTH - RIGHT) / 2
    out.append(_text(middle, HEIGHT - 8, "entries a worker takes at a time",
                     "middle"))
    out.append(f'<text transform="translate(12,{(TOP + HEIGHT - BOTTOM) / 2})'
               ' rotate(-90)" text-anchor="middle">ms, median and sigma'
               '</text>')
    return out


def _error_bar(x, row, y_of, colour):
    sigma = row["sigma_ms"] or 0
    top, bottom = (y_of(row["median_ms"] + sigma),
                   y_of(max(0, row["median_ms"] - sigma)))
    return (f'<line x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" '
            f'y2="{bottom:.1f}" stroke="{colour}"/>'
            f'<circle cx="{x:.1f}" cy="{y_of(row["median_ms"]):.1f}" r="2.5" '
            f'fill="{colour}"/>')


def _text(x, y, text, anchor, weight="normal", colour="black"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
            f'font-weight="{weight}" fill="{colour}">{html.escape(text)}'
            '</text>')
