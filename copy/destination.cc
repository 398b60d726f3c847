#include "copy/destination.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/dir_reader.h"
#include "base/kernel.h"
#include "base/worker_pool.h"
#include "copy/remove_tree.h"

namespace lamina::copy {

namespace {

constexpr int kDirectoryFlags =
    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;

Result<bool> is_empty(Kernel& kernel, const Fd& dir, std::string_view shown) {
  Listing listing;
  for (;;) {
    TRY_ASSIGN(bool more, listing.fill(kernel, dir.get(), shown));
    if (!more) {
      break;
    }
    DirEntry entry;
    if (listing.next(&entry)) {
      return false;
    }
  }
  if (kernel.lseek(dir.get(), 0, SEEK_SET) != 0) {
    return fail(last_error("lseek", shown));
  }
  return true;
}

}  // namespace

Result<Destination> Destination::prepare(Kernel& kernel, const Fd& parent,
                                         std::string name, std::string shown) {
  Destination out(kernel);
  out.parent_ = parent.get();
  out.name_ = std::move(name);
  out.shown_ = std::move(shown);
  TRY(out.open(parent));
  if (!out.made_) {
    TRY(out.remember());
  }
  if (auto taken = out.take_over(); !taken) {
    Error error = std::move(taken.error());
    auto back = out.made_ ? out.undo(WorkerPool::shared()) : out.restore();
    if (!back) {
      error.text += " (and then " + back.error().message() + ")";
    }
    return fail(std::move(error));
  }
  return out;
}

Result<void> Destination::open(const Fd& parent) {
  if (kernel_->mkdirat(parent.get(), name_.c_str(), 0700) == 0) {
    made_ = true;
  } else if (errno != EEXIST) {
    return fail(last_error("mkdir", shown_));
  }
  // Without its time of access: an adopted root gets that back too.
  root_.reset(kernel_->openat(parent.get(), name_.c_str(),
                              kDirectoryFlags | O_NOATIME, 0));
  if (!root_.valid() && errno == EPERM) {
    root_.reset(
        kernel_->openat(parent.get(), name_.c_str(), kDirectoryFlags, 0));
  }
  if (!root_.valid()) {
    Error error = last_error("open", shown_);
    if (made_) {
      [[maybe_unused]] int ignored =
          kernel_->unlinkat(parent.get(), name_.c_str(), AT_REMOVEDIR);
    } else if (error.code == ENOTDIR || error.code == ELOOP) {
      return fail(make_error(EEXIST, "mkdir", shown_,
                             "it exists and is not a directory"));
    }
    return fail(std::move(error));
  }
  if (!made_) {
    TRY_ASSIGN(bool empty, is_empty(*kernel_, root_, shown_));
    if (!empty) {
      return fail(make_error(ENOTEMPTY, "mkdir", shown_));
    }
  }
  return {};
}

Result<void> Destination::remember() {
  if (kernel_->fstat(root_.get(), &before_) != 0) {
    return fail(last_error("fstat", shown_));
  }
  std::string names(XATTR_LIST_MAX, '\0');
  ssize_t n = kernel_->flistxattr(root_.get(), names.data(), names.size());
  if (n < 0 && errno != EOPNOTSUPP && errno != ENOSYS) {
    return fail(last_error("listxattr", shown_));
  }
  names.resize(n < 0 ? 0 : static_cast<size_t>(n));
  for (size_t at = 0; at < names.size();) {
    std::string name = names.c_str() + at;
    at += name.size() + 1;
    std::string value(XATTR_SIZE_MAX, '\0');
    ssize_t size = kernel_->fgetxattr(root_.get(), name.c_str(), value.data(),
                                      value.size());
    if (size < 0) {
      return fail(last_error("getxattr", shown_));
    }
    value.resize(static_cast<size_t>(size));
    xattrs_.emplace_back(std::move(name), std::move(value));
  }
  return {};
}

Result<void> Destination::take_over() {
  if (!made_ && kernel_->fchmod(root_.get(), 0700) != 0) {
    return fail(last_error("chmod", shown_));
  }
  // mkdir(2): a default ACL of the parent has become ours, and would become our
  // children's. Other attributes an adopted root had are not the source's.
  std::string names(XATTR_LIST_MAX, '\0');
  ssize_t n = kernel_->flistxattr(root_.get(), names.data(), names.size());
  if (n < 0 && errno != EOPNOTSUPP && errno != ENOSYS) {
    return fail(last_error("listxattr", shown_));
  }
  for (ssize_t at = 0; at < n;) {
    const char* name = names.c_str() + at;
    std::string_view view(name);
    at += static_cast<ssize_t>(view.size()) + 1;
    bool acl = view.starts_with("system.posix_acl_");
    bool ours = acl || (!made_ && view != "security.selinux");
    if (ours && kernel_->fremovexattr(root_.get(), name) != 0 &&
        errno != ENODATA && acl) {
      return fail(last_error("removexattr", shown_));
    }
  }
  if (kernel_->fstat(root_.get(), &stat_) != 0) {
    return fail(last_error("fstat", shown_));
  }
  // mkdir(2): below a set-group-ID directory, or with the mount option grpid,
  // the group was inherited, and children would inherit it from here.
  bool inherits = (stat_.st_mode & S_ISGID) != 0 || stat_.st_gid != getegid();
  if (inherits && stat_.st_uid == geteuid()) {
    if (kernel_->fchown(root_.get(), static_cast<uid_t>(-1), getegid()) != 0 ||
        kernel_->fchmod(root_.get(), 0700) != 0 ||
        kernel_->fstat(root_.get(), &stat_) != 0) {
      return fail(last_error("chown", shown_));
    }
  }
  return {};
}

Result<void> Destination::restore() {
  int fd = root_.get();
  if (kernel_->fchown(fd, before_.st_uid, before_.st_gid) != 0) {
    return fail(last_error("chown", shown_));
  }
  if (kernel_->fchmod(fd, before_.st_mode & 07777) != 0) {
    return fail(last_error("chmod", shown_));
  }
  std::string names(XATTR_LIST_MAX, '\0');
  ssize_t n = kernel_->flistxattr(fd, names.data(), names.size());
  for (ssize_t at = 0; at < n;) {
    const char* name = names.c_str() + at;
    at += static_cast<ssize_t>(std::string_view(name).size()) + 1;
    if (kernel_->fremovexattr(fd, name) != 0 && errno != ENODATA &&
        errno != EPERM && errno != EACCES) {
      return fail(last_error("removexattr", shown_));
    }
  }
  for (const auto& [name, value] : xattrs_) {
    if (kernel_->fsetxattr(fd, name.c_str(), value.data(), value.size()) != 0) {
      return fail(last_error("setxattr", shown_));
    }
  }
  timespec times[2] = {before_.st_atim, before_.st_mtim};
  if (kernel_->futimens(fd, times) != 0) {
    return fail(last_error("utimensat", shown_));
  }
  return {};
}

Result<void> Destination::undo(WorkerPool& pool) {
  // With the real kernel: a seam that made the copy fail must not stop this.
  RemoveOptions options;
  options.pool = &pool;
  // One at a time: what failed may be that descriptors ran out.
  options.workers = 1;
  auto emptied = remove_children(root_, shown_, options);
  if (!emptied) {
    return fail(std::move(emptied.error()));
  }
  if (!made_) {
    return restore();
  }
  root_.reset();
  if (::unlinkat(parent_, name_.c_str(), AT_REMOVEDIR) != 0) {
    return fail(last_error("rmdir", shown_));
  }
  return {};
}

}  // namespace lamina::copy
