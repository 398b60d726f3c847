// Each call of the kernel: judged, then made, or not.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "tests/support/faulty_kernel.h"

namespace lamina::test {
namespace {

std::string path_of(int fd) {
  if (fd == AT_FDCWD)
    return "";
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  std::array<char, PATH_MAX> text;
  const ssize_t n = ::readlink(link.c_str(), text.data(), text.size());
  return n < 0 ? "?" : std::string(text.data(), static_cast<std::size_t>(n));
}

std::string path_of(int fd, const char* name) {
  if (name == nullptr)
    return fd < 0 ? "" : path_of(fd);
  const std::string_view view(name);
  if (view.starts_with('/') || fd == AT_FDCWD)
    return name;
  return view == "." ? path_of(fd) : path_of(fd) + "/" + name;
}

}  // namespace

template <typename Real>
auto FaultyKernel::act(Op op, int fd, const char* name, const char* word,
                       Real real) {
  const int saved = errno;
  const Verdict verdict = judge({op, path_of(fd, name), word});
  for (const auto& body : verdict.before)
    body(fd);
  errno = saved;
  using Outcome = decltype(real(verdict));
  if (verdict.code) {
    if (op == Op::close)
      behind_.close(fd);
    errno = *verdict.code;
    return static_cast<Outcome>(-1);
  }
  if (verdict.value)
    return static_cast<Outcome>(*verdict.value);
  return real(verdict);
}

int FaultyKernel::openat(int dir, const char* name, int flags, mode_t mode) {
  const Op op = (flags & O_CREAT) != 0 ? Op::create : Op::openat;
  return act(op, dir, name, "", [&](const Verdict&) {
    return behind_.openat(dir, name, flags, mode);
  });
}

int FaultyKernel::close(int fd) {
  return act(Op::close, fd, nullptr, "",
             [&](const Verdict&) { return behind_.close(fd); });
}

int FaultyKernel::fstat(int fd, struct stat* out) {
  return act(Op::fstat, fd, nullptr, "", [&](const Verdict& verdict) {
    const int done = behind_.fstat(fd, out);
    if (done == 0 && verdict.change_stat)
      verdict.change_stat(*out);
    return done;
  });
}

int FaultyKernel::fstatat(int dir, const char* name, struct stat* out,
                          int flags) {
  return act(Op::fstatat, dir, name, "", [&](const Verdict& verdict) {
    const int done = behind_.fstatat(dir, name, out, flags);
    if (done == 0 && verdict.change_stat)
      verdict.change_stat(*out);
    return done;
  });
}

int FaultyKernel::fstatfs(int fd, struct statfs* out) {
  return act(Op::fstatfs, fd, nullptr, "", [&](const Verdict& verdict) {
    const int done = behind_.fstatfs(fd, out);
    if (done == 0 && verdict.change_statfs)
      verdict.change_statfs(*out);
    return done;
  });
}

ssize_t FaultyKernel::getdents(int fd, void* buffer, size_t size) {
  return act(Op::getdents, fd, nullptr, "", [&](const Verdict&) {
    return behind_.getdents(fd, buffer, size);
  });
}

ssize_t FaultyKernel::readlinkat(int dir, const char* name, char* buffer,
                                 size_t size) {
  return act(Op::readlinkat, dir, name, "", [&](const Verdict&) {
    return behind_.readlinkat(dir, name, buffer, size);
  });
}

ssize_t FaultyKernel::read(int fd, void* buffer, size_t size) {
  return act(Op::read, fd, nullptr, "", [&](const Verdict& verdict) {
    return behind_.read(fd, buffer, std::min(size, verdict.limit));
  });
}

ssize_t FaultyKernel::pread(int fd, void* buffer, size_t size, off_t offset) {
  return act(Op::pread, fd, nullptr, "", [&](const Verdict& verdict) {
    return behind_.pread(fd, buffer, std::min(size, verdict.limit), offset);
  });
}

ssize_t FaultyKernel::write(int fd, const void* buffer, size_t size) {
  return act(Op::write, fd, nullptr, "", [&](const Verdict& verdict) {
    return behind_.write(fd, buffer, std::min(size, verdict.limit));
  });
}

ssize_t FaultyKernel::pwrite(int fd, const void* buffer, size_t size,
                             off_t offset) {
  return act(Op::pwrite, fd, nullptr, "", [&](const Verdict& verdict) {
    return behind_.pwrite(fd, buffer, std::min(size, verdict.limit), offset);
  });
}

off_t FaultyKernel::lseek(int fd, off_t offset, int whence) {
  return act(Op::lseek, fd, nullptr, "",
             [&](const Verdict&) { return behind_.lseek(fd, offset, whence); });
}

ssize_t FaultyKernel::copy_file_range(int in, off_t* in_offset, int out,
                                      off_t* out_offset, size_t size) {
  return act(Op::copy_file_range, out, nullptr, "",
             [&](const Verdict& verdict) {
               return behind_.copy_file_range(in, in_offset, out, out_offset,
                                              std::min(size, verdict.limit));
             });
}

int FaultyKernel::ficlone(int out, int in) {
  return act(Op::ficlone, out, nullptr, "",
             [&](const Verdict&) { return behind_.ficlone(out, in); });
}

int FaultyKernel::ftruncate(int fd, off_t size) {
  return act(Op::ftruncate, fd, nullptr, "",
             [&](const Verdict&) { return behind_.ftruncate(fd, size); });
}

int FaultyKernel::fallocate(int fd, int mode, off_t offset, off_t size) {
  return act(Op::fallocate, fd, nullptr, "", [&](const Verdict&) {
    return behind_.fallocate(fd, mode, offset, size);
  });
}

int FaultyKernel::mkdirat(int dir, const char* name, mode_t mode) {
  return act(Op::mkdirat, dir, name, "",
             [&](const Verdict&) { return behind_.mkdirat(dir, name, mode); });
}

int FaultyKernel::symlinkat(const char* target, int dir, const char* name) {
  return act(Op::symlinkat, dir, name, target, [&](const Verdict&) {
    return behind_.symlinkat(target, dir, name);
  });
}

int FaultyKernel::mknodat(int dir, const char* name, mode_t mode,
                          dev_t device) {
  return act(Op::mknodat, dir, name, "", [&](const Verdict&) {
    return behind_.mknodat(dir, name, mode, device);
  });
}

int FaultyKernel::linkat(int from_dir, const char* from, int to_dir,
                         const char* to) {
  return act(Op::linkat, to_dir, to, "", [&](const Verdict&) {
    return behind_.linkat(from_dir, from, to_dir, to);
  });
}

int FaultyKernel::unlinkat(int dir, const char* name, int flags) {
  return act(Op::unlinkat, dir, name, "", [&](const Verdict&) {
    return behind_.unlinkat(dir, name, flags);
  });
}

int FaultyKernel::renameat2(int from_dir, const char* from, int to_dir,
                            const char* to, unsigned flags) {
  return act(Op::renameat2, to_dir, to, "", [&](const Verdict&) {
    return behind_.renameat2(from_dir, from, to_dir, to, flags);
  });
}

int FaultyKernel::fchown(int fd, uid_t uid, gid_t gid) {
  return act(Op::fchown, fd, nullptr, "",
             [&](const Verdict&) { return behind_.fchown(fd, uid, gid); });
}

int FaultyKernel::fchownat(int dir, const char* name, uid_t uid, gid_t gid) {
  return act(Op::fchownat, dir, name, "", [&](const Verdict&) {
    return behind_.fchownat(dir, name, uid, gid);
  });
}

int FaultyKernel::fchmod(int fd, mode_t mode) {
  return act(Op::fchmod, fd, nullptr, "",
             [&](const Verdict&) { return behind_.fchmod(fd, mode); });
}

int FaultyKernel::fchmodat(int dir, const char* name, mode_t mode) {
  return act(Op::fchmodat, dir, name, "",
             [&](const Verdict&) { return behind_.fchmodat(dir, name, mode); });
}

int FaultyKernel::futimens(int fd, const struct timespec times[2]) {
  return act(Op::futimens, fd, nullptr, "",
             [&](const Verdict&) { return behind_.futimens(fd, times); });
}

int FaultyKernel::utimensat(int dir, const char* name,
                            const struct timespec times[2]) {
  return act(Op::utimensat, dir, name, "", [&](const Verdict&) {
    return behind_.utimensat(dir, name, times);
  });
}

ssize_t FaultyKernel::flistxattr(int fd, char* list, size_t size) {
  return act(Op::flistxattr, fd, nullptr, "", [&](const Verdict&) {
    return behind_.flistxattr(fd, list, size);
  });
}

ssize_t FaultyKernel::fgetxattr(int fd, const char* name, void* value,
                                size_t size) {
  return act(Op::fgetxattr, fd, nullptr, name, [&](const Verdict&) {
    return behind_.fgetxattr(fd, name, value, size);
  });
}

int FaultyKernel::fsetxattr(int fd, const char* name, const void* value,
                            size_t size) {
  return act(Op::fsetxattr, fd, nullptr, name, [&](const Verdict&) {
    return behind_.fsetxattr(fd, name, value, size);
  });
}

int FaultyKernel::fremovexattr(int fd, const char* name) {
  return act(Op::fremovexattr, fd, nullptr, name,
             [&](const Verdict&) { return behind_.fremovexattr(fd, name); });
}

ssize_t FaultyKernel::listxattrat(int dir, const char* name, char* list,
                                  size_t size) {
  return act(Op::listxattrat, dir, name, "", [&](const Verdict&) {
    return behind_.listxattrat(dir, name, list, size);
  });
}

ssize_t FaultyKernel::getxattrat(int dir, const char* name,
                                 const char* attribute, void* value,
                                 size_t size) {
  return act(Op::getxattrat, dir, name, attribute, [&](const Verdict&) {
    return behind_.getxattrat(dir, name, attribute, value, size);
  });
}

int FaultyKernel::setxattrat(int dir, const char* name, const char* attribute,
                             const void* value, size_t size) {
  return act(Op::setxattrat, dir, name, attribute, [&](const Verdict&) {
    return behind_.setxattrat(dir, name, attribute, value, size);
  });
}

int FaultyKernel::syncfs(int fd) {
  return act(Op::syncfs, fd, nullptr, "",
             [&](const Verdict&) { return behind_.syncfs(fd); });
}

int FaultyKernel::fsync(int fd) {
  return act(Op::fsync, fd, nullptr, "",
             [&](const Verdict&) { return behind_.fsync(fd); });
}

int FaultyKernel::unshare_umask() {
  return act(Op::unshare_umask, -1, nullptr, "",
             [&](const Verdict&) { return behind_.unshare_umask(); });
}

}  // namespace lamina::test
