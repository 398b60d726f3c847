// Hard links within the source are hard links within the copy.
#include <linux/magic.h>
#include <unistd.h>

#include <set>
#include <string>

#include "base/fs_kind.h"
#include "base/path.h"
#include "tests/copy/copying.h"
#include "tests/copy/mount_at.h"
#include "tests/support/mounts.h"

namespace lamina::test {
namespace {

using copy::Options;

constexpr char kEveryKind[] =
    "file a/file link=1 text=x owner=1000:1001 mode=0600\n"
    "symlink a/symlink link=2 -> nowhere owner=1000:1001\n"
    "fifo a/fifo link=3 owner=1000:1001 mode=0600\n"
    "socket a/socket link=4 owner=1000:1001 mode=0600\n"
    "char a/device link=5 dev=1:3 owner=1000:1001 mode=0600\n"
    "file b/file link=1\nsymlink b/symlink link=2\nfifo b/fifo link=3\n"
    "socket b/socket link=4\nchar b/device link=5\n"
    "file file link=1\nsymlink symlink link=2\nfifo fifo link=3\n"
    "socket socket link=4\nchar device link=5\n";
constexpr const char* kKinds[] = {"file", "symlink", "fifo", "socket",
                                  "device"};

// On tmpfs, where a listing can be trusted for the inode number.
class DirCopyLinks : public FaultyCopying {
 protected:
  DirCopyLinks()
      : FaultyCopying("/dev/shm") {}

  void SetUp() override {
    const auto fd = lamina::open_directory(real_kernel(), temp().path());
    ASSERT_EQ(error_of(fd), "");
    ASSERT_EQ(fs_kind_of(real_kernel(), *fd, "").value(), FsKind::tmpfs);
  }

