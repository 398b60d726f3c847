// A kernel in front of the real one: does as it is told, else passes calls on,
// and remembers every call.
//
//   FaultyKernel kernel;
//   kernel.on(Op::pwrite).call(2).fails(ENOSPC);       // the second write
//   kernel.on(Op::openat, "src/a").fails(EACCES);      // whenever it is a
//   kernel.on(Op::pread).gives_at_most(100);           // every read is short
//   kernel.on(Op::copy_file_range).returns(0);
//   kernel.on(Op::pread).call(3).first([&] { truncate(...); });
//   ... copy with Options::kernel = &kernel ...
//   EXPECT_EQ(kernel.count(Op::fchown), 1U);
//   EXPECT_EQ(kernel.trace("dst/a"), "create pwrite close ");
//
// A name is the end of a path, in whole components: "a" and "src/a" both are
// /tmp/x/src/a, and "" is everything. The path of a descriptor is what /proc
// says at the time of the call; that of linkat, symlinkat and renameat2 is the
// new one. Where several rules match, the newest decides what the call does;
// what is to run first runs for all of them.
//
// Any thread may call any function, but rules are made before the code under
// test runs, or by a callback. Callbacks run outside all locks, on the thread
// that makes the call.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/kernel.h"

namespace lamina::test {

// The calls of Kernel; openat with O_CREAT counts as `create`.
enum class Op {
  openat,
  create,
  close,
  fstat,
  fstatat,
  fstatfs,
  getdents,
  readlinkat,
  read,
  pread,
  write,
  pwrite,
  lseek,
  copy_file_range,
  ficlone,
  ftruncate,
  fallocate,
  mkdirat,
  symlinkat,
  mknodat,
  linkat,
  unlinkat,
  renameat2,
  fchown,
  fchownat,
  fchmod,
  fchmodat,
  futimens,
  utimensat,
  flistxattr,
  fgetxattr,
  fsetxattr,
  fremovexattr,
  listxattrat,
  getxattrat,
  setxattrat,
  syncfs,
  fsync,
  unshare_umask,
};

inline constexpr Op kLastOp = Op::unshare_umask;

const char* to_string(Op op);

// What happens to the calls that a rule matches.
class Fault {
 public:
  // Narrows the rule to the nth call that it matches, from 1; to that one and
  // all later ones; to one attribute or symlink target.
  Fault& call(std::size_t n);
  Fault& from(std::size_t n);
  Fault& with(std::string word);

  // The call is not made and fails. A failing close still closes, close(2).
  Fault& fails(int code);
  // The call is not made and returns this.
  Fault& returns(long value);
  // Reads, writes and range copies are asked for no more than this.
  Fault& gives_at_most(std::size_t bytes);
  // Runs before the call, which then goes on as it otherwise would. The second
  // form is given the call's descriptor.
  Fault& first(std::function<void()> body);
  Fault& first(std::function<void(int)> body);
  // Runs after a successful call and may change what it shows.
  Fault& shows(std::function<void(struct stat&)> change);
  Fault& shows(std::function<void(struct statfs&)> change);

 private:
  friend class FaultyKernel;

  Op op_ = Op::openat;
  std::string name_;
  std::optional<std::string> word_;
  std::size_t seen_ = 0;
  std::size_t first_ = 1;
  std::size_t last_ = std::numeric_limits<std::size_t>::max();
  std::optional<int> code_;
  std::optional<long> value_;
  std::optional<std::size_t> limit_;
  std::function<void(int)> before_;
  std::function<void(struct stat&)> change_stat_;
  std::function<void(struct statfs&)> change_statfs_;
};

class FaultyKernel final : public Kernel {
 public:
  explicit FaultyKernel(Kernel& behind = real_kernel());
  ~FaultyKernel() override;

  // Adds a rule for calls of `op` on `name`; for every one when it is "".
  Fault& on(Op op, std::string name = "");

