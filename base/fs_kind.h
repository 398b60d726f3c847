// Which file system a descriptor lies on, and what that alone decides.
//
// Facts by type are the exception: what a file system can do is learned by
// trying (copy/abilities.h). The kind decides only what cannot be tried.
#pragma once

#include <string_view>

#include "base/error.h"

namespace lamina {

class Fd;
class Kernel;

enum class FsKind {
  ext4,
  xfs,
  btrfs,
  tmpfs,
  overlay,
  pseudo,  // proc, sysfs, cgroup and the like: files made up when read.
  other,
};

// Asks statfs(2) on an open descriptor. `subject` names it in errors.
Result<FsKind> fs_kind_of(Kernel& kernel, const Fd& fd,
                          std::string_view subject);

// The kind for a statfs(2) f_type.
FsKind fs_kind_from_magic(unsigned long magic);

// "ext4", "xfs", "btrfs", "tmpfs", "overlay", "pseudo", "other".
std::string_view to_string(FsKind kind);

// True where getdents(2) gives the inode number that stat(2) gives, as long as
// nothing is mounted over the name. Not so on overlayfs.
bool listing_is_exact(FsKind kind);

// True where the size that stat(2) gives is the number of bytes that reading
// gives. Not so on procfs and sysfs, where it is 0 or 4096.
bool sizes_are_exact(FsKind kind);

}  // namespace lamina
