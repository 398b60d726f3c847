// One directory of a walk: its place in the tree, and what is still to be done
// below it.
//
// A Dir lives as long as something needs it: its own scan, a child, an entry of
// the link tracker. Its descriptors may be closed meanwhile to keep within the
// budget; OpenDirs finds the directory again. Fields that a visitor writes are
// written before the directory's children exist, or after the last is done, so
// they need no lock.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"

namespace lamina::copy {

struct Abilities;

// The two trees of a copy. Walks over one tree use only `source`.
enum class Side : unsigned { source = 0, target = 1 };

using SharedFd = std::shared_ptr<const Fd>;

class Dir : public std::enable_shared_from_this<Dir> {
 public:
  Dir(std::shared_ptr<Dir> parent, std::string_view name)
      : parent_(std::move(parent)),
        name_(name) {}
  Dir(const Dir&) = delete;
  Dir& operator=(const Dir&) = delete;
  ~Dir();

  const std::shared_ptr<Dir>& parent() const { return parent_; }
  const std::string& name() const { return name_; }

  // Relative to the root of the walk; "" for the root itself.
  std::string path() const;
  // The path of a name in this directory.
  std::string path_of(std::string_view child) const;

  // What a visitor notes on entering.
  struct stat stat {};             // Of the source directory.
  Abilities* abilities = nullptr;  // Of the source's and target's devices.
  mode_t born_mode = 0;            // Permission bits the target has now.
  bool has_xattrs = false;         // The source has some to be copied.
  // Entries younger than the walk. Counted by every thread that has a part of
  // the directory.
  std::atomic<uint32_t> newcomers{0};

 private:
  friend class OpenDirs;
  friend class Walk;
  friend class Walker;

  std::shared_ptr<Dir> parent_;
  const std::string name_;
  // The scan, its chunks and the children not yet finished.
  std::atomic<uint32_t> pending_{1};

  // Guarded by OpenDirs.
  SharedFd fds_[2];
  std::list<std::shared_ptr<Dir>>::iterator place_;
  bool listed_ = false;
  dev_t target_device_ = 0;
  ino_t target_inode_ = 0;
};

}  // namespace lamina::copy
