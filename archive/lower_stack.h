// The layers below the one that is applied, seen as one tree: the upper hides
// the lower, whiteouts and opaque directories obeyed, in overlayfs's form and
// as ".wh." names.
//
// Only looks. Names are resolved component by component, a parent that is a
// symlink inside the stack. One thread.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace lamina {
class Kernel;
}

namespace lamina::archive {

class LowerStack {
 public:
  using SharedFd = std::shared_ptr<const Fd>;

  // `layers`: the lowest first.
  LowerStack(Kernel& kernel, const std::vector<SharedFd>& layers);

  bool empty() const { return roots_.empty(); }

  // Where an inode lies: a name in a directory of one layer. `path` is where
  // the stack shows it, without symlinks.
  struct Found {
    std::string path;
    SharedFd dir;
    std::string name;
    struct stat stat {};
  };

  // What `path` (cleaned) leads to, its last component not followed. Nothing
  // when no layer has it, or one hides it.
  Result<std::optional<Found>> find(std::string_view path) const;

 private:
  // A directory of the stack: those of the layers that it is made of, the
  // uppermost first.
  struct Level {
    std::string path;
    std::vector<SharedFd> dirs;
  };
  // One name of a level. No dirs: something else than a directory.
  struct Seen {
    SharedFd in;
    struct stat stat {};
    std::vector<SharedFd> dirs;
  };

  Result<std::optional<Seen>> look(const Level& level,
                                   const std::string& name) const;
  Result<bool> enter(const SharedFd& dir, const std::string& name,
                     Seen& seen) const;
  bool has(const SharedFd& dir, const std::string& name) const;
  bool is_opaque(const Fd& dir) const;

  Kernel& kernel_;
  std::vector<SharedFd> roots_;
};

}  // namespace lamina::archive
