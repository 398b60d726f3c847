#include "copy/walker.h"

#include <dirent.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/kernel.h"

namespace lamina::copy {

Walker::Walker(Walk& walk, std::unique_ptr<Visitor> visitor)
    : walk_(walk),
      visitor_(std::move(visitor)) {}

void Walker::start_at(std::shared_ptr<Dir> dir) {
  frames_.push_back({std::move(dir), true, 0, {}, {}});
}

void Walker::start_below(std::shared_ptr<Dir> parent, std::string name) {
  first_parent_ = std::move(parent);
  first_name_ = std::move(name);
}

void Walker::start_with(std::shared_ptr<Dir> dir, std::string_view entries) {
  listing_.assign(entries);
  frames_.push_back({std::move(dir), false, 0, {}, {}});
}

Task::Turn Walker::run(Worker& worker) {
  visitor_->begin_turn(worker);
  Turn result = turn();
  visitor_->end_turn();
  return result;
}

Task::Turn Walker::turn() {
  if (first_parent_) {
    enter(std::exchange(first_parent_, nullptr), first_name_);
  }
  for (size_t i = 0; i < Walk::kTurnEntries; ++i) {
    if (walk_.stop_.stop_requested()) {
      walk_.errors_.note_end(make_error(ECANCELED, "walk", "", "stopped"));
    }
    if (walk_.errors_.ended()) {
      return Turn::done;  // What is left is never begun.
    }
    if (frames_.empty()) {
      return Turn::done;
    }
    if (!step(frames_.back())) {
      return Turn::again;
    }
  }
  split();
  return frames_.empty() ? Turn::done : Turn::again;
}

// Does one thing in the top frame. False ends the turn early: a large file has
// had its share.
bool Walker::step(Frame& frame) {
  if (resuming_ || listing_.next(&entry_)) {
    if (activate(frame)) {
      visit(frame);
    } else {
      resuming_ = false;
    }
    return !resuming_;
  }
  if (!frame.below.empty()) {
    std::string name = std::move(frame.below.back());
    frame.below.pop_back();
    std::shared_ptr<Dir> parent = frame.dir;
    parent->pending_.fetch_add(1, std::memory_order_relaxed);
    deactivate();
    enter(parent, name);
    split();
    return true;
  }
  if (frame.more && fill(frame)) {
    return true;
  }
  std::shared_ptr<Dir> dir = std::move(frame.dir);
  deactivate();
  frames_.pop_back();
  complete(std::move(dir));
  return true;
}

bool Walker::activate(Frame& frame) {
  if (source_) {
    return true;
  }
  auto source = walk_.open_.get(*frame.dir, Side::source);
  if (!source) {
    walk_.errors_.note_leave(*frame.dir, std::move(source.error()));
    return false;
  }
  if (walk_.trees_ == Trees::source_and_target) {
    auto target = walk_.open_.get(*frame.dir, Side::target);
    if (!target) {
      walk_.errors_.note_leave(*frame.dir, std::move(target.error()));
      return false;
    }
    target_ = std::move(*target);
  }
  source_ = std::move(*source);
  return true;
}

void Walker::deactivate() {
  source_.reset();
  target_.reset();
}

bool Walker::fill(Frame& frame) {
  // A directory that was found to grow without end is not read to its end.
  if (frame.dir->newcomers > Walk::kNewcomers || !activate(frame)) {
    frame.more = false;
    return false;
  }
  if (frame.cookie != 0 && frame.scanned.lock() != source_ &&
      walk_.kernel_.lseek(source_->get(), frame.cookie, SEEK_SET) < 0) {
    walk_.errors_.note_leave(*frame.dir,
                             last_error("lseek", frame.dir->path()));
    frame.more = false;
    return false;
  }
  auto filled = listing_.fill(walk_.kernel_, source_->get(), "");
  if (!filled) {
    filled.error().subject = frame.dir->path();
    walk_.errors_.note_leave(*frame.dir, std::move(filled.error()));
  }
  frame.more = filled.value_or(false);
  frame.cookie = listing_.end_offset();
  frame.scanned = source_;
  return frame.more;
}

void Walker::visit(Frame& frame) {
  if (!walk_.errors_.wants(*frame.dir, entry_.name_view())) {
    resuming_ = false;
    return;
  }
  if (entry_.type == DT_DIR) {
    frame.below.emplace_back(entry_.name_view());
    return;
  }
  Entry entry{*frame.dir, entry_, source_->get(),
              target_ ? target_->get() : -1};
  settle(frame, entry,
         resuming_ ? visitor_->resume(entry) : visitor_->visit(entry));
}

void Walker::settle(Frame& frame, const Entry& entry, Result<Visit> visit) {
  resuming_ = false;
  if (!visit) {
    walk_.errors_.note(entry.dir, entry_.name_view(), std::move(visit.error()));
    return;
  }
  switch (*visit) {
    case Visit::done:
      break;
    case Visit::again:
      resuming_ = true;
      break;
    case Visit::enter:
      frame.below.emplace_back(entry_.name_view());
      break;
  }
}

void Walker::enter(const std::shared_ptr<Dir>& parent, std::string_view name) {
  if (!walk_.errors_.wants(*parent, name)) {
    complete(parent);
    return;
  }
  auto source = walk_.open_.get(*parent, Side::source);
  Result<SharedFd> target = SharedFd();
  if (walk_.trees_ == Trees::source_and_target) {
    target = walk_.open_.get(*parent, Side::target);
  }
  auto dir = std::make_shared<Dir>(parent, name);
  Result<bool> entered = false;
  if (!source) {
    entered = fail(std::move(source.error()));
  } else if (!target) {
    entered = fail(std::move(target.error()));
  } else {
    entered = visitor_->enter(*dir, (*source)->get(),
                              *target ? (*target)->get() : -1, walk_.open_);
  }
  if (!entered) {
    walk_.errors_.note(*parent, name, std::move(entered.error()));
  }
  if (!entered.value_or(false)) {
    walk_.open_.forget(*dir);
    complete(parent);
    return;
  }
  frames_.push_back({std::move(dir), true, 0, {}, {}});
}

void Walker::complete(std::shared_ptr<Dir> dir) {
  while (dir && dir->pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    walk_.open_.reopen_parent(*dir);
    if (walk_.errors_.wants_leave(*dir)) {
      if (auto left = visitor_->leave(*dir, walk_.open_); !left) {
        walk_.errors_.note_leave(*dir, std::move(left.error()));
      }
    }
    walk_.open_.forget(*dir);
    std::shared_ptr<Dir> parent = dir->parent();
    dir = std::move(parent);
  }
}

void Walker::split() {
  if (!walk_.group_.hungry()) {
    return;
  }
  if (!split_subdirectory()) {
    split_entries();
  }
}

// Gives away a subdirectory of the shallowest frame that has one: the largest
// piece, and the one that meets us least.
bool Walker::split_subdirectory() {
  for (Frame& frame : frames_) {
    if (frame.below.empty()) {
      continue;
    }
    // A walker whose last piece this is would only swap places.
    if (&frame == &frames_.back() && frame.below.size() == 1 &&
        listing_.used_up() && !frame.more) {
      return false;
    }
    frame.dir->pending_.fetch_add(1, std::memory_order_relaxed);
    auto walker = std::make_unique<Walker>(walk_, visitor_->fork());
    walker->start_below(frame.dir, std::move(frame.below.front()));
    frame.below.erase(frame.below.begin());
    walk_.group_.submit(std::move(walker));
    return true;
  }
  return false;
}

void Walker::split_entries() {
  if (frames_.empty() || resuming_ || listing_.used_up()) {
    return;
  }
  std::string_view entries = listing_.take(Walk::kTurnEntries);
  if (entries.empty()) {
    return;
  }
  Frame& frame = frames_.back();
  frame.dir->pending_.fetch_add(1, std::memory_order_relaxed);
  auto walker = std::make_unique<Walker>(walk_, visitor_->fork());
  walker->start_with(frame.dir, entries);
  walk_.group_.submit(std::move(walker));
}

Walk::Walk(const WalkOptions& options)
    : kernel_(options.kernel),
      trees_(options.trees),
      stop_(options.stop),
      open_(options.kernel),
      group_(options.pool, options.device, options.width) {}

Result<void> Walk::run(std::shared_ptr<Dir> root,
                       std::unique_ptr<Visitor> visitor) {
  auto walker = std::make_unique<Walker>(*this, std::move(visitor));
  walker->start_at(std::move(root));
  group_.submit(std::move(walker));
  group_.run();
  if (auto error = errors_.get()) {
    return fail(std::move(*error));
  }
  return {};
}

}  // namespace lamina::copy
