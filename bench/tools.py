"""What is run side by side, and how each is built or found."""

import dataclasses
import os
import pathlib
import shutil

from measure import Failed, call

BENCH = pathlib.Path(__file__).resolve().parent
ROOT = BENCH.parent
OUT = ROOT / "build" / "bench"
GOCODE = "/usr/share/gocode"

PIPE = ('tar -C "$1" --xattrs --numeric-owner -cf - . | '
        "tar -C \"$2\" --xattrs '--xattrs-include=*' --numeric-owner -xpf -")


@dataclasses.dataclass(frozen=True)
class Tool:
    name: str
    command: tuple  # SRC and DST stand for the two directories.
    needs_target: bool = False  # DST has to be there, empty.
    prints_ms: bool = False  # Its own time is the one that counts.
    only_on: tuple = ()  # File systems; none named means all.
    result: str = ""  # Where in DST the tree is, as a pattern.

    def words(self, source, target):
        run = source.with_name("run")  # For what a tool keeps meanwhile.
        places = {"SRC": str(source), "DST": str(target), "RUN": str(run),
                  "SRC/": f"{source}/", "DST/": f"{target}/",
                  "SRC/layer": f"{source}/layer",
                  "SRC/oci:latest": f"{source}/oci:latest"}
        return [places.get(word, str(word)) for word in self.command]


def build(name):
    """Builds the helper `name` into build/bench/ and returns its path."""
    OUT.mkdir(parents=True, exist_ok=True)
    if (BENCH / f"{name}.cc").exists():
        return _build_cxx(name)
    return _build_go(name)


def _build_cxx(name):
    source, program = BENCH / f"{name}.cc", OUT / name
    if not program.exists() or \
            program.stat().st_mtime < source.stat().st_mtime:
        # Static: the stopwatch is to be small, the floor to start at once.
        call(os.environ.get("CXX", "g++"), "-std=c++20", "-O2", "-static",
             "-pthread", "-o", program, source)
    return program


def _build_go(name):
    if not shutil.which("go"):
        raise Failed("Go is not installed")
    # Debian's Go packages are plain sources; nothing is downloaded.
    env = dict(os.environ, GO111MODULE="off", GOPATH=GOCODE, GOFLAGS="",
               GOCACHE=str(OUT / "go-cache"))
    call("go", "build", "-trimpath", "-o", OUT / name, ".", env=env,
         cwd=BENCH / "peers" / name)
    return OUT / name


def lamina_program():
    build_dir = os.environ.get("LAMINA_BUILD", "build/release")
    program = ROOT / build_dir / "lamina"
    if not program.exists():
        raise Failed("not built")
    return program


def chunks_program():
    build_dir = os.environ.get("LAMINA_BUILD", "build/release")
    program = ROOT / build_dir / "bench" / "chunks_bench"
    if not program.exists():
        raise Failed("chunks_bench is not built")
    return program


def pin_lamina(scratch):
    """Measures a copy of lamina: a build meanwhile must not change it."""
    try:
        shutil.copy2(lamina_program(), scratch / "lamina")
        try:
            helper = chunks_program()
            (scratch / "bench").mkdir()
            shutil.copy2(helper, scratch / "bench")
        except Failed:
            pass  # Said where it is to run.
    except (Failed, OSError):
        return  # Said again, as a gap, where it is to run.
    os.environ["LAMINA_BUILD"] = str(scratch)


def build_revision(revision):
    """Builds `lamina` as it was at `revision`; kept below build/bench/."""
    commit = call("git", "-C", ROOT, "rev-parse", "--verify",
                  f"{revision}^{{commit}}").strip()
    tree = OUT / "base" / commit[:12]
    program = tree / "build" / "release" / "lamina"
    if not program.exists():
        shutil.rmtree(tree, ignore_errors=True)
        tree.mkdir(parents=True)
        # An export instead of a work tree: nothing to unregister afterwards.
        call("sh", "-c", 'git -C "$1" archive "$2" | tar -C "$3" -xf -', "sh",
             ROOT, commit, tree)
        call("make", "-C", tree, "CONFIG=release", f"-j{os.cpu_count()}",
             "all")
    if not program.exists():
        raise Failed(f"{revision} builds no lamina")
    return program


def installed(program):
    path = shutil.which(program)
    if path is None:
        raise Failed("not installed")
    return path


def _lamina():
    return [Tool("lamina", (lamina_program(), "copy", "SRC", "DST"))]


def _cp(name):
    return [Tool(name, (installed("cp"), "-a", "--reflink=auto", "SRC",
                        "DST"))]


def _rsync():
    return [Tool("rsync", (installed("rsync"), "-aHAX", "SRC/", "DST/"),
                 needs_target=True)]


def _tar():
    installed("tar")
    return [Tool("tar", ("sh", "-c", PIPE, "sh", "SRC", "DST"),
                 needs_target=True)]


def _go(name):
    return [Tool(name, (build(name), "SRC", "DST"))]


def floor(width, way):
    """The floor as a tool; cloning is tried only where it can work."""
    return Tool(f"floor {way} {width}",
                (build("floor"), "SRC", "DST", width, way), prints_ms=True,
                only_on=("xfs", "btrfs") if way == "clone" else ())


def _floor():
    return [floor(width, way) for way in ("copy", "clone")
            for width in (1, 2)]


MAKERS = {
    "lamina": _lamina,
    "cp": lambda: _cp("cp"),
    "cp again": lambda: _cp("cp again"),
    "rsync": _rsync,
    "tar": _tar,
    "moby": lambda: _go("moby"),
    "continuity": lambda: _go("continuity"),
    "floor": _floor,
}


def make(names, base=None):
    """Returns the tools that can run and, for the others, why they cannot."""
    found, missing = [], {}
    for name in names:
        try:
            found += MAKERS[name]()
        except Failed as error:
            missing[name] = str(error)
    if base:
        try:
            found.insert(1, Tool("base", (build_revision(base), "copy", "SRC",
                                          "DST")))
        except Failed as error:
            missing["base"] = str(error)
    return found, missing
