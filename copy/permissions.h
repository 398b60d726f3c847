// Permission walks: makes a tree's files read-only, or its directories
// writable.
//
// Trees of a content-addressed store share inodes, so modes are a contract, and
// an inode that has a name outside the tree is never chmod-ed. Descriptor-
// relative throughout; a symlink is neither changed nor followed, dangling or
// not; devices, fifos and sockets keep their modes. A tree with a mount inside
// is refused (EBUSY, or EXDEV where the mount table cannot be read).
//
// Files locked so cannot be written by ordinary users; root still can.
#pragma once

#include <cstdint>
#include <stop_token>

#include "base/error.h"
#include "base/path.h"

namespace lamina {
class Kernel;
class WorkerPool;
}  // namespace lamina

namespace lamina::copy {

struct Progress;

struct PermissionsOptions {
  // 0: as for a copy (copy/width.h).
  unsigned workers = 0;
  std::stop_token stop;
  // Counted up while the walk runs; may be null. lock() sees every entry twice.
  Progress* progress = nullptr;
  Kernel* kernel = nullptr;  // Seams; null for the real ones.
  WorkerPool* pool = nullptr;
};

struct PermissionsReport {
  uint64_t files = 0;        // That were chmod-ed,
  uint64_t directories = 0;  // and directories.
  unsigned workers = 1;
};

// Takes the write bits from the tree's regular files, which keep their other
// bits ("0644" -> 0444, "0755" -> 0555), and gives its directories mode 0755.
// What is so already is not chmod-ed.
//
// A file that needs a chmod while its inode has more names than the tree holds
// is shared: the first such in walk order is an error that names it, and
// nothing was changed. To know, every file is looked at once before the first
// chmod; 40 bytes are held for each inode with several names that needs one.
// Requires that nobody changes the tree meanwhile; an inode that gained a name
// between the two looks is refused (ESTALE) with the tree half locked.
//
// `tree` is a directory, not a symlink to one (ENOTDIR). Errors name paths
// relative to it.
Result<PermissionsReport> lock(const NamePlace& tree,
                               const PermissionsOptions& options = {});

// Gives the tree's directories mode 0755, so that it can be changed and
// removed. No file is touched. Enters directories that nobody may enter, if
// their owner or root asks.
Result<PermissionsReport> unlock_directories(
    const NamePlace& tree, const PermissionsOptions& options = {});

}  // namespace lamina::copy
