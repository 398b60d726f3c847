#include "archive/link_groups.h"

#include <utility>

namespace lamina::archive {

namespace {

copy::InodeKey key_of(const struct stat& stat) {
  return {stat.st_dev, stat.st_ino};
}

bool is_same(const copy::InodeKey& a, const copy::InodeKey& b) {
  return a.inode == b.inode && a.device == b.device;
}

}  // namespace

LinkGroups::Group* LinkGroups::find(const struct stat& stat) {
  if (stat.st_nlink <= 1) {
    return nullptr;
  }
  auto [at, added] = groups_.try_emplace(key_of(stat));
  if (added) {
    at->second.unseen_names = stat.st_nlink;
  }
  return &at->second;
}

// Counts a name seen in either tree. The last one ends the memory.
void LinkGroups::count_name(const struct stat& stat) {
  auto at = groups_.find(key_of(stat));
  if (at != groups_.end() && --at->second.unseen_names == 0) {
    groups_.erase(at);
  }
}

// The inode of LOWER that `group` was is free for another.
void LinkGroups::release(const Group& group) {
  auto at = groups_.find(group.kept);
  if (at != groups_.end()) {
    at->second.taken_by.reset();
  }
}

// `kept` is the inode of LOWER that this name can stay, null if it cannot.
LinkGroups::Verdict LinkGroups::judge_group(Group& group, Place place,
                                            const struct stat* kept) {
  using State = Group::State;
  if (group.state == State::written) {
    return {Verdict::Do::link, group.names.front(), {}};
  }
  bool stays = kept != nullptr && (group.state == State::unseen ||
                                   is_same(group.kept, key_of(*kept)));
  if (stays) {
    group.state = State::kept;
    group.kept = key_of(*kept);
    group.names.push_back(std::move(place));
    return {};
  }
  if (group.state == State::kept) {
    release(group);
  }
  group.state = State::written;
  Verdict verdict{Verdict::Do::write, {}, std::move(group.names)};
  group.names = {std::move(place)};
  return verdict;
}

LinkGroups::Verdict LinkGroups::note(Place place, const struct stat& upper,
                                     const struct stat* lower, Equal equal) {
  Group* of_upper = find(upper);
  Group* of_lower = lower != nullptr ? find(*lower) : nullptr;
  bool taken = of_lower != nullptr && of_lower->taken_by &&
               !is_same(*of_lower->taken_by, key_of(upper));
  const struct stat* kept = equal == Equal::yes && !taken ? lower : nullptr;
  Verdict verdict;
  if (of_upper != nullptr) {
    verdict = judge_group(*of_upper, std::move(place), kept);
  } else if (kept == nullptr) {
    verdict.what = Verdict::Do::write;
  }
  if (of_lower != nullptr && verdict.what == Verdict::Do::nothing) {
    of_lower->taken_by = key_of(upper);
  }
  if (of_upper != nullptr) {
    count_name(upper);
  }
  if (of_lower != nullptr) {
    count_name(*lower);
  }
  return verdict;
}

}  // namespace lamina::archive
