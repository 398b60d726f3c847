#include "cache/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "base/kernel.h"

namespace lamina::cache {

namespace {

// flock(2) cannot be woken by a stop token, so waiting is asking again.
constexpr std::chrono::microseconds kFirstPause{200};
constexpr std::chrono::microseconds kLastPause{10'000};

}  // namespace

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  if (this != &other) {
    release();
    fd_ = std::move(other.fd_);
  }
  return *this;
}

void FileLock::release() {
  if (fd_.valid()) {
    ::flock(fd_.get(), LOCK_UN);
    fd_.reset();
  }
}

Result<bool> FileLock::try_take(Hold hold, std::string_view subject) {
  int how = (hold == Hold::alone ? LOCK_EX : LOCK_SH) | LOCK_NB;
  while (::flock(fd_.get(), how) != 0) {
    if (errno == EWOULDBLOCK) {
      return false;
    }
    if (errno != EINTR) {
      return fail(last_error("flock", subject));
    }
  }
  return true;
}

Result<void> FileLock::take(Hold hold, std::string_view subject,
                            const std::stop_token& stop) {
  for (auto pause = kFirstPause;; pause = std::min(pause * 2, kLastPause)) {
    TRY_ASSIGN(bool taken, try_take(hold, subject));
    if (taken) {
      return {};
    }
    if (stop.stop_requested()) {
      return fail(make_error(ECANCELED, "flock", subject, "stopped"));
    }
    std::this_thread::sleep_for(pause);
  }
}

NameLock::NameLock(int dir, std::string name, FileLock lock)
    : dir_(dir),
      name_(std::move(name)),
      lock_(std::move(lock)) {}

Result<NameLock> NameLock::take(const Fd& dir, std::string name,
                                const std::stop_token& stop) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
  Kernel& kernel = real_kernel();
  for (;;) {
    Fd fd(kernel.openat(dir.get(), name.c_str(), kFlags, 0600));
    if (!fd.valid()) {
      return fail(last_error("openat", name));
    }
    FileLock lock(std::move(fd));
    TRY(lock.take(Hold::alone, name, stop));
    // Whoever held it before has removed the file with it.
    struct stat locked {};
    struct stat named {};
    if (kernel.fstat(lock.fd().get(), &locked) != 0) {
      return fail(last_error("fstat", name));
    }
    if (kernel.fstatat(dir.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) ==
            0 &&
        named.st_ino == locked.st_ino) {
      return NameLock(dir.get(), std::move(name), std::move(lock));
    }
  }
}

NameLock::~NameLock() {
  if (lock_.valid()) {
    // While it is held, so that it is not another's.
    [[maybe_unused]] int ignored =
        real_kernel().unlinkat(dir_, name_.c_str(), 0);
  }
}

}  // namespace lamina::cache
