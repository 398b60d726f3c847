#include "copy/permissions.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/fs_kind.h"
#include "base/kernel.h"
#include "base/mounts.h"
#include "base/worker_pool.h"
#include "copy/link_tracker.h"
#include "copy/report.h"
#include "copy/walk.h"
#include "copy/width.h"

namespace lamina::copy {

namespace {

constexpr int kDirectoryFlags =
    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
constexpr mode_t kAllBits = 07777;
constexpr mode_t kWriteBits = 0222;
constexpr mode_t kDirectoryMode = 0755;

struct KeyHash {
  size_t operator()(const InodeKey& key) const {
    return static_cast<size_t>(key.inode * 31 + key.device);
  }
};

struct SameKey {
  bool operator()(const InodeKey& a, const InodeKey& b) const {
    return a.inode == b.inode && a.device == b.device;
  }
};

// The inodes with several names that need a chmod, and how many of their names
// the tree holds.
class Names {
 public:
  void count(const struct stat& stat) {
    std::lock_guard lock(mutex_);
    Seen& seen = inodes_[{stat.st_dev, stat.st_ino}];
    seen.links = static_cast<uint32_t>(stat.st_nlink);
    ++seen.names;
  }

  // True when the tree held every name when it was counted, and still does.
  bool all_inside(const struct stat& stat) const {
    std::lock_guard lock(mutex_);
    auto found = inodes_.find({stat.st_dev, stat.st_ino});
    return found != inodes_.end() && found->second.links == stat.st_nlink &&
           found->second.names == stat.st_nlink;
  }

  bool any_outside() const {
    std::lock_guard lock(mutex_);
    for (const auto& [key, seen] : inodes_) {
      if (seen.names != seen.links) {
        return true;
      }
    }
    return false;
  }

 private:
  struct Seen {
    uint32_t links = 0;  // No file system has more, MAX_NLINK.
    uint32_t names = 0;
  };

  mutable std::mutex mutex_;
  std::unordered_map<InodeKey, Seen, KeyHash, SameKey> inodes_;
};

enum class Pass {
  count,        // Learn which inodes have names outside.
  find_shared,  // Fail at the first of them.
  lock,         // Change files and directories.
  directories,  // Change directories.
};

struct PassState {
  Pass pass;
  Kernel& kernel;
  Names& names;
  Progress* progress;
  dev_t device = 0;
  std::atomic<uint64_t> files{0};
  std::atomic<uint64_t> directories{0};
};

bool changes_directories(Pass pass) {
  return pass == Pass::lock || pass == Pass::directories;
}

bool needs_chmod(const struct stat& file) {
  return S_ISREG(file.st_mode) && (file.st_mode & kWriteBits) != 0;
}

class PermissionVisitor final : public Visitor {
 public:
  explicit PermissionVisitor(PassState& state)
      : state_(state),
        kernel_(state.kernel) {}

  std::unique_ptr<Visitor> fork() override {
    return std::make_unique<PermissionVisitor>(state_);
  }
  void begin_turn(const Worker& /*worker*/) override {}
  void end_turn() override {
    state_.files += std::exchange(files_, 0);
    state_.directories += std::exchange(directories_, 0);
    if (state_.progress != nullptr) {
      state_.progress->entries += entries_;
    }
    entries_ = 0;
  }

  Result<bool> enter(Dir& dir, int parent, int /*target*/,
                     OpenDirs& open) override {
    ++entries_;
    TRY_ASSIGN(Fd fd, open_directory(parent, dir.name().c_str()));
    TRY(look(fd, dir));
    if (dir.stat.st_dev != state_.device) {
      return fail(make_error(EXDEV, "chmod", "", "it is on another device"));
    }
    TRY(change(fd, dir));
    open.put(dir, Side::source, std::move(fd));
    return true;
  }

