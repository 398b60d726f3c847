#include "archive/change_walk.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/kernel.h"
#include "copy/open_quietly.h"

namespace lamina::archive {

namespace {

using Do = LinkGroups::Verdict::Do;

copy::XattrRules rules_of(const ChangeOptions& options) {
  copy::XattrRules rules;
  rules.keep = options.xattrs;
  return rules;
}

// Gives an error without a subject the path of what was under way.
template <typename T>
Result<T> about(Result<T> result, std::string_view path) {
  if (!result && result.error().subject.empty()) {
    result.error().subject = path;
  }
  return result;
}

}  // namespace

ChangeWalk::ChangeWalk(Kernel& kernel, const ChangeOptions& options,
                       Deletions deletions, ChangeSink& sink)
    : kernel_(kernel),
      options_(options),
      deletions_(deletions),
      sink_(sink),
      open_(kernel),
      unchanged_(kernel, rules_of(options), options.times, options.stop) {}

Result<void> ChangeWalk::run(const Fd& lower, const Fd& upper) {
  // Descriptors of its own: the caller's keep their offset.
  TRY_ASSIGN(Fd own_lower,
             copy::open_quietly(kernel_, lower.get(), ".", O_DIRECTORY));
  TRY_ASSIGN(Fd own_upper,
             copy::open_quietly(kernel_, upper.get(), ".", O_DIRECTORY));
  auto root = std::make_shared<Pair>(nullptr, "");
  root->told = true;
  root->in_lower = true;
  struct stat lower_stat {};
  if (kernel_.fstat(own_upper.get(), &root->stat) != 0 ||
      kernel_.fstat(own_lower.get(), &lower_stat) != 0) {
    return fail(last_error("fstat", ""));
  }
  if (is_same_inode(root->stat, lower_stat)) {
    return {};
  }
  open_.put(*root, copy::Side::source, std::move(own_upper));
  open_.put(*root, copy::Side::target, std::move(own_lower));
  TRY(enter(std::move(root)));
  while (!frames_.empty()) {
    if (options_.stop.stop_requested()) {
      return fail(make_error(ECANCELED, "diff", "", "stopped"));
    }
    TRY(step(frames_.back()));
  }
  return {};
}

// Goes into a directory whose descriptors are open.
Result<void> ChangeWalk::enter(std::shared_ptr<Pair> dir) {
  upper_.reset();
  lower_.reset();
  Frame& frame = frames_.emplace_back();
  frame.dir = std::move(dir);
  Pair& at = *frame.dir;
  TRY(open_frame(frame));
  TRY_ASSIGN(frame.upper,
             about(SortedNames::read(kernel_, upper_->get()), at.path()));
  if (at.in_lower) {
    TRY_ASSIGN(frame.lower,
               about(SortedNames::read(kernel_, lower_->get()), at.path()));
  }
  return deletions_ == Deletions::first ? remove_first(frame) : Result<void>();
}

void ChangeWalk::pop() {
  std::shared_ptr<Pair> dir = std::move(frames_.back().dir);
  frames_.pop_back();
  upper_.reset();
  lower_.reset();
  open_.reopen_parent(*dir);
  open_.forget(*dir);
}

Result<void> ChangeWalk::open_frame(Frame& frame) {
  if (!upper_) {
    TRY_ASSIGN(upper_, open_.get(*frame.dir, copy::Side::source));
    if (frame.dir->in_lower) {
      TRY_ASSIGN(lower_, open_.get(*frame.dir, copy::Side::target));
    }
  }
  return {};
}

// Does the next name of the directory on top.
Result<void> ChangeWalk::step(Frame& frame) {
  const char* upper = frame.next_upper < frame.upper.size()
                          ? frame.upper[frame.next_upper]
                          : nullptr;
  const char* lower = frame.next_lower < frame.lower.size()
                          ? frame.lower[frame.next_lower]
                          : nullptr;
  if (upper == nullptr && lower == nullptr) {
    pop();
    return {};
  }
  int order = upper == nullptr   ? 1
              : lower == nullptr ? -1
                                 : std::strcmp(upper, lower);
  frame.next_upper += order <= 0 ? 1 : 0;
  frame.next_lower += order >= 0 ? 1 : 0;
  if (order > 0) {
    return deletions_ == Deletions::first
               ? Result<void>()
               : hand_on(*frame.dir, lower, Change{ChangeKind::deleted});
  }
  TRY(open_frame(frame));
  auto visited =
      visit(*frame.dir, upper, order == 0 ? Trees::both : Trees::upper);
  if (!visited && visited.error().subject.empty()) {
    visited.error().subject = frame.dir->path_of(upper);
  }
  return visited;
}

Result<void> ChangeWalk::remove_first(Frame& frame) {
  size_t at = 0;
  for (size_t i = 0; i < frame.lower.size(); ++i) {
    const char* name = frame.lower[i];
    while (at < frame.upper.size() && std::strcmp(frame.upper[at], name) < 0) {
      ++at;
    }
    if (at == frame.upper.size() || std::strcmp(frame.upper[at], name) != 0) {
      TRY(hand_on(*frame.dir, name, Change{ChangeKind::deleted}));
    }
  }
  return {};
}

Result<void> ChangeWalk::visit(Pair& parent, const char* name, Trees trees) {
  Found found;
  found.name = name;
  if (kernel_.fstatat(upper_->get(), name, &found.upper, AT_SYMLINK_NOFOLLOW) !=
      0) {
    return fail(last_error("fstatat", ""));
  }
  if (trees == Trees::both) {
    if (kernel_.fstatat(lower_->get(), name, &found.lower_stat,
                        AT_SYMLINK_NOFOLLOW) != 0) {
      return fail(last_error("fstatat", ""));
    }
    found.lower = &found.lower_stat;
  }
  return S_ISDIR(found.upper.st_mode) ? visit_directory(parent, found)
                                      : visit_other(parent, found);
}

Result<void> ChangeWalk::visit_directory(Pair& parent, const Found& found) {
  bool both = found.lower != nullptr && S_ISDIR(found.lower->st_mode);
  if (both && is_same_inode(found.upper, *found.lower)) {
    return {};
  }
  TRY_ASSIGN(Fd upper, copy::open_quietly(kernel_, upper_->get(), found.name,
                                          O_DIRECTORY));
  auto dir = std::make_shared<Pair>(parent.shared_from_this(), found.name);
  if (kernel_.fstat(upper.get(), &dir->stat) != 0) {
    return fail(last_error("fstat", ""));
  }
  if (!is_same_inode(dir->stat, found.upper)) {
    return fail(changed_meanwhile());
  }
  Fd lower;
  bool equal = false;
  if (both) {
    TRY_ASSIGN(lower, copy::open_quietly(kernel_, lower_->get(), found.name,
                                         O_DIRECTORY));
    dir->in_lower = true;
    TRY_ASSIGN(equal, unchanged_.check({*found.lower,
                                        dir->stat,
                                        {lower.get(), nullptr},
                                        {upper.get(), nullptr}}));
  }
  open_.put(*dir, copy::Side::source, std::move(upper));
  if (lower.valid()) {
    open_.put(*dir, copy::Side::target, std::move(lower));
  }
  if (!equal) {
    Change change{found.lower == nullptr ? ChangeKind::added
                                         : ChangeKind::modified};
    change.lower = found.lower;
    TRY(hand_on_directory(*dir, change));
  }
  return enter(std::move(dir));
}

Result<void> ChangeWalk::visit_other(Pair& parent, const Found& found) {
  bool equal = false;
  if (found.lower != nullptr) {
    TRY_ASSIGN(equal, unchanged_.check({*found.lower,
                                        found.upper,
                                        {lower_->get(), found.name},
                                        {upper_->get(), found.name}}));
  }
  const ChangeKind kind =
      found.lower == nullptr ? ChangeKind::added : ChangeKind::modified;
  // No layer holds a socket, so nothing can be linked to one.
  if (S_ISSOCK(found.upper.st_mode)) {
    return equal ? Result<void>() : hand_on_found(parent, found, kind, "");
  }
  LinkGroups::Verdict verdict = links_.note(
      {parent.shared_from_this(), found.name}, found.upper, found.lower,
      equal ? LinkGroups::Equal::yes : LinkGroups::Equal::no);
  switch (verdict.what) {
    case Do::nothing:
      return {};
    case Do::link:
      return hand_on_found(parent, found, equal ? ChangeKind::relinked : kind,
                           verdict.link.path());
    case Do::write:
      break;
  }
  TRY(hand_on_found(parent, found, kind, ""));
  const std::string path = parent.path_of(found.name);
  for (const LinkGroups::Place& place : verdict.relink) {
    Change change{ChangeKind::relinked};
    change.upper = &found.upper;
    change.lower = &found.upper;
    change.link = path;
    TRY(hand_on(as_pair(*place.dir), place.name, change));
  }
  return {};
}

Result<void> ChangeWalk::hand_on_found(Pair& parent, const Found& found,
                                       ChangeKind kind, std::string_view link) {
  Change change{kind};
  change.upper = &found.upper;
  change.lower = found.lower;
  change.end = {upper_->get(), found.name};
  change.link = link;
  return hand_on(parent, found.name, change);
}

Result<void> ChangeWalk::hand_on(Pair& parent, std::string_view name,
                                 Change change) {
  TRY(hand_on_above(parent));
  const std::string path = parent.path_of(name);
  change.path = path;
  return about(sink_.take(change), path);
}

// Hands on what was not yet of `lowest` and the directories above it.
Result<void> ChangeWalk::hand_on_above(Pair& lowest) {
  std::vector<Pair*> chain;
  for (Pair* at = &lowest; !at->told; at = &as_pair(*at->parent())) {
    chain.push_back(at);
  }
  for (size_t i = chain.size(); i-- > 0;) {
    TRY(hand_on_directory(*chain[i], Change{ChangeKind::modified}));
  }
  return {};
}

Result<void> ChangeWalk::hand_on_directory(Pair& dir, Change change) {
  TRY(hand_on_above(as_pair(*dir.parent())));
  TRY_ASSIGN(copy::SharedFd fd, open_.get(dir, copy::Side::source));
  dir.told = true;
  const std::string path = dir.path();
  change.path = path;
  change.upper = &dir.stat;
  change.end = {fd->get(), nullptr};
  return about(sink_.take(change), path);
}

}  // namespace lamina::archive
