// Whether an inode is in UPPER what it is in LOWER: what decides that a name
// stands in a diff.
//
// Kind, mode, owner, device number, time of modification, size, extended
// attributes, the target of a symlink and the bytes of a file. Times of change
// prove nothing (clocks are coarse, and a directory renamed above keeps its
// files' times), so bytes are read where all else is equal; but an inode is
// equal to itself. Holes are zeros. Which names are one inode is link_groups.h'
// part. One thread at a time.
#pragma once

#include <sys/stat.h>

#include <stop_token>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "copy/compare_file.h"
#include "copy/xattrs.h"

namespace lamina {
class Kernel;
}

namespace lamina::archive {

// How times of modification are compared.
enum class Times {
  exact,
  // Equal too when one of them is the whole second that the other lies in: most
  // engines write layers so, and a tree that came out of one has such times.
  whole_seconds,
};

// Names the same in both trees; an end is where the inode is found.
struct InodePair {
  const struct stat& lower;
  const struct stat& upper;
  copy::XattrEnd lower_end;
  copy::XattrEnd upper_end;
};

// True when both are names of one inode.
bool is_same_inode(const struct stat& a, const struct stat& b);

class Unchanged {
 public:
  // `rules` say which attributes count.
  Unchanged(Kernel& kernel, const copy::XattrRules& rules, Times times,
            std::stop_token stop);

  // Compares all but the names. Errors have no subject; ESTALE says that a file
  // changed meanwhile.
  Result<bool> check(const InodePair& pair);

 private:
  bool has_equal_stat(const InodePair& pair) const;
  Result<bool> has_equal_xattrs(const InodePair& pair);
  Result<bool> has_equal_target(const InodePair& pair);
  Result<bool> has_equal_bytes(const InodePair& pair);

  Kernel& kernel_;
  const copy::XattrRules rules_;
  const Times times_;
  const std::stop_token stop_;
  copy::FileComparison file_{copy::Holes::are_zeros};
};

// Reads the target of the symlink `name` in `dir`. Errors have no subject.
Result<std::string> read_target(Kernel& kernel, int dir, const char* name);

// Opens a regular file of which `expected` was said before, and makes sure that
// it still is what stands there, unchanged: else ESTALE.
Result<Fd> open_file(Kernel& kernel, int dir, const char* name,
                     const struct stat& expected);

// The error of something that became another thing while it was looked at.
Error changed_meanwhile();

}  // namespace lamina::archive
