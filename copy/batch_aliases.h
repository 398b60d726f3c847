// Files of a batch that are one though their names are not: below directories
// that several names lead to.
//
// Costs nothing for directories that one name leads to. One thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "copy/batch_dirs.h"
#include "copy/batch_plan.h"

namespace lamina::copy {

class BatchAliases {
 public:
  explicit BatchAliases(const BatchPlan& plan)
      : plan_(plan) {}

  // Says that `parent` leads to `dir`; entries below `next` were met already.
  void lead(uint32_t parent, const BatchDir& dir, uint32_t next);

  // Says that `entry` of `dir` is next, in ascending order. The entry met
  // before that is the same file, BatchPlan::kNone for none.
  uint32_t meet(uint32_t entry, const BatchDir& dir);

  // True where several names lead to `dir`.
  bool is_shared(const BatchDir& dir) const { return shared_.contains(dir.id); }

  // The entry that is the file `name` of `dir`, where several names lead to
  // `dir`; BatchPlan::kNone for none.
  uint32_t file(const BatchDir& dir, std::string_view name) const;

 private:
  using Files = std::unordered_map<std::string_view, uint32_t>;

  const BatchPlan& plan_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> parents_;  // By dir.
  std::unordered_map<uint32_t, Files> shared_;  // The last of each name.
};

}  // namespace lamina::copy
