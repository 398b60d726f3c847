// Takes a directory into the cache: its files' bytes into the blob store, the
// rest into a manifest.
//
// Of a file's mode the owner's execute bit is kept; owners, times and other
// attributes are not. Hard links become files of the same bytes.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "cache/file_maker.h"
#include "cache/manifest.h"

namespace lamina::cache {

// A directory of blobs that blobs can be added to. One thread at a time.
class BlobStore {
 public:
  // `blobs` is filled; `scratch`, on the same file system, holds what is not
  // finished. Both must outlive it.
  BlobStore(const Fd& blobs, const Fd& scratch)
      : blobs_(blobs),
        scratch_(scratch) {}

  // Adds the bytes of the regular file `source`, with mode 0444 and the fixed
  // time, unless they are there. Fails with ESTALE when the file changes
  // meanwhile. Errors have no subject.
  Result<archive::Digest> put(const Fd& source);

  uint64_t added() const { return added_; }
  uint64_t bytes_added() const { return bytes_; }

 private:
  Result<bool> holds(const std::string& hex);

  const Fd& blobs_;
  const Fd& scratch_;
  FileMaker maker_;
  uint64_t added_ = 0;
  uint64_t bytes_ = 0;
};

// Reads the tree below the open directory `tree`, called `shown` in errors, and
// puts its files into `store`. Symlinks are kept and not followed. Fails on
// devices, fifos and sockets, which a manifest cannot hold, and where a
// manifest's bounds are passed. The manifest is normalised.
Result<Manifest> import_tree(const Fd& tree, std::string_view shown,
                             BlobStore& store, const std::stop_token& stop);

// The digest of a regular file's bytes. Errors have no subject.
Result<archive::Digest> digest_of_file(const Fd& file);

}  // namespace lamina::cache
