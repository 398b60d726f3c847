#include "base/fs_kind.h"

#include <linux/magic.h>

#include "base/fd.h"
#include "base/kernel.h"

namespace lamina {

namespace {
// Not in Debian 12's linux/magic.h: fs/xfs/libxfs/xfs_format.h says "XFSB".
constexpr unsigned long kXfsMagic = 0x58465342;
}  // namespace

FsKind fs_kind_from_magic(unsigned long magic) {
  switch (magic) {
    case EXT4_SUPER_MAGIC:  // ext2 and ext3 share the number.
      return FsKind::ext4;
    case kXfsMagic:
      return FsKind::xfs;
    case BTRFS_SUPER_MAGIC:
      return FsKind::btrfs;
    case TMPFS_MAGIC:
      return FsKind::tmpfs;
    case OVERLAYFS_SUPER_MAGIC:
      return FsKind::overlay;
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC:
    case DEBUGFS_MAGIC:
    case TRACEFS_MAGIC:
    case SECURITYFS_MAGIC:
      return FsKind::pseudo;
    default:
      return FsKind::other;
  }
}

Result<FsKind> fs_kind_of(Kernel& kernel, const Fd& fd,
                          std::string_view subject) {
  struct statfs info {};
  if (kernel.fstatfs(fd.get(), &info) != 0) {
    return fail(last_error("fstatfs", subject));
  }
  return fs_kind_from_magic(static_cast<unsigned long>(info.f_type));
}

std::string_view to_string(FsKind kind) {
  switch (kind) {
    case FsKind::ext4:
      return "ext4";
    case FsKind::xfs:
      return "xfs";
    case FsKind::btrfs:
      return "btrfs";
    case FsKind::tmpfs:
      return "tmpfs";
    case FsKind::overlay:
      return "overlay";
    case FsKind::pseudo:
      return "pseudo";
    case FsKind::other:
      return "other";
  }
  return "other";
}

bool listing_is_exact(FsKind kind) {
  return kind == FsKind::ext4 || kind == FsKind::xfs || kind == FsKind::btrfs ||
         kind == FsKind::tmpfs;
}

bool sizes_are_exact(FsKind kind) {
  return kind != FsKind::pseudo;
}

}  // namespace lamina