  // The different inodes that `name` is in the copy's three directories.
  std::set<ino_t> inodes_of(const std::string& name) const {
    return {stat_of(dst(name)).st_ino, stat_of(dst("a/" + name)).st_ino,
            stat_of(dst("b/" + name)).st_ino};
  }
};

TEST_F(DirCopyLinks, AreRecreatedForEveryKind) {
  make_source(kEveryKind);

  const auto report = copy(options());

  ASSERT_EQ(error_of(report), "");
  for (const char* kind : kKinds) {
    EXPECT_EQ(inodes_of(kind).size(), 1U) << kind;
    EXPECT_EQ(stat_of(dst(kind)).st_nlink, 3U) << kind;
  }
  EXPECT_EQ(report->links_recreated, 10U);
  expect_same(src(), dst());
}

TEST_F(DirCopyLinks, CostOneLinkatForAFurtherNameAndNothingElse) {
  make_source(kEveryKind);

  ASSERT_EQ(error_of(copy(options())), "");

  for (const std::string kind : kKinds) {
    int first = 0;
    for (const std::string dir : {"", "a/", "b/"}) {
      const std::string trace = kernel().trace("dst/" + dir + kind);
      if (trace == "linkat ") {
        EXPECT_EQ(kernel().trace("src/" + dir + kind), "") << dir << kind;
      } else {
        ++first;
      }
    }
    EXPECT_EQ(first, 1) << kind;
  }
}

TEST_F(DirCopyLinks, GetMetadataOncePerInode) {
  make_source(kEveryKind);

  ASSERT_EQ(error_of(copy(options())), "");

  for (const std::string kind : kKinds) {
    const std::size_t chowns =
        kernel().count(Op::fchown, kind) + kernel().count(Op::fchownat, kind);
    const std::size_t times = kernel().count(Op::futimens, kind) +
                              kernel().count(Op::utimensat, kind);
    EXPECT_EQ(chowns, 1U) << kind;
    EXPECT_EQ(times, 1U) << kind;
  }
}

TEST_F(DirCopyLinks, AreRecreatedWhereListingsCannotBeTrusted) {
  make_source(kEveryKind);
  kernel().on(Op::fstatfs).shows([](struct statfs& info) {
    info.f_type = OVERLAYFS_SUPER_MAGIC;
  });

  ASSERT_EQ(error_of(copy(options())), "");

  expect_same(src(), dst());
  EXPECT_EQ(kernel().count(Op::linkat), 10U);
}

TEST_F(DirCopyLinks, OutsideTheSourceAreNotMissed) {
  make_source("file a link=1 text=x\nfile b text=y\n");
  ASSERT_EQ(::link(src("a").c_str(), temp().path("outside").c_str()), 0);

  ASSERT_EQ(error_of(copy(options())), "");

  EXPECT_EQ(stat_of(dst("a")).st_nlink, 1U);
  EXPECT_EQ(stat_of(temp().path("outside")).st_nlink, 2U);
}

TEST_F(DirCopyLinks, BecomeASecondInodeWhereTheFirstHasNoNameLeft) {
  make_source(kEveryKind);
  // Of each kind the first further name is refused, the last one is not.
  for (const char* kind : kKinds)
    kernel().on(Op::linkat, kind).call(1).fails(EMLINK);

  const auto report = copy(options());

  ASSERT_EQ(error_of(report), "");
  EXPECT_EQ(report->link_fallbacks, 5U);
  EXPECT_EQ(report->links_recreated, 5U);
  for (const std::string kind : kKinds) {
    EXPECT_EQ(inodes_of(kind).size(), 2U) << kind;
    for (const std::string dir : {"", "a/", "b/"}) {
      const struct stat want = stat_of(src(dir + kind));
      const struct stat got = stat_of(dst(dir + kind));
      EXPECT_EQ(got.st_mode, want.st_mode) << dir << kind;
      EXPECT_EQ(got.st_uid, want.st_uid) << dir << kind;
      EXPECT_EQ(got.st_mtim.tv_sec, want.st_mtim.tv_sec) << dir << kind;
      EXPECT_EQ(got.st_size, want.st_size) << dir << kind;
    }
  }
}

TEST_F(DirCopyLinks, StayWholeWhereManyWorkersMeet) {
  std::string text;
  for (int inode = 1; inode <= 60; ++inode) {
    for (int dir = 0; dir < 8; ++dir) {
      text += "file d" + std::to_string(dir) + "/f" + std::to_string(inode) +
              " link=" + std::to_string(inode) +
              (dir == 0 ? " fill=1 size=" + std::to_string(inode) : "") + "\n";
    }
  }
  make_source(text);
  const std::string want = dump_tree(src());

  for (int round = 0; round < 10; ++round) {
    Options options;
    options.workers = 4;
    ASSERT_EQ(error_of(copy(options)), "");
    ASSERT_EQ(dump_difference(want, dump_tree(dst())), "");
    remove_all_at(temp().fd(), "dst");
  }
}

TEST_F(DirCopyLinks, AreKnownByDeviceAndInode) {
  if (!why_not(FileSystem::tmpfs).empty())
    GTEST_SKIP() << why_not(FileSystem::tmpfs);
  make_source("dir a\ndir b\n");
  const MountAt a = MountAt::memory(src("a"));
  const MountAt b = MountAt::memory(src("b"));
  make_tree(src("a"), "file one link=1 text=a\nfile two link=1\n");
  make_tree(src("b"), "file one link=1 text=b\nfile two link=1\n");
  ASSERT_EQ(stat_of(src("a/one")).st_ino, stat_of(src("b/one")).st_ino);

  ASSERT_EQ(error_of(copy(options())), "");

  EXPECT_EQ(read_file(dst("a/one")), "a");
  EXPECT_EQ(read_file(dst("b/one")), "b");
  EXPECT_TRUE(same_inode(dst("a/one"), dst("a/two")));
  EXPECT_TRUE(same_inode(dst("b/one"), dst("b/two")));
  EXPECT_FALSE(same_inode(dst("a/one"), dst("b/one")));
}

TEST_F(DirCopyLinks, AreNotSeenThroughAFileMountedOverOneName) {
  if (!why_not(FileSystem::tmpfs).empty())
    GTEST_SKIP() << why_not(FileSystem::tmpfs);
  make_source("file a link=1 text=linked\nfile b link=1\nfile c link=1\n");
  write_file(temp().path("outside"), "mounted");
  const MountAt over = MountAt::bind(temp().path("outside"), src("b"));

  ASSERT_EQ(error_of(copy(options())), "");

  EXPECT_EQ(read_file(dst("b")), "mounted");
  EXPECT_EQ(read_file(dst("a")), "linked");
  EXPECT_TRUE(same_inode(dst("a"), dst("c")));
  EXPECT_FALSE(same_inode(dst("a"), dst("b")));
}

}  // namespace
}  // namespace lamina::test
