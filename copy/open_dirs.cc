#include "copy/open_dirs.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/kernel.h"

namespace lamina::copy {

namespace {

constexpr int kOpenFlags =
    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
// A walk can always go on with the directory it is in and the one above.
constexpr size_t kAlwaysAllowed = 4;

// Directories held open by all walks of the process.
std::atomic<size_t> open_in_process{0};

size_t process_budget() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
      limit.rlim_cur == RLIM_INFINITY) {
    return 4096;
  }
  auto most = static_cast<size_t>(limit.rlim_cur);
  constexpr size_t kTight = 64;
  if (most > kTight) {
    return most / 2;
  }
  // So few that what is open already counts.
  size_t free = 0;
  for (size_t fd = 0; fd < most; ++fd) {
    free += fcntl(static_cast<int>(fd), F_GETFD) < 0 ? 1 : 0;
  }
  return free / 2;
}

size_t index(Side side) {
  return static_cast<size_t>(side);
}

}  // namespace

OpenDirs::OpenDirs(Kernel& kernel)
    : kernel_(kernel) {}

OpenDirs::~OpenDirs() {
  // Who remembers a directory, as the links of a copy do, must not keep it
  // open: clean-up needs the descriptors.
  if (const std::shared_ptr<Dir> root = root_.lock()) {
    used_.push_back(root);
  }
  for (const std::shared_ptr<Dir>& dir : used_) {
    close(*dir);
    dir->listed_ = false;
  }
}

void OpenDirs::close(Dir& dir) {
  for (SharedFd& fd : dir.fds_) {
    if (fd) {
      fd.reset();
      --open_;
      --open_in_process;
    }
  }
}

SharedFd OpenDirs::find(Dir& dir, Side side) {
  std::lock_guard lock(mutex_);
  SharedFd fd = dir.fds_[index(side)];
  if (fd && dir.listed_) {
    used_.splice(used_.begin(), used_, dir.place_);
  }
  return fd;
}

void OpenDirs::keep(Dir& dir, Side side, SharedFd fd) {
  std::lock_guard lock(mutex_);
  if (!dir.fds_[index(side)]) {
    ++open_;
    ++open_in_process;
  }
  dir.fds_[index(side)] = std::move(fd);
  if (!dir.parent()) {
    root_ = dir.weak_from_this();  // Never closed before the end.
  } else if (dir.listed_) {
    used_.splice(used_.begin(), used_, dir.place_);
  } else {
    dir.place_ = used_.insert(used_.begin(), dir.shared_from_this());
    dir.listed_ = true;
  }
  shrink();
}

SharedFd OpenDirs::put(Dir& dir, Side side, Fd fd) {
  auto shared = std::make_shared<const Fd>(std::move(fd));
  keep(dir, side, shared);
  return shared;
}

void OpenDirs::shrink() {
  static const size_t budget = process_budget();
  while (open_ > kAlwaysAllowed && open_in_process.load() > budget &&
         used_.size() > kAlwaysAllowed / 2) {
    const std::shared_ptr<Dir> held = used_.back();
    Dir& dir = *held;
    if (!note_target(dir)) {
      return;  // Not to be recognised again: better over the budget.
    }
    close(dir);
    used_.pop_back();
    dir.listed_ = false;
  }
}

// Requires the mutex.
bool OpenDirs::note_target(Dir& dir) {
  const SharedFd& target = dir.fds_[index(Side::target)];
  if (!target || dir.target_inode_ != 0) {
    return true;
  }
  struct stat now {};
  if (kernel_.fstat(target->get(), &now) != 0) {
    return false;
  }
  dir.target_device_ = now.st_dev;
  dir.target_inode_ = now.st_ino;
  return true;
}

Result<void> OpenDirs::remember(Dir& dir) {
  std::lock_guard lock(mutex_);
  if (!note_target(dir)) {
    return fail(last_error("fstat", ""));
  }
  return {};
}

bool OpenDirs::is_same(const Dir& dir, Side side, const Fd& fd) const {
  struct stat now {};
  if (kernel_.fstat(fd.get(), &now) != 0) {
    return false;
  }
  return side == Side::source
             ? now.st_dev == dir.stat.st_dev && now.st_ino == dir.stat.st_ino
             : now.st_dev == dir.target_device_ &&
                   now.st_ino == dir.target_inode_;
}

Result<Fd> OpenDirs::reopen(Dir& dir, Side side) {
  std::vector<Dir*> missing;
  SharedFd start;
  for (Dir* at = &dir; !start; at = at->parent().get()) {
    missing.push_back(at);
    start = find(*at->parent(), side);
  }
  Fd held;
  for (size_t i = missing.size(); i-- > 0;) {
    int from = held.valid() ? held.get() : start->get();
    Fd next(kernel_.openat(from, missing[i]->name().c_str(), kOpenFlags, 0));
    if (!next.valid()) {
      return fail(last_error("openat", missing[i]->path()));
    }
    held = std::move(next);
  }
  if (!is_same(dir, side, held)) {
    return fail(make_error(ESTALE, "openat", dir.path(),
                           "another directory took its place"));
  }
  return held;
}

Result<SharedFd> OpenDirs::get(Dir& dir, Side side) {
  if (SharedFd fd = find(dir, side)) {
    return fd;
  }
  TRY_ASSIGN(Fd fd, reopen(dir, side));
  auto shared = std::make_shared<const Fd>(std::move(fd));
  keep(dir, side, shared);
  return shared;
}

void OpenDirs::reopen_parent(Dir& dir) {
  Dir* parent = dir.parent().get();
  if (parent == nullptr) {
    return;
  }
  for (Side side : {Side::source, Side::target}) {
    SharedFd child;
    {
      std::lock_guard lock(mutex_);
      if (parent->fds_[index(side)] || !dir.fds_[index(side)]) {
        continue;
      }
      child = dir.fds_[index(side)];
    }
    Fd fd(kernel_.openat(child->get(), "..", kOpenFlags, 0));
    if (fd.valid() && is_same(*parent, side, fd)) {
      keep(*parent, side, std::make_shared<const Fd>(std::move(fd)));
    }
  }
}

void OpenDirs::forget(Dir& dir) {
  std::vector<SharedFd> closing;  // Closed after the lock is gone.
  std::lock_guard lock(mutex_);
  for (SharedFd& fd : dir.fds_) {
    if (fd) {
      closing.push_back(std::exchange(fd, nullptr));
      --open_;
      --open_in_process;
    }
  }
  if (dir.listed_) {
    used_.erase(dir.place_);
    dir.listed_ = false;
  }
}

}  // namespace lamina::copy
