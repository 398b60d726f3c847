#include "base/kernel.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string>

namespace lamina {

namespace {

// Numbers that Debian 12's headers do not know yet; the same on every
// architecture since Linux 5.
constexpr long kFchmodat2 = 452;
constexpr long kSetxattrat = 463;
constexpr long kGetxattrat = 464;
constexpr long kListxattrat = 465;

// struct xattr_args of linux/xattr.h (Linux 6.13).
struct XattrArgs {
  uint64_t value;
  uint32_t size;
  uint32_t flags;
};

// A call that is missing (ENOSYS) or refused by a seccomp profile (EPERM). The
// second is only believed for the first answer ever seen: later an EPERM is a
// real one.
class NewCall {
 public:
  bool usable() const { return state_.load(kRelaxed) != State::missing; }

  // Notes the outcome of a call; true when the caller should use the older
  // way instead.
  bool missing(long outcome) {
    if (outcome >= 0) {
      state_.store(State::works, kRelaxed);
      return false;
    }
    if (errno == ENOSYS) {
      state_.store(State::missing, kRelaxed);
      return true;
    }
    // EPERM could be the object's or the filter's: only the older way tells.
    return errno == EPERM && state_.load(kRelaxed) != State::works;
  }

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;
  enum class State { unknown, works, missing };
  std::atomic<State> state_{State::unknown};
};

// "/proc/self/fd/N/NAME": a name in an open directory, for calls that only take
// paths. The last component is not followed by the l* calls.
std::string proc_path(int dir, const char* name) {
  return "/proc/self/fd/" + std::to_string(dir) + "/" + name;
}

class RealKernel final : public Kernel {
 public:
  int openat(int dir, const char* name, int flags, mode_t mode) override {
    return ::openat(dir, name, flags, mode);
  }
  int close(int fd) override { return ::close(fd); }
  int fstat(int fd, struct stat* out) override { return ::fstat(fd, out); }
  int fstatat(int dir, const char* name, struct stat* out, int flags) override {
    return ::fstatat(dir, name, out, flags);
  }
  int fstatfs(int fd, struct statfs* out) override {
    return ::fstatfs(fd, out);
  }
  ssize_t getdents(int fd, void* buffer, size_t size) override {
    return ::syscall(SYS_getdents64, fd, buffer, size);
  }
  ssize_t readlinkat(int dir, const char* name, char* buffer,
                     size_t size) override {
    return ::readlinkat(dir, name, buffer, size);
  }
  ssize_t read(int fd, void* buffer, size_t size) override {
    return ::read(fd, buffer, size);
  }
  ssize_t pread(int fd, void* buffer, size_t size, off_t offset) override {
    return ::pread(fd, buffer, size, offset);
  }
  ssize_t write(int fd, const void* buffer, size_t size) override {
    return ::write(fd, buffer, size);
  }
  ssize_t pwrite(int fd, const void* buffer, size_t size,
                 off_t offset) override {
    return ::pwrite(fd, buffer, size, offset);
  }
  off_t lseek(int fd, off_t offset, int whence) override {
    return ::lseek(fd, offset, whence);
  }
  ssize_t copy_file_range(int in, off_t* in_offset, int out, off_t* out_offset,
                          size_t size) override {
    return ::copy_file_range(in, in_offset, out, out_offset, size, 0);
  }
  int ficlone(int out, int in) override { return ::ioctl(out, FICLONE, in); }
  int ftruncate(int fd, off_t size) override { return ::ftruncate(fd, size); }
  int fallocate(int fd, int mode, off_t offset, off_t size) override {
    return ::fallocate(fd, mode, offset, size);
  }
  int mkdirat(int dir, const char* name, mode_t mode) override {
    return ::mkdirat(dir, name, mode);
  }
  int symlinkat(const char* target, int dir, const char* name) override {
    return ::symlinkat(target, dir, name);
  }
  int mknodat(int dir, const char* name, mode_t mode, dev_t device) override {
    return ::mknodat(dir, name, mode, device);
  }
  int linkat(int from_dir, const char* from, int to_dir,
             const char* to) override {
    return ::linkat(from_dir, from, to_dir, to, 0);
  }
  int unlinkat(int dir, const char* name, int flags) override {
    return ::unlinkat(dir, name, flags);
  }
  int renameat2(int from_dir, const char* from, int to_dir, const char* to,
                unsigned flags) override {
    return ::renameat2(from_dir, from, to_dir, to, flags);
  }
  int fchown(int fd, uid_t uid, gid_t gid) override {
    return ::fchown(fd, uid, gid);
  }
  int fchownat(int dir, const char* name, uid_t uid, gid_t gid) override {
    return ::fchownat(dir, name, uid, gid, AT_SYMLINK_NOFOLLOW);
  }
  int fchmod(int fd, mode_t mode) override { return ::fchmod(fd, mode); }

