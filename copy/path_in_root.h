// A path on its way through a root: its components one by one, with the targets
// of symlinks put in front of what is still to come.
//
// Knows the text of the path, not the tree: the caller steps from directory to
// directory, says where it met a symlink, and decides what ".." and an absolute
// target mean in its root. openat2(2) could resolve a whole path, but not make
// what is missing on the way, and is refused in many containers. One thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lamina {
class Kernel;
}

namespace lamina::copy {

class PathInRoot {
 public:
  // Where the target of a symlink begins: in the symlink's directory, or at the
  // root.
  enum class Start { here, root };

  explicit PathInRoot(std::string_view path)
      : rest_(path) {}

  // Takes the next component, "." and ".." included; false at the end.
  bool take(std::string* name);

  // True when there is no component left.
  bool at_end() const {
    return rest_.find_first_not_of('/') == std::string::npos;
  }

  // True when the component taken last came from a symlink's target.
  bool inside_link() const { return inside_link_; }

  // Reads the symlink `name` of the directory `dir` and puts its target in
  // front of what is still to come. Nothing when `name` is no symlink. ELOOP
  // beyond as many as the kernel follows, path_resolution(7).
  Result<std::optional<Start>> follow(Kernel& kernel, int dir,
                                      const std::string& name);

 private:
  std::string rest_;
  size_t from_links_ = 0;  // How much of the front of `rest_` came from links.
  int links_ = 0;          // Followed so far.
  bool inside_link_ = false;
};

}  // namespace lamina::copy
