// The one error a parallel walk reports: the first in walk order, at any width.
//
// Walk order is byte order of names within a directory, a directory before its
// children. Once an error is known, work before it is still done (it may find
// an earlier one) and work after it is not begun; so the one that remains does
// not depend on how threads met. When a resource ran out (is_exhaustion) or the
// walk was stopped, there is no such order: the earliest failure seen is kept
// and all work ends. Any thread may call any function.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lamina::copy {

class Dir;

// Compares two paths in walk order: negative, zero, positive. "a" < "a/b" <
// "a.b" < "b", since a directory's children follow it at once.
int compare_in_walk_order(std::string_view a, std::string_view b);

class FirstError {
 public:
  // True once anything was noted; cheap.
  bool any() const { return any_.load(std::memory_order_acquire); }

  // True when the entry `name` of `dir` is still to be worked on.
  bool wants(const Dir& dir, std::string_view name) const;
  // The same for finishing `dir`, which comes after all below it.
  bool wants_leave(const Dir& dir) const;

  // Notes the error of an entry, or of finishing a directory. An error without
  // a subject gets the path.
  void note(const Dir& dir, std::string_view name, Error error);
  void note_leave(const Dir& dir, Error error);
  // Notes an error that ends all work at once.
  void note_end(Error error);

  // True when an error that ends all work was noted.
  bool ended() const { return ended_.load(std::memory_order_acquire); }

  // The error to report.
  std::optional<Error> get() const;

 private:
  enum class When { at, after };
  bool before_known(const std::string& path, When when) const;
  void note_at(std::string path, When when, Error error);

  mutable std::mutex mutex_;
  std::atomic<bool> any_{false};
  std::atomic<bool> ended_{false};
  std::string path_;
  When when_ = When::at;
  std::optional<Error> error_;
};

}  // namespace lamina::copy
