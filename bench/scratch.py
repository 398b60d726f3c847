"""A place for what a campaign makes, gone when it ends, however it ends.

The process enters a mount namespace of its own, so that every mount (and the
loop device behind it) goes with its last process, even after SIGKILL.
"""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

MARK = "LAMINA_BENCH_NAMESPACE"
SIZE = "4g"


def enter_namespace():
    """Starts this program again inside a new mount namespace, once."""
    # unshare(1) without --fork keeps the process id, so an inherited mark of
    # another campaign is never taken for ours.
    if os.environ.get(MARK) == str(os.getpid()):
        return
    os.environ[MARK] = str(os.getpid())
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "private",
                          sys.executable, *sys.argv])


def stop_on_signals():
    """Makes SIGTERM and SIGHUP unwind like Ctrl-C does."""
    def stop(number, _frame):
        raise SystemExit(128 + number)
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGHUP, stop)


def sweep_leftovers(parent):
    """Removes the empty directories that killed campaigns left in `parent`."""
    for path in parent.glob("lamina-bench-*"):
        # Another campaign's directory looks empty from here, because its mount
        # is in another namespace: the name tells whether its owner lives.
        owner = path.name.split("-")[2]
        if owner.isdigit() and not pathlib.Path("/proc", owner).exists():
            with contextlib.suppress(OSError):
                path.rmdir()


@contextlib.contextmanager
def scratch(parent=None):
    """Yields an empty directory: in `parent` if given, else on a tmpfs."""
    home = pathlib.Path(parent or "/dev/shm")
    home.mkdir(parents=True, exist_ok=True)
    sweep_leftovers(home)
    path = pathlib.Path(tempfile.mkdtemp(
        prefix=f"lamina-bench-{os.getpid()}-", dir=home))
    mounted = False
    try:
        if parent is None:
            mount("-t", "tmpfs", "-o", f"size={SIZE},mode=755", "lamina-bench",
                  path)
            mounted = True
        yield path
    finally:
        if mounted:
            unmount(path)
        else:
            subprocess.run(["rm", "-rf", "--one-file-system", path],
                           check=False)
        with contextlib.suppress(OSError):
            path.rmdir()


def mount(*arguments):
    subprocess.run(["mount", *map(str, arguments)], check=True,
                   capture_output=True)


def unmount(path):
    """Unmounts `path`, in the background where something still holds it."""
    done = subprocess.run(["umount", path], check=False, capture_output=True)
    if done.returncode != 0:
        subprocess.run(["umount", "--lazy", path], check=False,
                       capture_output=True)
