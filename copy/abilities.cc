#include "copy/abilities.h"

#include <cerrno>

namespace lamina::copy {

bool is_refusal(Method method, int code) {
  switch (code) {
    case EXDEV:
    case EOPNOTSUPP:
    case ENOSYS:
      return true;
    case ENOTTY:  // ioctl(2): the file system knows no FICLONE.
      return method == Method::clone;
    default:
      return false;
  }
}

bool is_unsupported(Method method, int code) {
  if (is_refusal(method, code)) {
    return true;
  }
  switch (method) {
    case Method::clone:
      // EINVAL: one side cannot be cloned (checksums on one side only, an
      // inline or encrypted file). EPERM: an immutable or sealed file.
      // ETXTBSY: a swap file. EBADF: file systems that refuse the kind.
      return code == EINVAL || code == EPERM || code == ETXTBSY ||
             code == EBADF;
    case Method::range:
      // As read and reported of CIFS, FUSE and old kernels. EIO is not among
      // them: from a local disk it is real, and reading on would hide it.
      return code == EINVAL || code == EPERM || code == ETXTBSY ||
             code == EBADF || code == EOVERFLOW;
    case Method::link:
      // EPERM: protected_hardlinks of proc(5), or an immutable inode. EMLINK:
      // this inode has no name left to give.
      return code == EPERM || code == EMLINK;
    case Method::list_xattrs:
      return false;
  }
  return false;
}

Abilities* AbilityTable::find(dev_t source) const {
  std::lock_guard lock(mutex_);
  auto it = pairs_.find(source);
  return it == pairs_.end() ? nullptr : it->second.get();
}

Abilities* AbilityTable::add(dev_t source, FsKind kind) {
  std::lock_guard lock(mutex_);
  auto& slot = pairs_[source];
  if (!slot) {
    slot = std::make_unique<Abilities>(kind);
  }
  return slot.get();
}

}  // namespace lamina::copy