  int fchmodat(int dir, const char* name, mode_t mode) override {
    if (fchmodat2_.usable()) {
      long done = ::syscall(kFchmodat2, dir, name, mode, AT_SYMLINK_NOFOLLOW);
      if (!fchmodat2_.missing(done)) {
        return static_cast<int>(done);
      }
    }
    int fd = ::openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
      return -1;
    }
    std::string path = "/proc/self/fd/" + std::to_string(fd);
    int done = ::chmod(path.c_str(), mode);
    int saved = errno;
    ::close(fd);
    errno = saved;
    return done;
  }

  int futimens(int fd, const struct timespec times[2]) override {
    return ::futimens(fd, times);
  }
  int utimensat(int dir, const char* name,
                const struct timespec times[2]) override {
    return ::utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW);
  }
  ssize_t flistxattr(int fd, char* list, size_t size) override {
    return ::flistxattr(fd, list, size);
  }
  ssize_t fgetxattr(int fd, const char* name, void* value,
                    size_t size) override {
    return ::fgetxattr(fd, name, value, size);
  }
  int fsetxattr(int fd, const char* name, const void* value,
                size_t size) override {
    return ::fsetxattr(fd, name, value, size, 0);
  }
  int fremovexattr(int fd, const char* name) override {
    return ::fremovexattr(fd, name);
  }

  ssize_t listxattrat(int dir, const char* name, char* list,
                      size_t size) override {
    if (listxattrat_.usable()) {
      long done =
          ::syscall(kListxattrat, dir, name, AT_SYMLINK_NOFOLLOW, list, size);
      if (!listxattrat_.missing(done)) {
        return done;
      }
    }
    return ::llistxattr(proc_path(dir, name).c_str(), list, size);
  }
  ssize_t getxattrat(int dir, const char* name, const char* attribute,
                     void* value, size_t size) override {
    if (getxattrat_.usable()) {
      XattrArgs args{reinterpret_cast<uint64_t>(value),
                     static_cast<uint32_t>(size), 0};
      long done = ::syscall(kGetxattrat, dir, name, AT_SYMLINK_NOFOLLOW,
                            attribute, &args, sizeof args);
      if (!getxattrat_.missing(done)) {
        return done;
      }
    }
    return ::lgetxattr(proc_path(dir, name).c_str(), attribute, value, size);
  }
  int setxattrat(int dir, const char* name, const char* attribute,
                 const void* value, size_t size) override {
    if (setxattrat_.usable()) {
      XattrArgs args{reinterpret_cast<uint64_t>(value),
                     static_cast<uint32_t>(size), 0};
      long done = ::syscall(kSetxattrat, dir, name, AT_SYMLINK_NOFOLLOW,
                            attribute, &args, sizeof args);
      if (!setxattrat_.missing(done)) {
        return static_cast<int>(done);
      }
    }
    return ::lsetxattr(proc_path(dir, name).c_str(), attribute, value, size, 0);
  }

  int syncfs(int fd) override { return ::syncfs(fd); }
  int fsync(int fd) override { return ::fsync(fd); }
  int unshare_umask() override {
    if (::unshare(CLONE_FS) != 0) {
      return -1;
    }
    ::umask(0);
    return 0;
  }

 private:
  NewCall fchmodat2_;
  NewCall listxattrat_;
  NewCall getxattrat_;
  NewCall setxattrat_;
};

}  // namespace

Kernel& real_kernel() {
  // Deliberately immortal: threads may outlive static destruction.
  static auto* const kernel = new RealKernel;
  return *kernel;
}

}  // namespace lamina