  Result<Visit> visit(const Entry& entry) override {
    ++entries_;
    unsigned char type = entry.listed.type;
    bool may_matter = type == DT_UNKNOWN ||
                      (type == DT_REG && state_.pass != Pass::directories);
    if (!may_matter) {
      return Visit::done;
    }
    struct stat stat {};
    if (kernel_.fstatat(entry.source, entry.name(), &stat,
                        AT_SYMLINK_NOFOLLOW) != 0) {
      return fail(last_error("fstatat", ""));
    }
    if (S_ISDIR(stat.st_mode)) {
      --entries_;
      return Visit::enter;
    }
    if (!needs_chmod(stat)) {
      return Visit::done;
    }
    switch (state_.pass) {
      case Pass::count:
        if (stat.st_nlink > 1) {
          state_.names.count(stat);
        }
        break;
      case Pass::find_shared:
        TRY(check_names(stat, EPERM, "its inode has names outside the tree"));
        break;
      case Pass::lock:
        TRY(lock_file(entry, stat));
        break;
      case Pass::directories:
        break;
    }
    return Visit::done;
  }

  Result<Visit> resume(const Entry& /*entry*/) override { return Visit::done; }
  Result<void> leave(Dir& /*dir*/, OpenDirs& /*open*/) override { return {}; }

  // Opens a directory, which this pass may have to make accessible first.
  Result<Fd> open_directory(int parent, const char* name) {
    Fd fd(kernel_.openat(parent, name, kDirectoryFlags, 0));
    if (!fd.valid() && errno == EACCES && changes_directories(state_.pass)) {
      TRY(open_up(parent, name));
      fd.reset(kernel_.openat(parent, name, kDirectoryFlags, 0));
    }
    if (!fd.valid()) {
      return fail(last_error("openat", ""));
    }
    return fd;
  }

  Result<void> look(const Fd& fd, Dir& dir) {
    if (kernel_.fstat(fd.get(), &dir.stat) != 0) {
      return fail(last_error("fstat", ""));
    }
    return {};
  }

  // Gives an open directory its mode, if this pass does and it has another.
  Result<void> change(const Fd& fd, const Dir& dir) {
    if (!changes_directories(state_.pass) ||
        (dir.stat.st_mode & kAllBits) == kDirectoryMode) {
      return {};
    }
    if (kernel_.fchmod(fd.get(), kDirectoryMode) != 0) {
      return fail(last_error("chmod", ""));
    }
    ++directories_;
    return {};
  }

 private:
  // A directory that its owner may not even open.
  Result<void> open_up(int parent, const char* name) {
    struct stat stat {};
    if (kernel_.fstatat(parent, name, &stat, AT_SYMLINK_NOFOLLOW) != 0) {
      return fail(last_error("fstatat", ""));
    }
    if (!S_ISDIR(stat.st_mode) || stat.st_dev != state_.device) {
      return fail(make_error(EACCES, "openat", ""));
    }
    if (kernel_.fchmodat(parent, name, kDirectoryMode) != 0) {
      return fail(last_error("chmod", ""));
    }
    ++directories_;
    return {};
  }

  Result<void> check_names(const struct stat& stat, int code,
                           std::string_view text) {
    if (stat.st_nlink > 1 && !state_.names.all_inside(stat)) {
      return fail(make_error(code, "chmod", "", text));
    }
    return {};
  }

  // The inode that is changed is the one that is looked at: through one
  // descriptor, whatever the name stands for by then.
  Result<void> lock_file(const Entry& entry, struct stat stat) {
    Fd fd(kernel_.openat(
        entry.source, entry.name(),
        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0));
    if (!fd.valid() && errno != EACCES) {
      return fail(last_error("openat", ""));
    }
    if (fd.valid()) {
      if (kernel_.fstat(fd.get(), &stat) != 0) {
        return fail(last_error("fstat", ""));
      }
      if (!needs_chmod(stat)) {
        return {};  // Locked by another of its names meanwhile.
      }
    }
    TRY(check_names(stat, ESTALE, "its inode gained a name meanwhile"));
    mode_t mode = stat.st_mode & kAllBits & ~kWriteBits;
    // Who may not read a file may still own it.
    int done = fd.valid() ? kernel_.fchmod(fd.get(), mode)
                          : kernel_.fchmodat(entry.source, entry.name(), mode);
    if (done != 0) {
      return fail(last_error("chmod", ""));
    }
    ++files_;
    return {};
  }

