// Maps of sparse files, in the encodings of GNU tar ("Storing Sparse Files" in
// its manual): where the stored bytes of an entry belong in the file.
//
// Pure functions and one small parser, each for one thread at a time. Counts
// are checked before memory is taken. Errors name no entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace lamina::archive {

struct SparseRun {
  uint64_t offset = 0;
  uint64_t length = 0;

  friend bool operator==(const SparseRun&, const SparseRun&) = default;
};

using SparseRuns = std::vector<SparseRun>;

// Adds a run; fails beyond `limit` runs. Empty ones count but are not kept:
// they only say where a file ends, and its size says that too.
class SparseMap {
 public:
  explicit SparseMap(size_t limit)
      : limit_(limit) {}

  Result<void> add(int64_t offset, int64_t length);

  // Checks that the runs ascend, do not overlap, lie within `size` and hold
  // `stored` bytes together, and gives them away.
  Result<SparseRuns> take(uint64_t size, uint64_t stored);

  // How many runs were added, the empty ones too.
  size_t added() const { return added_; }
  size_t limit() const { return limit_; }

 private:
  const size_t limit_;
  size_t added_ = 0;
  uint64_t end_ = 0;
  uint64_t stored_ = 0;
  SparseRuns runs_;
};

// Format 0.1: the map as one PAX record, "offset,length,offset,length", with
// `count` runs.
Result<void> parse_sparse_record(std::string_view record, int64_t count,
                                 SparseMap& map);

// Format 1.0: the map in front of the data, a decimal number a line: how many
// runs, then offset and length of each; the rest of its last block is padding.
class SparseLines {
 public:
  explicit SparseLines(SparseMap& map)
      : map_(map) {}

  // Reads one block more. Returns true when the map is complete.
  Result<bool> add(std::string_view block);

 private:
  Result<bool> end_number();

  SparseMap& map_;
  // The number under way; how many digits of it were seen.
  int64_t number_ = 0;
  size_t digits_ = 0;
  // How many runs there are, once that is known; an offset waiting for its
  // length.
  int64_t count_ = -1;
  int64_t offset_ = -1;
};

// The old GNU format: four runs in the header, and 21 in each block behind it
// while the one before says that more follows. Both functions return that.
Result<bool> parse_gnu_sparse_header(std::string_view block, SparseMap& map);
Result<bool> parse_gnu_sparse_block(std::string_view block, SparseMap& map);

// The size of the file that an old GNU sparse header names.
Result<int64_t> parse_gnu_sparse_size(std::string_view block);

}  // namespace lamina::archive
