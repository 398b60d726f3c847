// What differs between two directory trees: LOWER, as the layers below leave
// it, and UPPER, as it is to be.
//
// Both are only read, through open directories and never through symlinks. No
// file that is one inode in both trees is opened; so trees that share their
// files by hard links are compared without reading any of them.
//
// Changes nothing process-wide and logs nothing. Any number of threads may
// compare at once.
#pragma once

#include <sys/stat.h>

#include <stop_token>
#include <string>
#include <string_view>

#include "archive/unchanged.h"
#include "base/error.h"
#include "base/fd.h"
#include "copy/options.h"

namespace lamina {
class Kernel;
}

namespace lamina::archive {

enum class ChangeKind {
  added,
  modified,  // Of a directory: or something in it is.
  deleted,
  // Nothing of it differs, but it is one inode with something that does.
  relinked,
};

struct Change {
  ChangeKind kind = ChangeKind::modified;
  std::string_view path = {};  // Relative to the roots; never empty.
  // What it is in the two trees; null where it is in only one. `lower` also of
  // a directory that is handed on for what is in it.
  const struct stat* upper = nullptr;
  const struct stat* lower = nullptr;
  // Where UPPER has it; without a name for a directory.
  copy::XattrEnd end = {};
  // The path of another name of its inode that was handed on before; "" when
  // there is none.
  std::string_view link = {};
};

// Takes changes one by one. What a Change points to lives as long as the call.
class ChangeSink {
 public:
  ChangeSink() = default;
  ChangeSink(const ChangeSink&) = delete;
  ChangeSink& operator=(const ChangeSink&) = delete;
  virtual ~ChangeSink() = default;

  // An error ends the comparison; one without a subject gets the path.
  virtual Result<void> take(const Change& change) = 0;
};

// Where deletions stand among the names of their directory.
enum class Deletions { in_order, first };

struct ChangeOptions {
  // Behaviour. Which attributes count, and how times do.
  copy::Xattrs xattrs = copy::Xattrs::image;
  Times times = Times::exact;

  // Control. Asking to stop fails with ECANCELED.
  std::stop_token stop = {};

  // Seam; null for the real one.
  Kernel* kernel = nullptr;
};

// Hands to `sink` all that differs, in walk order (change_walk.h). Fails when a
// tree cannot be read or changes meanwhile.
Result<void> find_changes(const Fd& lower, const Fd& upper, ChangeSink& sink,
                          const ChangeOptions& options = {},
                          Deletions deletions = Deletions::in_order);

}  // namespace lamina::archive
