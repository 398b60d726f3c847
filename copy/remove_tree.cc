#include "copy/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "base/fs_kind.h"
#include "base/kernel.h"
#include "base/mounts.h"
#include "base/path.h"
#include "copy/report.h"
#include "copy/walk.h"
#include "copy/width.h"

namespace lamina::copy {

namespace {

constexpr int kDirectoryFlags =
    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;

struct RemoveState {
  Kernel& kernel;
  Progress* progress = nullptr;
  dev_t device = 0;
  std::atomic<uint64_t> removed{0};
};

class RemoveVisitor final : public Visitor {
 public:
  explicit RemoveVisitor(RemoveState& state)
      : state_(state),
        kernel_(state.kernel) {}

  std::unique_ptr<Visitor> fork() override {
    return std::make_unique<RemoveVisitor>(state_);
  }
  void begin_turn(const Worker& /*worker*/) override {}
  void end_turn() override {
    if (state_.progress != nullptr) {
      state_.progress->entries += removed_;
    }
    state_.removed += std::exchange(removed_, 0);
  }

  Result<bool> enter(Dir& dir, int parent, int /*target*/,
                     OpenDirs& open) override {
    const char* name = dir.name().c_str();
    Fd fd(kernel_.openat(parent, name, kDirectoryFlags, 0));
    if (!fd.valid() && errno == EACCES) {
      // Only ever a directory: its owner may lock himself out of it.
      if (kernel_.fchmodat(parent, name, 0700) != 0) {
        return fail(last_error("chmod", ""));
      }
      fd.reset(kernel_.openat(parent, name, kDirectoryFlags, 0));
    }
    if (!fd.valid()) {
      // Gone already, or no directory any more: the name is what is to go.
      if (errno == ENOENT) {
        return false;
      }
      if (errno == ENOTDIR || errno == ELOOP) {
        TRY(unlink(parent, name));
        return false;
      }
      return fail(last_error("openat", ""));
    }
    if (kernel_.fstat(fd.get(), &dir.stat) != 0) {
      return fail(last_error("fstat", ""));
    }
    if (dir.stat.st_dev != state_.device) {
      return fail(make_error(EXDEV, "remove", "", "it is on another device"));
    }
    open.put(dir, Side::source, std::move(fd));
    return true;
  }

  Result<Visit> visit(const Entry& entry) override {
    if (kernel_.unlinkat(entry.source, entry.name(), 0) == 0) {
      ++removed_;
      return Visit::done;
    }
    if (errno == EISDIR && entry.listed.type == DT_UNKNOWN) {
      return Visit::enter;
    }
    if (errno == EACCES) {
      TRY(make_writable(entry));
      TRY(unlink(entry.source, entry.name()));
      return Visit::done;
    }
    if (errno == ENOENT) {
      return Visit::done;
    }
    return fail(last_error("unlinkat", ""));
  }

  Result<Visit> resume(const Entry& /*entry*/) override { return Visit::done; }

  Result<void> leave(Dir& dir, OpenDirs& open) override {
    if (!dir.parent()) {
      return {};  // The root is the caller's.
    }
    TRY_ASSIGN(SharedFd parent, open.get(*dir.parent(), Side::source));
    if (kernel_.unlinkat(parent->get(), dir.name().c_str(), AT_REMOVEDIR) ==
            0 ||
        errno == ENOENT) {
      ++removed_;
      return {};
    }
    return fail(last_error("unlinkat", dir.path()));
  }

 private:
  Result<void> unlink(int dir, const char* name) {
    if (kernel_.unlinkat(dir, name, 0) != 0 && errno != ENOENT) {
      return fail(last_error("unlinkat", ""));
    }
    ++removed_;
    return {};
  }

  Result<void> make_writable(const Entry& entry) {
    if (kernel_.fchmod(entry.source, 0700) != 0) {
      return fail(last_error("chmod", entry.dir.path()));
    }
    return {};
  }