  // How often `op` was called, on `name`.
  std::size_t count(Op op, std::string_view name = "") const;
  // How many calls were made in all, on `name`.
  std::size_t calls(std::string_view name = "") const;
  // How many calls did not do what they would have done otherwise.
  std::size_t faults() const;
  // The calls on `name` in their order: "openat fstat close ".
  std::string trace(std::string_view name) const;

  int openat(int dir, const char* name, int flags, mode_t mode) override;
  int close(int fd) override;
  int fstat(int fd, struct stat* out) override;
  int fstatat(int dir, const char* name, struct stat* out, int flags) override;
  int fstatfs(int fd, struct statfs* out) override;
  ssize_t getdents(int fd, void* buffer, size_t size) override;
  ssize_t readlinkat(int dir, const char* name, char* buffer,
                     size_t size) override;
  ssize_t read(int fd, void* buffer, size_t size) override;
  ssize_t pread(int fd, void* buffer, size_t size, off_t offset) override;
  ssize_t write(int fd, const void* buffer, size_t size) override;
  ssize_t pwrite(int fd, const void* buffer, size_t size,
                 off_t offset) override;
  off_t lseek(int fd, off_t offset, int whence) override;
  ssize_t copy_file_range(int in, off_t* in_offset, int out, off_t* out_offset,
                          size_t size) override;
  int ficlone(int out, int in) override;
  int ftruncate(int fd, off_t size) override;
  int fallocate(int fd, int mode, off_t offset, off_t size) override;
  int mkdirat(int dir, const char* name, mode_t mode) override;
  int symlinkat(const char* target, int dir, const char* name) override;
  int mknodat(int dir, const char* name, mode_t mode, dev_t device) override;
  int linkat(int from_dir, const char* from, int to_dir,
             const char* to) override;
  int unlinkat(int dir, const char* name, int flags) override;
  int renameat2(int from_dir, const char* from, int to_dir, const char* to,
                unsigned flags) override;
  int fchown(int fd, uid_t uid, gid_t gid) override;
  int fchownat(int dir, const char* name, uid_t uid, gid_t gid) override;
  int fchmod(int fd, mode_t mode) override;
  int fchmodat(int dir, const char* name, mode_t mode) override;
  int futimens(int fd, const struct timespec times[2]) override;
  int utimensat(int dir, const char* name,
                const struct timespec times[2]) override;
  ssize_t flistxattr(int fd, char* list, size_t size) override;
  ssize_t fgetxattr(int fd, const char* name, void* value,
                    size_t size) override;
  int fsetxattr(int fd, const char* name, const void* value,
                size_t size) override;
  int fremovexattr(int fd, const char* name) override;
  ssize_t listxattrat(int dir, const char* name, char* list,
                      size_t size) override;
  ssize_t getxattrat(int dir, const char* name, const char* attribute,
                     void* value, size_t size) override;
  int setxattrat(int dir, const char* name, const char* attribute,
                 const void* value, size_t size) override;
  int syncfs(int fd) override;
  int fsync(int fd) override;
  int unshare_umask() override;

 private:
  struct Call {
    Op op;
    std::string path;
    std::string word;
  };
  // What the matching rules say, without the rules, which may grow meanwhile.
  struct Verdict {
    std::optional<int> code;
    std::optional<long> value;
    std::size_t limit = std::numeric_limits<std::size_t>::max();
    std::vector<std::function<void(int)>> before;
    std::function<void(struct stat&)> change_stat;
    std::function<void(struct statfs&)> change_statfs;
  };

  Verdict judge(Call call);
  // Judges a call on `name` in `fd` (on fd itself when it is null) and makes it
  // as `real` does, which is given the verdict.
  template <typename Real>
  auto act(Op op, int fd, const char* name, const char* word, Real real);

  Kernel& behind_;
  mutable std::mutex mutex_;
  std::list<Fault> rules_;
  std::vector<Call> log_;
  std::size_t faults_ = 0;
};

}  // namespace lamina::test
