#include "copy/first_error.h"

#include <algorithm>
#include <utility>

#include "copy/dir.h"

namespace lamina::copy {

namespace {

// '/' sorts below every other byte, so that children follow their directory.
unsigned rank(char c) {
  return c == '/' ? 0 : static_cast<unsigned char>(c) + 1U;
}

bool lies_below(std::string_view path, std::string_view directory) {
  return directory.empty() ||
         (path.size() > directory.size() && path.starts_with(directory) &&
          path[directory.size()] == '/');
}

}  // namespace

int compare_in_walk_order(std::string_view a, std::string_view b) {
  size_t common = std::min(a.size(), b.size());
  for (size_t i = 0; i < common; ++i) {
    if (a[i] != b[i]) {
      return rank(a[i]) < rank(b[i]) ? -1 : 1;
    }
  }
  return a.size() == b.size() ? 0 : (a.size() < b.size() ? -1 : 1);
}

bool FirstError::before_known(const std::string& path, When when) const {
  if (!error_) {
    return true;
  }
  if (path == path_) {
    return when < when_;
  }
  // Finishing a directory comes after everything below it.
  if (when == When::after && lies_below(path_, path)) {
    return false;
  }
  if (when_ == When::after && lies_below(path, path_)) {
    return true;
  }
  return compare_in_walk_order(path, path_) < 0;
}

bool FirstError::wants(const Dir& dir, std::string_view name) const {
  if (!any()) {
    return true;
  }
  if (ended()) {
    return false;
  }
  std::string path = dir.path_of(name);
  std::lock_guard lock(mutex_);
  return before_known(path, When::at);
}

bool FirstError::wants_leave(const Dir& dir) const {
  if (!any()) {
    return true;
  }
  if (ended()) {
    return false;
  }
  std::string path = dir.path();
  std::lock_guard lock(mutex_);
  return before_known(path, When::after);
}

void FirstError::note(const Dir& dir, std::string_view name, Error error) {
  if (error.subject.empty()) {
    error.subject = dir.path_of(name);
  }
  if (is_exhaustion(error.code)) {
    note_end(std::move(error));
  } else {
    note_at(dir.path_of(name), When::at, std::move(error));
  }
}

void FirstError::note_leave(const Dir& dir, Error error) {
  if (error.subject.empty()) {
    error.subject = dir.path();
  }
  if (is_exhaustion(error.code)) {
    note_end(std::move(error));
  } else {
    note_at(dir.path(), When::after, std::move(error));
  }
}

void FirstError::note_end(Error error) {
  std::lock_guard lock(mutex_);
  if (ended()) {
    return;
  }
  error_ = std::move(error);
  ended_.store(true, std::memory_order_release);
  any_.store(true, std::memory_order_release);
}

void FirstError::note_at(std::string path, When when, Error error) {
  std::lock_guard lock(mutex_);
  if (ended() || !before_known(path, when)) {
    return;
  }
  path_ = std::move(path);
  when_ = when;
  error_ = std::move(error);
  any_.store(true, std::memory_order_release);
}

std::optional<Error> FirstError::get() const {
  std::lock_guard lock(mutex_);
  return error_;
}

}  // namespace lamina::copy