  RemoveState& state_;
  Kernel& kernel_;
  uint64_t removed_ = 0;
};

// A bind mount of the same file system has the same device, so that only the
// mount table tells what would be emptied through it.
Result<void> refuse_mounts(Kernel& kernel, const Fd& root,
                           std::string_view subject) {
  auto path = path_of(kernel, root);
  if (!path) {
    return {};  // No /proc: the device is all there is to go by.
  }
  TRY_ASSIGN(std::vector<Mount> mounts, mounts_below(*path));
  if (!mounts.empty()) {
    return fail(make_error(
        EBUSY, "remove", subject,
        "'" + escape_name(mounts.front().target) + "' is mounted inside"));
  }
  return {};
}

Result<Fd> open_root(Kernel& kernel, int parent, const std::string& name) {
  Fd fd(kernel.openat(parent, name.c_str(), kDirectoryFlags, 0));
  if (!fd.valid() && errno == EACCES &&
      kernel.fchmodat(parent, name.c_str(), 0700) == 0) {
    fd.reset(kernel.openat(parent, name.c_str(), kDirectoryFlags, 0));
  }
  if (!fd.valid()) {
    return fail(last_error("openat", name));
  }
  return fd;
}

// One walk by at most `width` workers; an Error's subject is below `root`.
Result<unsigned> empty(RemoveState& state, WorkerPool& pool, const Fd& root,
                       unsigned width, const std::stop_token& stop) {
  auto dir = std::make_shared<Dir>(nullptr, "");
  if (state.kernel.fstat(root.get(), &dir->stat) != 0) {
    return fail(last_error("fstat", ""));
  }
  state.device = dir->stat.st_dev;
  Walk walk(
      {state.kernel, pool, Trees::source_only, state.device, width, stop});
  // A description of its own: the caller's offset is the caller's.
  Fd own(state.kernel.openat(root.get(), ".", kDirectoryFlags, 0));
  if (!own.valid()) {
    return fail(last_error("openat", ""));
  }
  walk.open().put(*dir, Side::source, std::move(own));
  TRY(walk.run(dir, std::make_unique<RemoveVisitor>(state)));
  return walk.workers_used();
}

bool ran_out_of_descriptors(const Error& error) {
  return error.code == EMFILE || error.code == ENFILE;
}

}  // namespace

Result<RemoveReport> remove_children(const Fd& root, std::string_view subject,
                                     const RemoveOptions& options) {
  Kernel& kernel = options.kernel != nullptr ? *options.kernel : real_kernel();
  WorkerPool& pool =
      options.pool != nullptr ? *options.pool : WorkerPool::shared();
  RemoveState state{kernel, options.progress};
  TRY(refuse_mounts(kernel, root, subject));
  TRY_ASSIGN(FsKind kind, fs_kind_of(kernel, root, subject));
  unsigned width =
      options.workers != 0 ? options.workers : best_width(kind, usable_cpus());
  auto workers = empty(state, pool, root, width, options.stop);
  if (!workers && width > 1 && ran_out_of_descriptors(workers.error())) {
    // Workers took each other's last descriptors; one alone needs few. What
    // went wrong for want of them must still be cleaned up.
    workers = empty(state, pool, root, 1, options.stop);
  }
  if (!workers) {
    Error& error = workers.error();
    error.subject = error.subject.empty()
                        ? std::string(subject)
                        : std::string(subject) + "/" + error.subject;
    return fail(std::move(error));
  }
  return RemoveReport{state.removed, *workers};
}

Result<RemoveReport> remove_tree(const Fd& parent, std::string_view name,
                                 const RemoveOptions& options) {
  Kernel& kernel = options.kernel != nullptr ? *options.kernel : real_kernel();
  std::string text(name);
  struct stat stat {};
  if (kernel.fstatat(parent.get(), text.c_str(), &stat, AT_SYMLINK_NOFOLLOW) !=
      0) {
    return fail(last_error("fstatat", name));
  }
  if (!S_ISDIR(stat.st_mode)) {
    if (kernel.unlinkat(parent.get(), text.c_str(), 0) != 0) {
      return fail(last_error("unlinkat", name));
    }
    return RemoveReport{1, 1};
  }
  RemoveReport report;
  {
    TRY_ASSIGN(Fd root, open_root(kernel, parent.get(), text));
    TRY_ASSIGN(report, remove_children(root, name, options));
  }
  if (kernel.unlinkat(parent.get(), text.c_str(), AT_REMOVEDIR) != 0) {
    return fail(last_error("unlinkat", name));
  }
  ++report.removed;
  return report;
}

}  // namespace lamina::copy
