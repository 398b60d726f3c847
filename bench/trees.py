"""The trees that are copied, each kept as a tar until a campaign needs it."""

import dataclasses
import io
import os
import pathlib
import random
import shutil
import tarfile

from measure import Failed, call

SUITE = "bookworm"
PACKAGES = "perl,python3,git"
WHEN = 1_700_000_000  # Every entry's time, so that a tree is the same each day.


@dataclasses.dataclass(frozen=True)
class Tree:
    name: str
    what: str
    tar: pathlib.Path
    entries: int  # The root counts.
    content: int  # Bytes in regular files, each inode once.
    fresh: bool = False  # Written just before the copy and not flushed.

    def lay(self, directory):
        """Unpacks the tree below `directory`, which is made."""
        directory.mkdir()
        call("tar", "-C", directory, "--xattrs", "--xattrs-include=*",
             "--numeric-owner", "-xpf", self.tar)


class _Writer:
    """Writes one tar and counts what went in."""

    def __init__(self, path):
        self._tar = tarfile.open(path, "w", format=tarfile.GNU_FORMAT)
        self.entries = 0
        self.content = 0

    def directory(self, name):
        self._add(name, tarfile.DIRTYPE, 0o755)

    def file(self, name, data, mode=0o644):
        self._add(name, tarfile.REGTYPE, mode, data)
        self.content += len(data)

    def link(self, name, first):
        self._add(name, tarfile.LNKTYPE, 0o755, linkname=first)

    def close(self):
        self._tar.close()

    def _add(self, name, kind, mode, data=b"", linkname=""):
        info = tarfile.TarInfo(name)
        info.type = kind
        info.mode = mode
        info.mtime = WHEN
        info.size = len(data)
        info.linkname = linkname
        self._tar.addfile(info, io.BytesIO(data))
        self.entries += 1


def small_files(path, files, directories, seed=1):
    """Files of 600 to 4,000 bytes, spread over directories three deep."""
    dice = random.Random(seed)
    writer = _Writer(path)
    writer.directory(".")
    writer.directory("./node_modules")
    names = []
    for i in range(directories):
        # A package, then directories inside packages that are there already.
        parent = "./node_modules"
        if i % 4 != 0:
            parent = dice.choice(names[-8:])
            if parent.count("/") > 4:
                parent = parent.rsplit("/", 1)[0]
        names.append(f"{parent}/d{i:04}")
        writer.directory(names[-1])
    for i in range(files):
        data = dice.randbytes(dice.randint(600, 4000))
        writer.file(f"{dice.choice(names)}/f{i:05}.js", data)
    writer.close()
    return writer


def linked_names(path, names):
    """The busybox binary and `names` hard links to it, in one directory."""
    binary = pathlib.Path(shutil.which("busybox") or "").resolve()
    if not binary.is_file():
        raise Failed("busybox-static is not installed")
    writer = _Writer(path)
    writer.directory(".")
    writer.file("./busybox", binary.read_bytes(), 0o755)
    for name in names:
        writer.link(f"./{name}", "./busybox")
    writer.close()
    return writer


def _busybox(scratch, _cache):
    names = [name for name in call("busybox", "--list").split()
             if name != "busybox"]
    tar = scratch / "busybox.tar"
    made = linked_names(tar, names)
    return Tree("busybox", f"one binary under {made.entries - 1} names", tar,
                made.entries, made.content)


def _node(scratch, _cache):
    tar = scratch / "node.tar"
    made = small_files(tar, 28_000, 3_500)
    return Tree("node", "28,000 files of 600 to 4,000 bytes in 3,500 "
                "directories", tar, made.entries, made.content)


def _fresh(scratch, cache):
    tree = _node(scratch, cache)
    return dataclasses.replace(
        tree, name="fresh", fresh=True,
        what="the node tree, written just before the copy and not flushed")


def _small(scratch, _cache):
    tar = scratch / "small.tar"
    made = small_files(tar, 2_000, 250)
    return Tree("small", "2,000 files of 600 to 4,000 bytes in 250 "
                "directories", tar, made.entries, made.content)


def _rootfs(scratch, cache):
    tar = cache / f"rootfs-{SUITE}.tar"
    if not tar.exists():
        _debootstrap(scratch / "rootfs", tar)
    entries, content = 0, 0
    with tarfile.open(tar) as archive:
        for member in archive:
            entries += 1
            content += member.size if member.isreg() else 0
    return Tree("rootfs", f"debootstrap --variant=minbase {SUITE} with "
                f"{PACKAGES}", tar, entries, content)


def _debootstrap(root, tar):
    """Fills `tar` with a root file system from the archive that apt uses."""
    env = dict(os.environ, LC_ALL="C", DEBIAN_FRONTEND="noninteractive")
    proxy = call("sh", "-c", "apt-config shell P Acquire::http::Proxy && "
                 "true").strip().removeprefix("P=").strip("'")
    if proxy and proxy != "DIRECT":
        env["http_proxy"] = proxy
    try:
        call("debootstrap", "--variant=minbase", f"--include={PACKAGES}",
             SUITE, root, _archive(), env=env)
        unfinished = tar.with_suffix(".part")
        call("tar", "-C", root, "--xattrs", "--xattrs-include=*",
             "--numeric-owner", "-cpf", unfinished, ".")
        unfinished.rename(tar)
    finally:
        call("rm", "-rf", "--one-file-system", root)


def _archive():
    """The address of the Debian archive in apt's configuration."""
    lines = call("apt-get", "indextargets", "--format",
                 "$(RELEASE) $(COMPONENT) $(REPO_URI)",
                 "Created-By: Packages").splitlines()
    for line in lines:
        release, component, address = line.split(" ", 2)
        if release == SUITE and component == "main":
            return address
    raise Failed(f"apt's configuration names no archive of {SUITE}")


MAKERS = {"busybox": _busybox, "node": _node, "rootfs": _rootfs,
          "fresh": _fresh, "small": _small}


def make(name, scratch, cache):
    """Makes the tree `name`, or fails saying what it lacks."""
    return MAKERS[name](scratch, cache)
