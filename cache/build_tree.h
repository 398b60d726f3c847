// Makes the tree that a manifest describes, linking blobs where they can be.
//
// A file becomes another name of its blob when the blob has mode 0444, of its
// executable variant when it is to be executed. What cannot be linked (no such
// file, EXDEV, EMLINK, EPERM, another mode) is copied and counted; empty files
// and files with a mode or time of their own always have inodes of their own.
// Directories have mode 0755. Blobs are never changed.
#pragma once

#include <cstdint>
#include <stop_token>

#include "base/error.h"
#include "base/fd.h"
#include "cache/blobs.h"
#include "cache/index.h"
#include "cache/manifest.h"
#include "cache/variants.h"

namespace lamina::cache {

struct BuiltTree {
  TreeFacts facts;
  uint64_t linked = 0;    // Files that share an inode with a blob or a variant.
  uint64_t copied = 0;    // Those that should have.
  uint64_t own = 0;       // Those that never do.
  uint64_t variants = 0;  // Made for this tree.
  uint64_t bytes_copied = 0;  // Of those with inodes of their own.
};

// Fills the empty directory `root`. Requires a normalised manifest. Without
// `variants` executables are copied. Fails with ENOENT and the digest when a
// blob is not to be had, and with the blob's size when it is not the
// manifest's; then what was made is left for the caller to remove.
Result<BuiltTree> build_tree(const Manifest& manifest, BlobSource& blobs,
                             Variants* variants, const Fd& root,
                             const std::stop_token& stop);

}  // namespace lamina::cache
