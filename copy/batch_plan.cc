#include "copy/batch_plan.h"

#include <algorithm>
#include <cerrno>
#include <unordered_map>
#include <utility>

#include "copy/batch_name.h"

namespace lamina::copy {

namespace {

// A name in one of the parents.
struct Key {
  uint32_t parent;
  std::string_view name;
  friend bool operator==(const Key&, const Key&) = default;
};

struct KeyHash {
  size_t operator()(const Key& key) const {
    // Names are a caller's to choose; a slow look-up is all a bad choice buys.
    return std::hash<std::string_view>()(key.name) ^
           (size_t{key.parent} * 0x9E3779B97F4A7C15U);
  }
};

class Planner {
 public:
  explicit Planner(std::span<const BatchEntry> entries)
      : entries_(entries) {
    known_.reserve(entries.size());
    plan_.parent_of.reserve(entries.size());
    plan_.name_of.reserve(entries.size());
    plan_.superseded_by.assign(entries.size(), BatchPlan::kNone);
    plan_.parents.emplace_back();
  }

  tl::expected<BatchPlan, BatchFailure> run() {
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (auto added = add(static_cast<uint32_t>(i)); !added) {
        Error& error = added.error();
        error.subject = std::string(entries_[i].path);
        return tl::unexpected(BatchFailure{std::move(error), i, {}});
      }
    }
    fill_parents();
    return std::move(plan_);
  }

 private:
  Result<void> add(uint32_t index) {
    const BatchEntry& entry = entries_[index];
    if ((entry.mode.value_or(0) & ~mode_t{07777}) != 0) {
      return fail(make_error(EINVAL, "write", "",
                             "the mode is more than permission and set-id "
                             "bits"));
    }
    TRY_ASSIGN(std::string_view path, clean_batch_name(entry.path, spare_));
    if (path.data() == spare_.data()) {
      // Moved into place: views of a short string would not survive a move.
      plan_.storage.push_back(spare_);
      path = plan_.storage.back();
    }
    size_t slash = path.rfind('/');
    bool nested = slash != std::string_view::npos;
    TRY_ASSIGN(uint32_t parent,
               intern(nested ? path.substr(0, slash) : "", index));
    std::string_view name = nested ? path.substr(slash + 1) : path;
    auto [known, fresh] =
        known_.try_emplace({parent, name}, Known{Kind::file, index});
    if (!fresh && known->second.kind == Kind::directory) {
      return fail(
          make_error(EISDIR, "write", "", "an earlier entry lies below it"));
    }
    if (!fresh) {
      plan_.superseded_by[known->second.id] = index;
      known->second.id = index;
    }
    plan_.parent_of.push_back(parent);
    plan_.name_of.push_back(name);
    return {};
  }

  // The parent with this path; it and what lies above it are added when new.
  Result<uint32_t> intern(std::string_view path, uint32_t index) {
    if (path == last_path_) {
      return last_parent_;
    }
    uint32_t at = 0;
    for (size_t begin = 0; begin < path.size();) {
      size_t end = std::min(path.find('/', begin), path.size());
      std::string_view name = path.substr(begin, end - begin);
      auto next = static_cast<uint32_t>(plan_.parents.size());
      auto [known, fresh] =
          known_.try_emplace({at, name}, Known{Kind::directory, next});
      if (known->second.kind == Kind::file) {
        return fail(make_error(ENOTDIR, "write", "",
                               "a directory on its way is an earlier entry"));
      }
      if (fresh) {
        plan_.parents.push_back({at, name, index, {}});
      }
      at = known->second.id;
      begin = end + 1;
    }
    last_path_ = path;
    last_parent_ = at;
    return at;
  }

  void fill_parents() {
    plan_.parents[0].first = 0;
    for (uint32_t i = 0; i < plan_.parent_of.size(); ++i) {
      if (plan_.superseded_by[i] == BatchPlan::kNone) {
        plan_.parents[plan_.parent_of[i]].entries.push_back(i);
      }
    }
  }

  enum class Kind : uint8_t { file, directory };
  struct Known {
    Kind kind;
    uint32_t id;  // Of the entry, the latest, or of the parent.
  };

  std::span<const BatchEntry> entries_;
  BatchPlan plan_;
  std::string spare_;
  std::unordered_map<Key, Known, KeyHash> known_;
  // Most entries share the parent of the one before.
  std::string_view last_path_;
  uint32_t last_parent_ = 0;
};

}  // namespace

tl::expected<BatchPlan, BatchFailure> BatchPlan::make(
    std::span<const BatchEntry> entries) {
  if (entries.size() >= kNone) {
    return tl::unexpected(BatchFailure{
        make_error(E2BIG, "write", "", "too many entries"), std::nullopt, {}});
  }
  return Planner(entries).run();
}

std::optional<BatchFailure> check_batch(std::span<const BatchEntry> entries) {
  auto plan = BatchPlan::make(entries);
  return plan ? std::nullopt : std::optional(std::move(plan.error()));
}

}  // namespace lamina::copy
