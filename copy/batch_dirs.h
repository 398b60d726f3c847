// The directories of one batch: made where they are missing, found through
// symlinks where those stay inside the root.
//
// Each real directory is one node, whatever names lead to it. Nodes are made on
// one thread; those that write files ask for descriptors at any time, which
// OpenDirs keeps within the budget.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/fs_kind.h"
#include "copy/dir.h"
#include "copy/open_dirs.h"
#include "copy/path_in_root.h"

namespace lamina::copy {

// Constant once made.
struct BatchDir {
  uint32_t id = 0;
  uint32_t above = 0;
  std::shared_ptr<Dir> dir;
  bool sets_group = false;   // Set-group-id: children get its group.
  bool default_acl = false;  // Decides what modes new inodes get.
  bool folds = false;        // Case, or may; see copy/case_folding.h.
};

class BatchDirs {
 public:
  // `umask` is what the calling thread's takes from the modes of what it makes.
  BatchDirs(Kernel& kernel, mode_t umask)
      : kernel_(kernel),
        umask_(umask),
        open_(kernel) {}

  // Begins with the root.
  Result<void> start(const Fd& root);

  dev_t device() const { return device_; }
  FsKind kind() const { return kind_; }

  // Finds the directory that the name `name` in `above` leads to; it is made
  // (0755) when it is absent. A symlink is followed inside the root.
  Result<const BatchDir*> enter(const BatchDir& above, std::string_view name);

  const BatchDir& root() const { return nodes_.front(); }

  // True when the name is a directory that was entered.
  bool knows(const BatchDir& above, std::string_view name) const;

  // How many were made.
  uint64_t made() const { return made_; }

  // A descriptor of a directory. Any thread.
  Result<SharedFd> fd(const BatchDir& node) {
    return open_.get(*node.dir, Side::target);
  }

 private:
  using Identity = std::pair<dev_t, ino_t>;

  BatchDir* find(const BatchDir& above, std::string_view name);
  Result<BatchDir*> make(const BatchDir& above, const std::string& name);
  // Opens what is there; nothing when it is absent, ENOTDIR when it is no
  // directory.
  Result<BatchDir*> adopt(const BatchDir& above, const std::string& name);
  Result<const BatchDir*> follow(const BatchDir& above, PathInRoot path);
  Result<Fd> open_child(const BatchDir& above, const std::string& name);
  BatchDir& add(const BatchDir* above, const std::string& name, Fd fd);
  Result<void> learn(BatchDir& node, const Fd& fd, const struct stat& stat);
  static std::string key(const BatchDir& above, std::string_view name);

  Kernel& kernel_;
  const mode_t umask_;
  dev_t device_ = 0;
  FsKind kind_ = FsKind::other;
  OpenDirs open_;
  std::deque<BatchDir> nodes_;
  std::unordered_map<std::string, BatchDir*> by_name_;
  std::map<Identity, BatchDir*> by_identity_;
  uint64_t made_ = 0;
};

}  // namespace lamina::copy
