// Finds out what the file system of a directory can hold, by trying.
//
// Everything is tried in a directory of its own, made inside the one asked
// about and removed again; so that one's times change. What only root may do is
// answered for the caller as it is. Nothing is remembered for later copies:
// those find out for themselves (copy/abilities.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/fs_kind.h"
#include "copy/options.h"

namespace lamina::copy {

enum class Can { no, yes };

struct Finding {
  std::string_view name;   // "user_xattrs"
  std::string_view about;  // "user.* attributes"
  Can can = Can::no;
  std::string why;  // Why not, for people; may be empty.
};

struct ProbeReport {
  FsKind kind = FsKind::other;
  std::vector<Finding> findings;  // Always the same, in the same order.
  uint64_t bytes_free = 0;        // For the caller, statfs(2).
  uint64_t bytes_total = 0;
  uint64_t inodes_free = 0;
  uint64_t inodes_total = 0;  // 0: made as they are needed (btrfs).
  // What shares most within this file system: reflink, hardlink or content.
  Sharing best = Sharing::content;

  // Requires a name that findings has.
  bool can(std::string_view name) const;
};

// Probes the open directory `dir`, called `shown` in errors. Fails where
// nothing can be made in it (EACCES, EROFS, ENOSPC), or what was made not be
// removed. `kernel`: a seam, null for the real one.
Result<ProbeReport> probe(const Fd& dir, std::string_view shown,
                          Kernel* kernel = nullptr);

}  // namespace lamina::copy
