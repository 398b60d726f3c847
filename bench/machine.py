"""Names the machine and the tools, without anything that names its place."""

import os
import pathlib
import re
import shutil

from measure import Failed, call
from tools import ROOT

VERSION = re.compile(r"\d+(?:\.\d+)+\S*")
PACKAGES = {"moby": "golang-github-docker-docker-dev",
            "continuity": "golang-github-containerd-continuity-dev"}
PROGRAMS = {
    "cp (coreutils)": ["cp", "--version"],
    "rsync": ["rsync", "--version"],
    "tar": ["tar", "--version"],
    "bsdtar": ["bsdtar", "--version"],
    "umoci": ["umoci", "--version"],
    "buildah": ["buildah", "--version"],
    "gzip": ["gzip", "--version"],
    "zstd": ["zstd", "--version"],
    "go": ["go", "version"],
    "e2fsprogs": ["sh", "-c", "mkfs.ext4 -V 2>&1"],
    "xfsprogs": ["mkfs.xfs", "-V"],
    "btrfs-progs": ["mkfs.btrfs", "--version"],
    "g++": ["g++", "-dumpfullversion"],
}


def describe():
    return {"cpu": _cpu(), "cores": len(os.sched_getaffinity(0)),
            "kernel": _version(os.uname().release).split("-")[0],
            "memory_gib": _memory_gib(), "tools": _tools()}


def _cpu():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    found = re.search(r"^model name\s*:\s*(.*)$", text, re.M)
    return found.group(1).strip() if found else os.uname().machine


def _memory_gib():
    text = pathlib.Path("/proc/meminfo").read_text()
    return round(int(re.search(r"MemTotal:\s*(\d+)", text).group(1)) / 2**20)


def _tools():
    found = {"lamina": _lamina()}
    for name, command in PROGRAMS.items():
        if shutil.which(command[0]):
            found[name] = _ask(*command)
    for name, package in PACKAGES.items():
        found[name] = _ask("dpkg-query", "-W", "-f", "${Version}", package)
    return {name: version for name, version in found.items() if version}


def _lamina():
    commit = _text("git", "-C", ROOT, "rev-parse", "--short=12", "HEAD")
    version = (ROOT / "VERSION").read_text().strip() \
        if (ROOT / "VERSION").exists() else ""
    return " ".join(part for part in (version, commit and f"({commit})")
                    if part)


def _ask(*command):
    return _version(_text(*command))


def _text(*command):
    try:
        return call(*command).strip()
    except Failed:
        return ""


def _version(text):
    found = VERSION.search(text)
    return found.group(0).rstrip(",;)") if found else ""
