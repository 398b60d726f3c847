#include "archive/unchanged.h"

#include <linux/limits.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/kernel.h"
#include "copy/open_quietly.h"
#include "copy/read_xattrs.h"

namespace lamina::archive {

namespace {

constexpr mode_t kModeBits = 07777;

bool is_equal_time(const timespec& a, const timespec& b, Times times) {
  if (a.tv_sec != b.tv_sec) {
    return false;
  }
  return a.tv_nsec == b.tv_nsec ||
         (times == Times::whole_seconds && (a.tv_nsec == 0 || b.tv_nsec == 0));
}

}  // namespace

bool is_same_inode(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

Error changed_meanwhile() {
  return make_error(ESTALE, "read", "", "it changed while it was read");
}

Result<std::string> read_target(Kernel& kernel, int dir, const char* name) {
  std::string text(PATH_MAX, '\0');
  ssize_t n = kernel.readlinkat(dir, name, text.data(), text.size());
  if (n < 0) {
    return fail(last_error("readlinkat", ""));
  }
  text.resize(static_cast<size_t>(n));
  return text;
}

Result<Fd> open_file(Kernel& kernel, int dir, const char* name,
                     const struct stat& expected) {
  auto fd = copy::open_quietly(kernel, dir, name);
  if (!fd) {
    int code = fd.error().code;
    // A symlink, a socket, or nothing stands there now.
    bool gone = code == ELOOP || code == ENXIO || code == ENOENT;
    return fail(gone ? changed_meanwhile() : std::move(fd.error()));
  }
  struct stat now {};
  if (kernel.fstat(fd->get(), &now) != 0) {
    return fail(last_error("fstat", ""));
  }
  if (!is_same_inode(now, expected) || !S_ISREG(now.st_mode) ||
      now.st_size != expected.st_size ||
      !is_equal_time(now.st_mtim, expected.st_mtim, Times::exact)) {
    return fail(changed_meanwhile());
  }
  return fd;
}

Unchanged::Unchanged(Kernel& kernel, const copy::XattrRules& rules, Times times,
                     std::stop_token stop)
    : kernel_(kernel),
      rules_(rules),
      times_(times),
      stop_(std::move(stop)) {}

Result<bool> Unchanged::check(const InodePair& pair) {
  if (is_same_inode(pair.lower, pair.upper)) {
    return true;
  }
  if (!has_equal_stat(pair)) {
    return false;
  }
  TRY_ASSIGN(bool equal, has_equal_xattrs(pair));
  if (equal && S_ISLNK(pair.upper.st_mode)) {
    TRY_ASSIGN(equal, has_equal_target(pair));
  }
  if (equal && S_ISREG(pair.upper.st_mode) && pair.upper.st_size != 0) {
    TRY_ASSIGN(equal, has_equal_bytes(pair));
  }
  return equal;
}

bool Unchanged::has_equal_stat(const InodePair& pair) const {
  const struct stat& a = pair.lower;
  const struct stat& b = pair.upper;
  if ((a.st_mode & S_IFMT) != (b.st_mode & S_IFMT) || a.st_uid != b.st_uid ||
      a.st_gid != b.st_gid || !is_equal_time(a.st_mtim, b.st_mtim, times_)) {
    return false;
  }
  if (!S_ISLNK(a.st_mode) &&
      (a.st_mode & kModeBits) != (b.st_mode & kModeBits)) {
    return false;
  }
  if (S_ISCHR(a.st_mode) || S_ISBLK(a.st_mode)) {
    return a.st_rdev == b.st_rdev;
  }
  return !S_ISREG(a.st_mode) || a.st_size == b.st_size;
}

Result<bool> Unchanged::has_equal_xattrs(const InodePair& pair) {
  TRY_ASSIGN(copy::XattrValues lower,
             copy::read_xattrs(kernel_, pair.lower_end, rules_));
  TRY_ASSIGN(copy::XattrValues upper,
             copy::read_xattrs(kernel_, pair.upper_end, rules_));
  return lower == upper;
}

Result<bool> Unchanged::has_equal_target(const InodePair& pair) {
  TRY_ASSIGN(std::string lower,
             read_target(kernel_, pair.lower_end.fd, pair.lower_end.name));
  TRY_ASSIGN(std::string upper,
             read_target(kernel_, pair.upper_end.fd, pair.upper_end.name));
  return lower == upper;
}

Result<bool> Unchanged::has_equal_bytes(const InodePair& pair) {
  TRY_ASSIGN(Fd lower, open_file(kernel_, pair.lower_end.fd,
                                 pair.lower_end.name, pair.lower));
  TRY_ASSIGN(Fd upper, open_file(kernel_, pair.upper_end.fd,
                                 pair.upper_end.name, pair.upper));
  file_.begin(kernel_, lower.get(), upper.get(), pair.lower, pair.upper);
  for (;;) {
    TRY_ASSIGN(bool all, file_.step());
    if (all) {
      return file_.difference().empty();
    }
    if (stop_.stop_requested()) {
      return fail(make_error(ECANCELED, "diff", "", "stopped"));
    }
  }
}

}  // namespace lamina::archive
