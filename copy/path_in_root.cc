#include "copy/path_in_root.h"

#include <linux/limits.h>

#include <algorithm>
#include <cerrno>

#include "base/kernel.h"

namespace lamina::copy {

namespace {

constexpr int kMostSymlinks = 40;

}  // namespace

bool PathInRoot::take(std::string* name) {
  size_t skip = rest_.find_first_not_of('/');
  if (skip == std::string::npos) {
    return false;
  }
  size_t end = std::min(rest_.find('/', skip), rest_.size());
  *name = rest_.substr(skip, end - skip);
  rest_.erase(0, end);
  inside_link_ = from_links_ > 0;
  from_links_ -= std::min(from_links_, end);
  return true;
}

Result<std::optional<PathInRoot::Start>> PathInRoot::follow(
    Kernel& kernel, int dir, const std::string& name) {
  char target[PATH_MAX];
  ssize_t n = kernel.readlinkat(dir, name.c_str(), target, sizeof target);
  if (n < 0) {
    if (errno == EINVAL) {
      return std::optional<Start>();
    }
    return fail(last_error("readlinkat", ""));
  }
  if (++links_ > kMostSymlinks) {
    return fail(make_error(ELOOP, "resolve", ""));
  }
  std::string_view text(target, static_cast<size_t>(n));
  rest_.insert(0, "/");
  rest_.insert(0, text);
  from_links_ += text.size() + 1;
  return std::optional(text.starts_with('/') ? Start::root : Start::here);
}

}  // namespace lamina::copy
