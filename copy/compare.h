// Compares a copy with its source: what dir_copy() promises to keep.
//
// Kinds, names, modes, owners, sizes, bytes, link targets, device numbers,
// extended attributes, times of modification to the nanosecond, which names are
// one inode, and that holes were not filled. Not: times of access (comparing
// reads both trees), and how many blocks a file takes. Neither tree is changed.
//
// The copy's own Options say what to expect: mapped or no owners, which
// attributes, a label, mounts not entered, and with Loss::forgiven whatever may
// have been forgiven. Inodes that are the same in both trees (hard links) are
// equal without being read. An inode with several names is compared once, under
// the name that is met first; so where such inodes differ, it may be another
// name that is reported the next time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "copy/options.h"

namespace lamina::copy {

// One thing that is not as it should be.
struct Difference {
  std::string path;  // Relative to the tree, raw; "" for its root.
  std::string text;  // "mode 0600, not 0644", escaped.

  // "'usr/bin/env': mode 0600, not 0644".
  std::string message() const;

  friend bool operator==(const Difference&, const Difference&) = default;
};

struct Comparison {
  static constexpr size_t kShown = 10;

  uint64_t entries = 0;           // Compared, the root not counted.
  uint64_t differences = 0;       // In all.
  std::vector<Difference> first;  // The first kShown in walk order.
};

// Whether names of one source inode may be several inodes in the copy, as where
// an inode has all the names its file system gives one
// (Report::link_fallbacks).
enum class Links { exact, may_split };

// Compares the trees in the open directories `source` and `copy`. An Error says
// that they could not be compared, ECANCELED when the stop token was used; that
// they differ is not an error. Memory: 80 bytes for each inode with several
// names.
Result<Comparison> compare_trees(const Fd& source, const Fd& copy,
                                 const Options& options = {},
                                 Links links = Links::exact);

}  // namespace lamina::copy