  PassState& state_;
  Kernel& kernel_;
  uint64_t files_ = 0;
  uint64_t directories_ = 0;
  uint64_t entries_ = 0;
};

// One call of lock() or unlock_directories().
class Locking {
 public:
  Locking(const NamePlace& tree, const PermissionsOptions& options)
      : tree_(tree),
        options_(options),
        kernel_(options.kernel != nullptr ? *options.kernel : real_kernel()),
        pool_(options.pool != nullptr ? *options.pool : WorkerPool::shared()) {}

  Result<PermissionsReport> run(Pass pass) {
    auto done = walk(pass);
    if (!done) {
      Error& error = done.error();
      if (error.subject.empty()) {
        error.subject = tree_.shown;
      }
      return fail(std::move(error));
    }
    return report_;
  }

  bool any_outside() const { return names_.any_outside(); }

 private:
  Result<void> walk(Pass pass) {
    PassState state{pass, kernel_, names_, options_.progress};
    PermissionVisitor first(state);
    auto dir = std::make_shared<Dir>(nullptr, "");
    const char* name = tree_.name.c_str();
    if (kernel_.fstatat(tree_.parent.get(), name, &dir->stat,
                        AT_SYMLINK_NOFOLLOW) != 0) {
      return fail(last_error("fstatat", ""));
    }
    state.device = dir->stat.st_dev;
    // O_NOFOLLOW with O_DIRECTORY: ENOTDIR for a symlink, open(2).
    TRY_ASSIGN(Fd root, first.open_directory(tree_.parent.get(), name));
    TRY(first.look(root, *dir));
    TRY(refuse_mounts(root));
    TRY(first.change(root, *dir));
    first.end_turn();
    TRY_ASSIGN(FsKind kind, fs_kind_of(kernel_, root, ""));
    unsigned width = options_.workers != 0 ? options_.workers
                                           : best_width(kind, usable_cpus());
    Walk walk({kernel_, pool_, Trees::source_only, state.device, width,
               options_.stop});
    walk.open().put(*dir, Side::source, std::move(root));
    auto walked = walk.run(dir, std::make_unique<PermissionVisitor>(state));
    report_ = {state.files, state.directories, walk.workers_used()};
    return walked;
  }

  // A bind mount of the same file system has the same device: only the mount
  // table tells what would be changed through it.
  Result<void> refuse_mounts(const Fd& root) {
    auto path = path_of(kernel_, root);
    if (!path) {
      return {};  // No /proc: the device is all there is to go by.
    }
    TRY_ASSIGN(std::vector<Mount> mounts, mounts_below(*path));
    if (!mounts.empty()) {
      return fail(make_error(
          EBUSY, "chmod", "",
          "'" + escape_name(mounts.front().target) + "' is mounted inside"));
    }
    return {};
  }

  const NamePlace& tree_;
  const PermissionsOptions& options_;
  Kernel& kernel_;
  WorkerPool& pool_;
  Names names_;
  PermissionsReport report_;
};

}  // namespace

Result<PermissionsReport> lock(const NamePlace& tree,
                               const PermissionsOptions& options) {
  Locking locking(tree, options);
  TRY(locking.run(Pass::count));
  if (locking.any_outside()) {
    TRY(locking.run(Pass::find_shared));
  }
  return locking.run(Pass::lock);
}

Result<PermissionsReport> unlock_directories(
    const NamePlace& tree, const PermissionsOptions& options) {
  return Locking(tree, options).run(Pass::directories);
}

}  // namespace lamina::copy
