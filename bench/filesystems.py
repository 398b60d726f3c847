"""Fresh file systems, each with the source tree on it, for one run."""

import contextlib
import os
import subprocess

from measure import Failed, call
from scratch import mount, unmount

IMAGE_BYTES = 3 << 30  # Sparse.
NAMES = ["ext4", "xfs", "btrfs", "tmpfs"]

MAKE = {
    # Lazy initialisation would go on in the background of the first runs.
    "ext4": ["mkfs.ext4", "-q", "-F", "-E",
             "lazy_itable_init=0,lazy_journal_init=0"],
    "xfs": ["mkfs.xfs", "-q", "-f", "-m", "reflink=1"],
    "btrfs": ["mkfs.btrfs", "-q", "-f"],
}


class FileSystem:
    """Mounts fresh file systems of one type, one at a time."""

    def __init__(self, name, scratch):
        self.name = name
        self._scratch = scratch
        self._point = scratch / "mnt"
        self._image = scratch / "run.img"

    @contextlib.contextmanager
    def holding(self, tree):
        """Yields a function that mounts a fresh one, with `tree` as src/.

        The image is made once and each run gets a copy of it, so every tool
        meets the same bytes in the same places.
        """
        if self.name == "tmpfs":
            yield lambda: self._fresh_tmpfs(tree)
            return
        template = self._scratch / "template.img"
        try:
            self._make_image(template)
            if not tree.fresh:
                with self._mounted(template):
                    tree.lay(self._point / "src")
            yield lambda: self._fresh_copy(template, tree)
        finally:
            template.unlink(missing_ok=True)

    def _make_image(self, path):
        with open(path, "wb") as image:
            os.truncate(image.fileno(), IMAGE_BYTES)
        call(*MAKE[self.name], path)

    @contextlib.contextmanager
    def _fresh_copy(self, template, tree):
        try:
            call("cp", "--sparse=always", template, self._image)
            with self._mounted(self._image):
                self._ready(tree, is_laid=not tree.fresh)
                yield self._point
        finally:
            self._image.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _fresh_tmpfs(self, tree):
        with self._mounted("lamina-bench", "-t", "tmpfs", "-o",
                           "size=3g,nr_inodes=0,mode=755"):
            self._ready(tree, is_laid=False)
            yield self._point

    @contextlib.contextmanager
    def _mounted(self, what, *options):
        self._point.mkdir(exist_ok=True)
        if not options:
            options = ("-t", self.name, "-o", "loop")
        try:
            mount(*options, what, self._point)
        except subprocess.CalledProcessError as error:
            reason = error.stderr.decode(errors="replace").strip()
            raise Failed(f"mount {self.name}: {reason}") from error
        try:
            yield
        finally:
            unmount(self._point)

    def _ready(self, tree, is_laid):
        """Lays the source and warms it, unless it is to be found as written."""
        source = self._point / "src"
        if not is_laid:
            tree.lay(source)
        if tree.fresh:
            return
        call("sync", "-f", self._point)
        call("sh", "-c", 'tar -cf - -C "$1" . | cat >/dev/null', "sh", source)


def count_entries(root):
    """How many inodes' names the tree at `root` holds, itself included."""
    count = 1
    pending = [root]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                count += 1
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
    return count
