#include "tests/support/mounts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstdint>

#include <gtest/gtest.h>

#include "tests/support/fixtures.h"
#include "tests/support/tree.h"

namespace lamina::test {
namespace {

class MountedTree : public OnEachFileSystem {};

TEST_P(MountedTree, HoldsWhatTheTextSays) {
  RandomTreeOptions options = kEverything;
  if (!holds_user_xattrs(path("."))) {
    options.user_xattrs = RandomTreeOptions::May::no;
  }
  const std::uint64_t seed = seed_from_environment(3);
  SCOPED_TRACE("LAMINA_SEED=" + std::to_string(seed));

  make_tree(path("a"), random_tree(seed, 300, options));
  make_tree(path("b"), random_tree(seed, 300, options));

  EXPECT_EQ(dump_difference(dump_tree(path("a")), dump_tree(path("b"))), "");
}

TEST_P(MountedTree, IsThereForEverybody) {
  make_tree(path("a"), "file f text=x");

  EXPECT_EQ(as_ordinary_user([&] { return dump_tree(path("a")); }),
            dump_tree(path("a")));
}

TEST_P(MountedTree, IsADeviceOfItsOwn) {
  struct stat here {};
  struct stat outside {};

  ASSERT_EQ(::stat(path(".").c_str(), &here), 0);
  ASSERT_EQ(::stat("/", &outside), 0);

  EXPECT_NE(here.st_dev, outside.st_dev);
}

LAMINA_ON_EACH_FILE_SYSTEM(MountedTree);

class FullFileSystem : public OnEachFileSystem {
  MountOptions mount_options() const override {
    return {.bytes = kSmallestImage};
  }
};

TEST_P(FullFileSystem, RefusesWhatDoesNotFit) {
  constexpr std::uint64_t kLeft = std::uint64_t{4} << 20U;

  mount().leave_free(kLeft);

  const Descriptor fd(::open(path("f").c_str(), O_CREAT | O_WRONLY, 0600));
  ASSERT_TRUE(fd.valid());
  EXPECT_EQ(::posix_fallocate(fd.get(), 0, off_t{64} << 20U), ENOSPC);
}

LAMINA_ON_EACH_FILE_SYSTEM(FullFileSystem);

TEST(Mount, BoundsTheNumberOfInodes) {
  const std::string& reason = why_not(FileSystem::tmpfs);
  if (!reason.empty())
    GTEST_SKIP() << reason;
  const Mount mount(FileSystem::tmpfs, {.inodes = 20});

  EXPECT_THROW(make_tree(mount.path("a"), random_tree(1, 100)), SupportError);
}

TEST(Mount, CanBeReadOnly) {
  const std::string& reason = why_not(FileSystem::ext4);
  if (!reason.empty())
    GTEST_SKIP() << reason;
  Mount mount(FileSystem::ext4);

  mount.set_read_only();

  EXPECT_NE(::mkdir(mount.path("d").c_str(), 0755), 0);
  EXPECT_EQ(errno, EROFS);
}

TEST(Mount, LeavesNoDescriptorAndNoDirectory) {
  const std::string& reason = why_not(FileSystem::btrfs);
  if (!reason.empty())
    GTEST_SKIP() << reason;
  const auto before = open_descriptors();
  std::string path;

  {
    const Mount mount(FileSystem::btrfs);
    path = mount.path();
  }

  struct stat st {};
  EXPECT_NE(::stat(path.c_str(), &st), 0);
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace lamina::test
