"""Writes a report between the markers of docs/performance.md."""

BEGIN = "<!-- bench: begin. Written by bench/run --write-docs. -->"
END = "<!-- bench: end -->"


def replaced(text, report):
    """Returns `text` with the part between the markers replaced."""
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError("the markers are not there, each once")
    before, rest = text.split(BEGIN)
    if END not in rest:
        raise ValueError("the markers are in the wrong order")
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n\n{report}\n\n{END}{after}"


def write(path, report):
    path.write_text(replaced(path.read_text(), report))
