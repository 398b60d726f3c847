// Applies a layer tarball to a directory: what is in it, and what it hides.
//
// One thread reads the archive and does everything that changes names, in the
// archive's order; bodies of regular files are written and finished by the pool
// that all requests of the process share, in chunks, without being copied. The
// layer is hostile until proven otherwise: no path is resolved by the kernel, a
// parent that is a symlink resolves inside the root, no final symlink is
// followed, nothing is written through an existing name.
//
// Changes nothing process-wide and logs nothing. Any number of threads may
// apply at once, to different roots.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "archive/decode_stream.h"
#include "archive/digest.h"
#include "archive/source.h"
#include "base/error.h"
#include "base/id_map.h"
#include "base/path.h"
#include "copy/options.h"

namespace lamina::archive {

class LayerRoot;

// What becomes of ".wh." names (OCI image specification, layer.md).
enum class Whiteouts {
  remove,   // They remove what lower layers put there.
  overlay,  // They become overlayfs's own marks (an upper directory).
  keep,     // They stay files with that name; malformed ones are refused.
  none,     // They are names like others: the archive is no layer.
};

struct ApplyOptions {
  // Behaviour.
  Whiteouts whiteouts = Whiteouts::remove;
  copy::Owner owner = copy::Owner::keep;
  IdMap uid_map;
  IdMap gid_map;
  // Besides, security.selinux, trusted.* and overlay's own are never taken from
  // a layer; they are dropped and counted.
  copy::Xattrs xattrs = copy::Xattrs::image;
  copy::Loss loss = copy::Loss::refused;
  // What a failed apply leaves in a root that it made or found empty.
  copy::Leftovers leftovers = copy::Leftovers::removed;
  // Leading components of every name to be left out; names with fewer are
  // skipped.
  unsigned strip = 0;

  // The layers below, the lowest first, where they are not in the root: not for
  // Whiteouts::remove. A hard link to a file of theirs copies it into the root,
  // so that both names are one inode; directories that the layer only implies
  // are as they are below.
  std::vector<std::shared_ptr<const Fd>> lower;

  // What the layer must be.
  std::optional<Digest> expect_diff_id;  // Unpacked.
  std::optional<Digest> expect_digest;   // As it comes.

  // Limits; all of it by default.
  uint64_t max_bytes = std::numeric_limits<uint64_t>::max();
  uint64_t max_entries = std::numeric_limits<uint64_t>::max();
  uint64_t max_ratio = std::numeric_limits<uint64_t>::max();
  int window_log = kWindowLog;

  // Performance. 0 workers: as for a copy (copy/width.h). A chunk is what a
  // worker takes at a time.
  unsigned workers = 0;
  unsigned chunk_entries = 64;

  // Control.
  std::stop_token stop;
  // Counted up by the bytes of the layer that were used; may be null.
  std::atomic<uint64_t>* bytes_in = nullptr;

  // Seams; null for the real ones.
  Kernel* kernel = nullptr;
  WorkerPool* pool = nullptr;
};

struct ApplyReport {
  uint64_t entries = 0;  // Of the archive.
  uint64_t files = 0;
  uint64_t directories = 0;
  uint64_t symlinks = 0;
  uint64_t hard_links = 0;
  uint64_t specials = 0;
  uint64_t whiteouts = 0;       // Opaque marks counted.
  uint64_t copied_up = 0;       // From lower layers, for hard links.
  uint64_t skipped = 0;         // By strip, or leftovers of AUFS.
  uint64_t bytes = 0;           // Sizes of the files.
  uint64_t bytes_in = 0;        // Of the blob,
  uint64_t bytes_out = 0;       // and unpacked.
  uint64_t dropped_xattrs = 0;  // Never taken from a layer, or not asked for.
  uint64_t forgiven_owners = 0;
  uint64_t forgiven_xattrs = 0;
  uint64_t forgiven_specials = 0;
  uint64_t forgiven_modes = 0;
  std::string first_forgiven;
  Digest diff_id;
  Digest digest;
  unsigned workers = 1;
  std::chrono::duration<double> seconds{0};
};

// Applies the layer that `source` holds to `root`, which is made if it is
// absent (0755). The error is the first in the archive's order at any number of
// workers, and names the entry. A failed apply to a root that was absent or
// empty leaves it so, with its own attributes; into one that held something it
// says how many entries were applied, and leaves them.
Result<ApplyReport> apply_layer(Source& source, const NamePlace& root,
                                const ApplyOptions& options = {});

// One of several layers, on a root that the caller opened, and gives up when
// it fails.
Result<ApplyReport> apply_next_layer(Source& source, LayerRoot& root,
                                     const ApplyOptions& options);

// Takes back what was made in `root`, or finishes it where it is to stay, and
// says so in the error. `applied`: what it holds, "5 entries".
Error give_up(LayerRoot& root, const ApplyOptions& options, Error error,
              std::string_view applied);

// The seam of the options, or the real kernel.
Kernel& kernel_of(const ApplyOptions& options);

}  // namespace lamina::archive
