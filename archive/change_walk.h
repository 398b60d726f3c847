// Walks two trees side by side, in the order of names, and hands on what
// differs.
//
// Order: a directory before what is in it, that at once, names in the order of
// their bytes ("a" < "a/b" < "a.b"); so the same trees give the same sequence.
// Before anything below a directory is handed on, that directory and those
// above it are, once each, as modified; the roots never are. What is removed is
// handed on as its topmost name alone, and a directory that is one inode in
// both trees is not entered.
//
// Descriptors are within the budget of copy/open_dirs.h, so depth has no limit.
// Memory: the names of the directories on the way down, and link_groups.h'.
// One thread; it is the caller's.
#pragma once

#include <sys/stat.h>

#include <deque>
#include <memory>
#include <string_view>

#include "archive/changes.h"
#include "archive/link_groups.h"
#include "archive/sorted_names.h"
#include "archive/unchanged.h"
#include "base/error.h"
#include "base/fd.h"
#include "copy/open_dirs.h"

namespace lamina::archive {

class ChangeWalk {
 public:
  // All must outlive this.
  ChangeWalk(Kernel& kernel, const ChangeOptions& options, Deletions deletions,
             ChangeSink& sink);

  // Once. Errors name the entry in UPPER, or in LOWER where it is only there.
  Result<void> run(const Fd& lower, const Fd& upper);

 private:
  // A directory of UPPER; its Side::source, and LOWER's is Side::target.
  struct Pair : copy::Dir {
    using copy::Dir::Dir;
    bool told = false;      // Handed on, or it is the root.
    bool in_lower = false;  // There is such a directory in LOWER.
  };
  struct Frame {
    std::shared_ptr<Pair> dir;
    SortedNames upper;
    SortedNames lower;
    size_t next_upper = 0;
    size_t next_lower = 0;
  };
  enum class Trees { upper, both };
  // A name as it was found.
  struct Found {
    const char* name = nullptr;
    struct stat upper {};
    struct stat lower_stat {};
    const struct stat* lower = nullptr;  // Null where LOWER has no such name.
  };

  static Pair& as_pair(copy::Dir& dir) { return static_cast<Pair&>(dir); }

  Result<void> enter(std::shared_ptr<Pair> dir);
  void pop();
  Result<void> open_frame(Frame& frame);
  Result<void> step(Frame& frame);
  Result<void> remove_first(Frame& frame);
  Result<void> visit(Pair& parent, const char* name, Trees trees);
  Result<void> visit_directory(Pair& parent, const Found& found);
  Result<void> visit_other(Pair& parent, const Found& found);

  // Hand a change on, after the directories above it. `hand_on` gives it its
  // path, the others also what it is in UPPER.
  Result<void> hand_on(Pair& parent, std::string_view name, Change change);
  Result<void> hand_on_found(Pair& parent, const Found& found, ChangeKind kind,
                             std::string_view link);
  Result<void> hand_on_directory(Pair& dir, Change change);
  Result<void> hand_on_above(Pair& lowest);

  Kernel& kernel_;
  const ChangeOptions& options_;
  const Deletions deletions_;
  ChangeSink& sink_;
  copy::OpenDirs open_;
  Unchanged unchanged_;
  LinkGroups links_;
  std::deque<Frame> frames_;  // A reference holds while others come and go.
  // Of the frame on top; empty when it changed.
  copy::SharedFd upper_;
  copy::SharedFd lower_;
};

}  // namespace lamina::archive
