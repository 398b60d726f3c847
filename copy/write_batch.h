// Writes many files below one root in one call.
//
// 1. std::vector<BatchEntry> entries = ...;
// 2. auto written = write_batch("/build/inputs", entries);
// 3. if (!written) { written.error().index says which entry, .error why }
//
// The caller keeps what entries refer to alive and unchanged until the call
// returns; nothing is copied before it is written. Any thread may call, any
// number at a time; batches into one directory at the same time are each whole
// file by file. Nothing of the process is changed and nothing is logged. All
// work is done, and no thread writes any more, when the call returns.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace lamina {
class Kernel;
class WorkerPool;
}  // namespace lamina

namespace lamina::copy {

struct Progress;

// One file to be written.
struct BatchEntry {
  static constexpr mode_t kDefaultMode = 0644;

  // Relative to the root, any bytes but NUL; copy/batch_name.h has the rules.
  std::string_view path;
  // Its content: these bytes, or, where `from` is not empty, that of the
  // regular file with this path, which is resolved as any path of the process.
  // A file is reflinked where the file system can, else copied.
  std::span<const std::byte> data = {};
  std::string_view from = {};
  // The very permission and set-id bits, whatever the umask and the directory's
  // default ACL; kDefaultMode by default.
  std::optional<mode_t> mode = {};
};

struct BatchOptions {
  // 0: the width that was measured best for the root's file system, at most the
  // CPUs this process may use (copy/width.h).
  unsigned workers = 0;
  // Asking to stop ends the batch with ECANCELED and no index.
  std::stop_token stop = {};
  // Counted up while files are written; may be null.
  Progress* progress = nullptr;
  Kernel* kernel = nullptr;  // Seams; null for the real ones.
  WorkerPool* pool = nullptr;
};

struct BatchReport {
  // Entries that name the same file as a later one, ascending. They were not
  // written, or were replaced.
  std::vector<size_t> superseded;
  uint64_t files = 0;        // Written, superseded ones not counted,
  uint64_t replaced = 0;     // of them in the place of something else.
  uint64_t directories = 0;  // Made.
  // Of the files that came from files, by how their bytes did.
  uint64_t reflinked = 0;
  uint64_t copied_by_range = 0;
  uint64_t copied_by_read_write = 0;
  uint64_t bytes = 0;    // The sizes of the files.
  unsigned workers = 1;  // Threads that took part.
  std::chrono::duration<double> seconds{0};
};

struct BatchFailure {
  // Names the entry's path as it was given, or the file it comes from.
  Error error;
  // The lowest entry that failed, the same in every run. Nothing where no
  // single entry is at fault: the root cannot be opened, or a stop.
  std::optional<size_t> index;
  // What was done nevertheless. Superseded entries as above, as far as what
  // supersedes them was written.
  BatchReport done;
};

using BatchResult = tl::expected<BatchReport, BatchFailure>;

// Writes `entries` below the open directory `root`.
//
// All names and modes are checked first. A bad one, or one that is a file here
// and a directory on the way of an earlier entry (or the other way round), is
// an error at the lowest such index, and then nothing was touched.
//
// Parents that are missing are made, mode 0755, once each. A parent that is a
// symlink is followed inside the root; one that leads out, by ".." or an
// absolute target, or to nothing, is an error (EXDEV, ENOENT) at the lowest
// entry below it.
//
// Entries that are the same file, by name, through symlinks and mounts inside
// the root, or because a directory folds case, are found, and the last one is
// what the file holds, whole.
//
// What stands at a name is replaced by a new inode, never written to: other
// hard links of it and the target of a symlink stay as they are, and readers
// see the old file or the new one. A directory in the way is an error (EISDIR).
// A name that was absent is created as itself, so it can be seen before it is
// whole.
//
// After a failure every entry below the reported index is written whole (or
// superseded by one that is), those above may be, and what was begun and not
// finished is gone. No temporary name is left, unless the process dies.
BatchResult write_batch(const Fd& root, std::span<const BatchEntry> entries,
                        const BatchOptions& options = {});

// The same below the directory `root`, a path, which is made (mode 0755, not
// its parents) when it is absent and all names are good.
BatchResult write_batch(std::string_view root,
                        std::span<const BatchEntry> entries,
                        const BatchOptions& options = {});

// The check that write_batch() begins with, alone: the first bad entry.
std::optional<BatchFailure> check_batch(std::span<const BatchEntry> entries);

}  // namespace lamina::copy
