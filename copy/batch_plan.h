// What a batch is to do, known from its names alone: which directories, in
// which of them which files, and which entries are superseded.
//
// Made on one thread before anything is touched; constant afterwards but for
// `superseded_by`, which also learns of aliases that only the tree shows.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "copy/write_batch.h"

namespace lamina::copy {

struct BatchPlan {
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  // A directory that entries go through, by its name.
  struct Parent {
    uint32_t above = 0;             // What lies above it; 0 is the root.
    std::string_view name;          // Empty for the root.
    uint32_t first = kNone;         // The lowest entry below it.
    std::vector<uint32_t> entries;  // In it and not superseded, ascending.
  };

  // Checks all names and modes, and plans.
  static tl::expected<BatchPlan, BatchFailure> make(
      std::span<const BatchEntry> entries);

  // A directory comes after the one above it.
  std::vector<Parent> parents;
  // By entry: its parent, its last component, and the later entry that is the
  // same file.
  std::vector<uint32_t> parent_of;
  std::vector<std::string_view> name_of;
  std::vector<uint32_t> superseded_by;

  // The entry that `entry` gives way to in the end, itself if none.
  uint32_t winner(uint32_t entry) const {
    while (superseded_by[entry] != kNone) {
      entry = superseded_by[entry];
    }
    return entry;
  }

  // Cleaned names that differ from what was given.
  std::deque<std::string> storage;
};

}  // namespace lamina::copy
