"""Layer tarballs to apply, beside what a user would apply them with."""

import dataclasses
import hashlib
import json
import pathlib
import shutil

import cell
import tools
import trees
from filesystems import FileSystem
from measure import Failed, call

FILE_SYSTEMS = ["ext4", "xfs", "tmpfs"]
NAMES = ["rootfs.tar", "rootfs.tar.gz", "rootfs.tar.zst", "node.tar.gz"]
SMALL = ["small.tar", "small.tar.gz", "small.tar.zst"]
PACK = {"": None, ".gz": ["gzip", "-6", "-n", "-c"],
        ".zst": ["zstd", "-q", "-3", "-c"]}
MEDIA = {"": "", ".gz": "+gzip", ".zst": "+zstd"}
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


@dataclasses.dataclass(frozen=True)
class Layer:
    """Stands where a tree does: laid down, it is the blob and an image."""

    name: str
    blob: pathlib.Path
    diff_id: str
    entries: int
    fresh: bool = False

    def lay(self, directory):
        """Makes directory/layer and, with the same blob, directory/oci."""
        directory.mkdir()
        shutil.copyfile(self.blob, directory / "layer")
        self._image(directory / "oci", directory / "layer")

    def _image(self, layout, blob):
        blobs = layout / "blobs" / "sha256"
        blobs.mkdir(parents=True)

        def put(data, kind):
            data = json.dumps(data).encode()
            digest = hashlib.sha256(data).hexdigest()
            (blobs / digest).write_bytes(data)
            return {"mediaType": kind, "digest": f"sha256:{digest}",
                    "size": len(data)}
        digest = digest_of(blob)
        (blobs / digest.split(":")[1]).hardlink_to(blob)
        packing = self.name[self.name.index(".tar") + len(".tar"):]
        layer = {"mediaType": LAYER + MEDIA[packing], "digest": digest,
                 "size": blob.stat().st_size}
        config = put({"architecture": "amd64", "os": "linux", "config": {},
                      "rootfs": {"type": "layers",
                                 "diff_ids": [self.diff_id]}}, CONFIG)
        manifest = put({"schemaVersion": 2, "mediaType": MANIFEST,
                        "config": config, "layers": [layer]}, MANIFEST)
        manifest["annotations"] = {"org.opencontainers.image.ref.name":
                                   "latest"}
        (layout / "index.json").write_text(json.dumps(
            {"schemaVersion": 2, "manifests": [manifest]}))
        (layout / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')


def digest_of(path):
    with open(path, "rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def make(name, scratch, cache):
    """Makes the layer `name`, as "node.tar.gz": a tree, packed."""
    tree_name, packing = name.split(".tar")
    tree = trees.make(tree_name, scratch, cache)
    blob = tree.tar
    if PACK[packing]:
        if not shutil.which(PACK[packing][0]):
            raise Failed(f"{PACK[packing][0]} is not installed")
        blob = scratch / name
        call("sh", "-c", '"$@" <"$IN" >"$OUT"', "sh", *PACK[packing],
             env={"PATH": "/usr/bin:/bin", "IN": tree.tar, "OUT": blob})
    return Layer(name, blob, digest_of(tree.tar), tree.entries)


def _lamina():
    return [tools.Tool("lamina", (tools.lamina_program(), "apply", "SRC/layer",
                                  "DST"))]


def _tar():
    return [tools.Tool("tar", (tools.installed("tar"), "--xattrs",
                               "--xattrs-include=*", "--numeric-owner", "-C",
                               "DST", "-xpf", "SRC/layer"),
                       needs_target=True)]


def _bsdtar():
    return [tools.Tool("bsdtar", (tools.installed("bsdtar"), "--numeric-owner",
                                  "-C", "DST", "-xpf", "SRC/layer"),
                       needs_target=True)]


def _umoci():
    return [tools.Tool("umoci", (tools.installed("umoci"), "raw", "unpack",
                                 "--image", "SRC/oci:latest", "DST"))]


def _storage():
    """containers/storage as buildah uses it; its layer is one directory."""
    tools.installed("buildah")
    # From inside: it names the image after the path, and takes few for names.
    command = ("sh", "-c", 'cd "$1" && exec buildah --root "$2" --runroot "$3" '
               "--storage-driver overlay pull -q oci:oci:latest", "sh", "SRC",
               "DST", "RUN")
    return [tools.Tool("storage", command, needs_target=True,
                       result="overlay/*/diff")]


MAKERS = {"lamina": _lamina, "tar": _tar, "bsdtar": _bsdtar, "umoci": _umoci,
          "storage": _storage}


def find_tools():
    """The tools that can run and, for the others, why they cannot."""
    found, missing = [], {}
    for name, maker in MAKERS.items():
        try:
            found += maker()
        except Failed as error:
            missing[f"{name} (layers)"] = str(error)
    return found, missing


def measure(layer, filesystem, scratch, rounds, stopwatch):
    """Rows and gaps of one layer on one file system."""
    found, _ = find_tools()
    return cell.measure(FileSystem(filesystem, scratch), layer, found, rounds,
                        stopwatch)


def sweep_tools(chunks=(1, 32, 64, 128, 1 << 20), workers=(1, 2, 4)):
    """Every chunk size with every number of workers."""
    program = tools.chunks_program()
    return [tools.Tool(f"chunk {chunk} workers {count}",
                       (program, str(chunk), str(count), "SRC/layer", "DST"))
            for chunk in chunks for count in workers]


def sweep(layer, filesystem, scratch, rounds, stopwatch):
    return cell.measure(FileSystem(filesystem, scratch), layer, sweep_tools(),
                        rounds, stopwatch)
