// The system calls Lamina makes on file content and names, as one interface.
//
// The real one forwards to the kernel; tests put a faulty one in front of it to
// say "the second range copy returns ENOSPC". Every method behaves exactly as
// the man page of its name says: -1 and errno on failure, EINTR included. Names
// are always relative to an open directory. Any thread may call any method.
// Methods with fallbacks of their own (the *xattrat family, fchmodat) say so.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <sys/vfs.h>

#include <cstddef>
#include <cstdint>

namespace lamina {

class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;

  // Opening and closing. open(2), close(2).
  virtual int openat(int dir, const char* name, int flags, mode_t mode) = 0;
  virtual int close(int fd) = 0;

  // Looking. stat(2), statfs(2), getdents(2), readlink(2).
  virtual int fstat(int fd, struct stat* out) = 0;
  virtual int fstatat(int dir, const char* name, struct stat* out,
                      int flags) = 0;
  virtual int fstatfs(int fd, struct statfs* out) = 0;
  virtual ssize_t getdents(int fd, void* buffer, size_t size) = 0;
  virtual ssize_t readlinkat(int dir, const char* name, char* buffer,
                             size_t size) = 0;

  // Moving bytes. read(2), write(2), lseek(2), copy_file_range(2),
  // ioctl_ficlone(2), ftruncate(2).
  virtual ssize_t read(int fd, void* buffer, size_t size) = 0;
  virtual ssize_t pread(int fd, void* buffer, size_t size, off_t offset) = 0;
  virtual ssize_t write(int fd, const void* buffer, size_t size) = 0;
  virtual ssize_t pwrite(int fd, const void* buffer, size_t size,
                         off_t offset) = 0;
  virtual off_t lseek(int fd, off_t offset, int whence) = 0;
  virtual ssize_t copy_file_range(int in, off_t* in_offset, int out,
                                  off_t* out_offset, size_t size) = 0;
  virtual int ficlone(int out, int in) = 0;
  virtual int ftruncate(int fd, off_t size) = 0;
  virtual int fallocate(int fd, int mode, off_t offset, off_t size) = 0;

  // Making and removing names. mkdir(2), symlink(2), mknod(2), link(2),
  // unlink(2), rename(2).
  virtual int mkdirat(int dir, const char* name, mode_t mode) = 0;
  virtual int symlinkat(const char* target, int dir, const char* name) = 0;
  virtual int mknodat(int dir, const char* name, mode_t mode, dev_t device) = 0;
  virtual int linkat(int from_dir, const char* from, int to_dir,
                     const char* to) = 0;
  virtual int unlinkat(int dir, const char* name, int flags) = 0;
  virtual int renameat2(int from_dir, const char* from, int to_dir,
                        const char* to, unsigned flags) = 0;

  // Metadata. chown(2), chmod(2), utimensat(2). The *at forms never follow a
  // final symlink. fchmodat uses fchmodat2 (Linux 6.6) or, where that is
  // missing or refused, an O_PATH descriptor and /proc/self/fd.
  virtual int fchown(int fd, uid_t uid, gid_t gid) = 0;
  virtual int fchownat(int dir, const char* name, uid_t uid, gid_t gid) = 0;
  virtual int fchmod(int fd, mode_t mode) = 0;
  virtual int fchmodat(int dir, const char* name, mode_t mode) = 0;
  virtual int futimens(int fd, const struct timespec times[2]) = 0;
  virtual int utimensat(int dir, const char* name,
                        const struct timespec times[2]) = 0;

  // Extended attributes, xattr(7). The *at forms act on the name itself, also
  // when it is a symlink: listxattrat and friends (Linux 6.13) or, where those
  // are missing or refused, the l* calls through /proc/self/fd.
  virtual ssize_t flistxattr(int fd, char* list, size_t size) = 0;
  virtual ssize_t fgetxattr(int fd, const char* name, void* value,
                            size_t size) = 0;
  virtual int fsetxattr(int fd, const char* name, const void* value,
                        size_t size) = 0;
  virtual int fremovexattr(int fd, const char* name) = 0;
  virtual ssize_t listxattrat(int dir, const char* name, char* list,
                              size_t size) = 0;
  virtual ssize_t getxattrat(int dir, const char* name, const char* attribute,
                             void* value, size_t size) = 0;
  virtual int setxattrat(int dir, const char* name, const char* attribute,
                         const void* value, size_t size) = 0;

  // Flushing. sync(2), fsync(2).
  virtual int syncfs(int fd) = 0;
  virtual int fsync(int fd) = 0;

  // Gives the calling thread its own working directory and umask, unshare(2)
  // with CLONE_FS, then sets that umask to 0. -1 where it is refused (Docker's
  // seccomp profile answers EPERM).
  virtual int unshare_umask() = 0;
};

// The kernel itself. Never deleted; any thread may use it.
Kernel& real_kernel();

}  // namespace lamina
