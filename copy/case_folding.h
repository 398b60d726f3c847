// Whether names that differ in case are one file in a directory.
#pragma once

#include "base/fd.h"
#include "base/fs_kind.h"

namespace lamina::copy {

// True when the directory folds case, or may: on ext4 and tmpfs where the flag
// of chattr +F is set, and on file systems that are not known, which say it in
// ways of their own (vfat, cifs). Their names are then compared by inode, which
// costs time and nothing else. Any thread.
bool may_fold_case(const Fd& directory, FsKind kind);

}  // namespace lamina::copy
