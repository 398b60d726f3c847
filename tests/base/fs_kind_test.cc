#include "base/fs_kind.h"

#include <fcntl.h>
#include <linux/magic.h>

#include <cerrno>

#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/kernel.h"
#include "tests/support/faulty_kernel.h"
#include "tests/support/mounts.h"

namespace lamina {
namespace {

struct Row {
  unsigned long magic;
  FsKind kind;
  const char* name;
  bool exact_listing;
  bool exact_sizes;
};

constexpr Row kTable[] = {
    {EXT4_SUPER_MAGIC, FsKind::ext4, "ext4", true, true},
    {0x58465342, FsKind::xfs, "xfs", true, true},
    {BTRFS_SUPER_MAGIC, FsKind::btrfs, "btrfs", true, true},
    {TMPFS_MAGIC, FsKind::tmpfs, "tmpfs", true, true},
    {OVERLAYFS_SUPER_MAGIC, FsKind::overlay, "overlay", false, true},
    {PROC_SUPER_MAGIC, FsKind::pseudo, "pseudo", false, false},
    {SYSFS_MAGIC, FsKind::pseudo, "pseudo", false, false},
    {CGROUP2_SUPER_MAGIC, FsKind::pseudo, "pseudo", false, false},
    {DEBUGFS_MAGIC, FsKind::pseudo, "pseudo", false, false},
    {NFS_SUPER_MAGIC, FsKind::other, "other", false, true},
    {FUSE_SUPER_MAGIC, FsKind::other, "other", false, true},
    {0, FsKind::other, "other", false, true},
};

TEST(FsKind, IsKnownByItsMagicNumber) {
  for (const Row& row : kTable) {
    const FsKind kind = fs_kind_from_magic(row.magic);
    EXPECT_EQ(kind, row.kind) << std::hex << row.magic;
    EXPECT_EQ(to_string(kind), row.name);
    EXPECT_EQ(listing_is_exact(kind), row.exact_listing) << row.name;
    EXPECT_EQ(sizes_are_exact(kind), row.exact_sizes) << row.name;
  }
}

TEST(FsKind, IsAskedOfAnOpenDescriptor) {
  const Fd fd(::open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

  EXPECT_EQ(fs_kind_of(real_kernel(), fd, "/proc").value(), FsKind::pseudo);
}

TEST(FsKind, NamesWhatItCouldNotAsk) {
  test::FaultyKernel kernel;
  kernel.on(test::Op::fstatfs).fails(EIO);
  const Fd fd(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

  EXPECT_EQ(fs_kind_of(kernel, fd, "root").error(),
            make_error(EIO, "fstatfs", "root"));
}

class FsKindOn : public test::OnEachFileSystem {};

TEST_P(FsKindOn, HasTheNameItIsMountedBy) {
  const Fd fd(::open(path(".").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));

  EXPECT_EQ(to_string(fs_kind_of(real_kernel(), fd, "").value()),
            test::to_string(GetParam()));
}

LAMINA_ON_EACH_FILE_SYSTEM(FsKindOn);

}  // namespace
}  // namespace lamina
