// Removes trees, in parallel, and never leaves them.
//
// Descriptor-relative throughout: no path is resolved again after the start, no
// symlink is followed, so a directory swapped for a link while this runs loses
// at most the link. Directories of a caller without the right to write them are
// made writable first; files are never chmod-ed, since their inodes may be
// shared with other trees. Does not cross into other file systems: a mount
// point inside is an error (EBUSY from the kernel, or EXDEV before it is
// entered).
#pragma once

#include <cstdint>
#include <stop_token>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace lamina {
class Kernel;
class WorkerPool;
}  // namespace lamina

namespace lamina::copy {

struct Progress;

struct RemoveOptions {
  // 0: as for a copy (copy/width.h).
  unsigned workers = 0;
  std::stop_token stop;
  // Names removed so far; the caller's, which outlives the call.
  Progress* progress = nullptr;
  Kernel* kernel = nullptr;  // Seams; null for the real ones.
  WorkerPool* pool = nullptr;
};

struct RemoveReport {
  uint64_t removed = 0;  // Names, directories counted.
  unsigned workers = 1;
};

// Removes `name` in `parent`, whatever it is, and everything below it. Requires
// a single component, not "." or "..". ENOENT when it is not there. After an
// error the first failure in walk order is returned and the rest of the tree
// may be gone.
Result<RemoveReport> remove_tree(const Fd& parent, std::string_view name,
                                 const RemoveOptions& options = {});

// Removes everything below the open directory `root` (called `subject` in
// errors), which stays.
Result<RemoveReport> remove_children(const Fd& root, std::string_view subject,
                                     const RemoveOptions& options = {});

}  // namespace lamina::copy
