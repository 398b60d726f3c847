#include "copy/batch_aliases.h"

#include <utility>

namespace lamina::copy {

void BatchAliases::lead(uint32_t parent, const BatchDir& dir, uint32_t next) {
  std::vector<uint32_t>& parents = parents_[dir.id];
  parents.push_back(parent);
  if (parents.size() != 2) {
    return;
  }
  Files& files = shared_[dir.id];
  for (uint32_t entry : plan_.parents[parents.front()].entries) {
    if (entry < next) {
      files.emplace(plan_.name_of[entry], entry);
    }
  }
}

uint32_t BatchAliases::meet(uint32_t entry, const BatchDir& dir) {
  auto shared = shared_.find(dir.id);
  if (shared == shared_.end()) {
    return BatchPlan::kNone;
  }
  auto [known, fresh] = shared->second.try_emplace(plan_.name_of[entry], entry);
  if (fresh) {
    return BatchPlan::kNone;
  }
  return std::exchange(known->second, entry);
}

uint32_t BatchAliases::file(const BatchDir& dir, std::string_view name) const {
  auto shared = shared_.find(dir.id);
  if (shared == shared_.end()) {
    return BatchPlan::kNone;
  }
  auto known = shared->second.find(name);
  return known == shared->second.end() ? BatchPlan::kNone : known->second;
}

}  // namespace lamina::copy
