// One entry of a tar: what a name is to become. Given out by the TarReader,
// taken by the TarWriter.
//
// Names and attribute values are slices of where they lie: of a slab, of the
// reader's own store, or of memory that somebody else keeps. An entry holds
// shares in the first two, so it may be moved into a job or kept while its body
// flows by; but it holds up the ring of slabs as long as it lives (slab.h).
// A value; one thread at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/pax.h"
#include "archive/slab.h"

namespace lamina::archive {

enum class EntryType {
  file,
  hard_link,
  symlink,
  char_device,
  block_device,
  directory,
  fifo
};

// Text that does not lie in one piece in a slab: a name put together or
// cleaned, a meta body that crossed the edge of a slab.
struct TarText {
  std::string pax;
  std::string long_name;
  std::string long_link;
  std::string joined;
  std::string path;
  std::string link;
};

struct TarEntry {
  // Which entry of the archive this is, from 0. The order of errors.
  uint64_t ordinal = 0;
  EntryType type = EntryType::file;

  // Clean and within the root, "." for the root itself (see tar_name.h).
  // Without a slash at the end, of a directory too.
  std::string_view path;
  // Of a symlink the target, byte for byte. Of a hard link the clean path of
  // the other name, within the root.
  std::string_view link;

  mode_t mode = 0;  // Permission, set-id and sticky bits only.
  uid_t uid = 0;
  gid_t gid = 0;
  timespec mtime = {};
  std::optional<timespec> atime;
  uint32_t dev_major = 0;  // Of a device, else 0.
  uint32_t dev_minor = 0;

  // Bytes of the file; 0 for what is not one.
  uint64_t size = 0;
  // Bytes of the body: of a sparse file fewer than its size.
  uint64_t stored = 0;

  // By name, each name once, no value empty.
  std::vector<Xattr> xattrs;

  // What keeps the above alive.
  SlabRef slab;
  std::shared_ptr<const TarText> text;
};

}  // namespace lamina::archive
