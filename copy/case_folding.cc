#include "copy/case_folding.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

namespace lamina::copy {

namespace {

// Not through the seam: where it is refused the careful answer follows.
bool has_folding_flag(const Fd& directory) {
  int flags = 0;
  return ::ioctl(directory.get(), FS_IOC_GETFLAGS, &flags) != 0 ||
         (flags & FS_CASEFOLD_FL) != 0;
}

}  // namespace

bool may_fold_case(const Fd& directory, FsKind kind) {
  switch (kind) {
    case FsKind::ext4:
    case FsKind::tmpfs:  // Since Linux 6.13.
      return has_folding_flag(directory);
    case FsKind::xfs:
    case FsKind::btrfs:
    case FsKind::overlay:
    case FsKind::pseudo:
      return false;
    case FsKind::other:
      return true;
  }
  return true;
}

}  // namespace lamina::copy
