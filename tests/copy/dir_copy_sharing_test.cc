// What a regular file becomes in each mode, and what is learned on the way.
#include <linux/magic.h>
#include <unistd.h>

#include <cerrno>

#include "tests/copy/copying.h"
#include "tests/copy/mount_at.h"
#include "tests/support/mounts.h"

namespace lamina::test {
namespace {

using copy::Options;
using copy::Sharing;
using copy::Strictness;

constexpr unsigned long kXfsMagic = 0x58465342;  // XFS_SB_MAGIC, "XFSB".
constexpr char kThreeFiles[] = "file a text=a\nfile b text=b\nfile c text=c\n";
// Large enough to be moved by range.
constexpr char kThreeLarge[] =
    "file a size=300000 fill=1\nfile b size=300000 fill=2\n"
    "file c size=300000 fill=3\n";

class DirCopySharing : public FaultyCopying {
 protected:
  Options as(Sharing sharing) {
    Options out = options();
    out.sharing = sharing;
    return out;
  }
};

TEST_F(DirCopySharing, DoesNotTryToCloneTheSecondFileWhereTheFirstWasRefused) {
  make_source(kThreeFiles);
  kernel().on(Op::ficlone).fails(EOPNOTSUPP);

  const auto report = copy(as(Sharing::automatic));

  ASSERT_EQ(error_of(report), "");
  EXPECT_EQ(kernel().count(Op::ficlone), 1U);
  EXPECT_EQ(report->copied_by_read_write, 3U);
  expect_same(src(), dst());
}

TEST_F(DirCopySharing, TriesToCloneFromAnotherDevice) {
  if (!why_not(FileSystem::tmpfs).empty())
    GTEST_SKIP() << why_not(FileSystem::tmpfs);
  make_source("dir m\nfile a text=a\nfile b text=b\n");
  const MountAt other = MountAt::memory(src("m"));
  make_tree(src("m"), kThreeFiles);
  kernel().on(Op::ficlone).fails(EXDEV);

  ASSERT_EQ(error_of(copy(as(Sharing::automatic))), "");

  EXPECT_EQ(kernel().count(Op::ficlone, "dst/m/a") +
                kernel().count(Op::ficlone, "dst/m/b") +
                kernel().count(Op::ficlone, "dst/m/c"),
            1U);
  EXPECT_EQ(kernel().count(Op::ficlone), 2U);
}

TEST_F(DirCopySharing, GoesOnCloningAfterOneFileThatCannotBe) {
  make_source(kThreeFiles);
  kernel().on(Op::ficlone).returns(0);
  kernel().on(Op::ficlone).call(1).fails(EINVAL);

  const auto report = copy(as(Sharing::automatic));

  ASSERT_EQ(error_of(report), "");
  EXPECT_EQ(kernel().count(Op::ficlone), 3U);
  EXPECT_EQ(report->reflinked, 2U);
  EXPECT_EQ(report->copied_by_read_write, 1U);
  EXPECT_EQ(report->bytes_written, 1U);
}

TEST_F(DirCopySharing, DoesNotTryARangeCopyAgainWhereTheFirstWasRefused) {
  make_source(kThreeLarge);
  kernel().on(Op::ficlone).fails(EXDEV);
  kernel().on(Op::copy_file_range).fails(EXDEV);

  const auto report = copy(as(Sharing::automatic));

  ASSERT_EQ(error_of(report), "");
  EXPECT_EQ(kernel().count(Op::copy_file_range), 1U);
  EXPECT_EQ(report->copied_by_read_write, 3U);
  expect_same(src(), dst());
}

TEST_F(DirCopySharing, NeverClonesWhenBytesOfItsOwnWereAskedFor) {
  make_source(kThreeLarge);

  const auto report = copy(as(Sharing::content));

  ASSERT_EQ(error_of(report), "");
  EXPECT_EQ(kernel().count(Op::ficlone), 0U);
  EXPECT_EQ(report->reflinked, 0U);
  EXPECT_EQ(report->copied_by_range + report->copied_by_read_write, 3U);
  EXPECT_EQ(report->bytes_written, 900000U);
}

TEST_F(DirCopySharing, NamesFileAndReasonWhereAReflinkCannotBe) {
  make_source("file d/a text=x\n");
  kernel().on(Op::ficlone).fails(EOPNOTSUPP);

  const auto report = copy(as(Sharing::reflink));

  EXPECT_EQ(error_of(report),
            "ioctl(FICLONE) on 'd/a': Operation not supported (EOPNOTSUPP)");
  EXPECT_FALSE(exists(dst()));
}

TEST_F(DirCopySharing, ReflinksAnEmptyFileByMakingIt) {
  make_source("file a\n");
  kernel().on(Op::ficlone).fails(EOPNOTSUPP);

  const auto report = copy(as(Sharing::reflink));

  ASSERT_EQ(error_of(report), "");
  EXPECT_EQ(report->empty_files, 1U);
}

TEST_F(DirCopySharing, LinksFilesAndTouchesNoSharedInode) {
  make_source("file d/a text=x owner=1:2 mode=4751\nsymlink s -> d/a\n");
  const std::string before = dump_tree(src());

  const auto report = copy(as(Sharing::hardlink));

  ASSERT_EQ(error_of(report), "");
  EXPECT_TRUE(same_inode(src("d/a"), dst("d/a")));
  EXPECT_FALSE(same_inode(src("s"), dst("s")));
  EXPECT_EQ(kernel().trace("dst/d/a"), "linkat ");
  EXPECT_EQ(kernel().trace("src/d/a"), "");
  EXPECT_EQ(report->linked, 1U);
  EXPECT_EQ(dump_tree(src()), before);
}

TEST_F(DirCopySharing, CopiesToAnotherDeviceInHardLinkMode) {
  make_source(
      "file a link=1 text=x\nfile b link=1\nfile c link=1\nfile d text=y\n");
  kernel().on(Op::linkat).call(1).fails(EXDEV);

  const auto report = copy(as(Sharing::hardlink));

  ASSERT_EQ(error_of(report), "");
  EXPECT_EQ(report->linked, 0U);
  EXPECT_FALSE(same_inode(src("a"), dst("a")));
  // One try in all; then two further names follow the new copy.
  EXPECT_EQ(kernel().count(Op::linkat), 3U);
  EXPECT_EQ(report->links_recreated, 2U);
  EXPECT_TRUE(same_inode(dst("a"), dst("b")));
  EXPECT_TRUE(same_inode(dst("a"), dst("c")));
  expect_same(src(), dst());
}

TEST_F(DirCopySharing, CopiesTheOneFileThatCannotBeLinked) {
  for (const int code : {EPERM, EMLINK}) {
    make_source(kThreeFiles);
    kernel().on(Op::linkat, "b").fails(code);

    const auto report = copy(as(Sharing::hardlink));

    ASSERT_EQ(error_of(report), "");
    EXPECT_EQ(report->linked, 2U);
    EXPECT_EQ(report->link_fallbacks, 1U);
    EXPECT_FALSE(same_inode(src("b"), dst("b")));
    EXPECT_EQ(read_file(dst("b")), "b");
    remove_all_at(temp().fd(), "dst");
    remove_all_at(temp().fd(), "src");
  }
}

TEST_F(DirCopySharing, FailsWhereLinksAreDemanded) {
  make_source(kThreeFiles);
  kernel().on(Op::linkat, "b").fails(EXDEV);
  Options strict = as(Sharing::hardlink);
  strict.strictness = Strictness::strict;

  const auto report = copy(strict);

  EXPECT_EQ(error_of(report),
            "linkat on 'b': Invalid cross-device link (EXDEV)");
  EXPECT_FALSE(exists(dst()));
}

TEST_F(DirCopySharing, DoesNotTakeARealFaultForAReasonToCopy) {
  make_source(kThreeFiles);
  kernel().on(Op::linkat, "b").fails(EIO);

  const auto report = copy(as(Sharing::hardlink));

  EXPECT_EQ(error_of(report), "linkat on 'b': Input/output error (EIO)");
}

TEST_F(DirCopySharing, RefusesToChangeWhatHardLinksShare) {
  make_source(kThreeFiles);
  Options mapped = as(Sharing::hardlink);
  mapped.owner = copy::Owner::mapped;
  mapped.uid_map = IdMap::parse("0:1000:10").value();

  EXPECT_EQ(code_of(copy(mapped)), EINVAL);
  EXPECT_FALSE(exists(dst()));
}

TEST_F(DirCopySharing, FlushesAFreshSourceOnceBeforeCloning) {
  make_source(kThreeFiles);
  kernel().on(Op::fstatfs).shows([](struct statfs& info) {
    info.f_type = static_cast<decltype(info.f_type)>(kXfsMagic);
  });
  kernel().on(Op::syncfs).returns(0);
  kernel().on(Op::ficlone).returns(0);

  ASSERT_EQ(error_of(copy(as(Sharing::automatic))), "");

  EXPECT_EQ(kernel().count(Op::syncfs), 1U);
}

TEST_F(DirCopySharing, DoesNotFlushASourceThatLongIsOnDisk) {
  make_source(kThreeFiles);
  kernel().on(Op::fstatfs).shows([](struct statfs& info) {
    info.f_type = static_cast<decltype(info.f_type)>(kXfsMagic);
  });
  kernel().on(Op::fstat).shows([](struct stat& stat) {
    stat.st_mtim = {.tv_sec = 1, .tv_nsec = 0};
    stat.st_ctim = {.tv_sec = 1, .tv_nsec = 0};
  });
  kernel().on(Op::ficlone).returns(0);

  ASSERT_EQ(error_of(copy(as(Sharing::automatic))), "");

  EXPECT_EQ(kernel().count(Op::syncfs), 0U);
}

TEST_F(DirCopySharing, SharesExtentsWhereTheFileSystemDoes) {
  if (!why_not(FileSystem::xfs).empty())
    GTEST_SKIP() << why_not(FileSystem::xfs);
  const Mount mount(FileSystem::xfs, {.bytes = kSmallestImage});
  make_tree(mount.path("src"), kThreeLarge);

  const auto report = copy::dir_copy(mount.path("src"), mount.path("dst"));

  ASSERT_EQ(error_of(report), "");
  EXPECT_EQ(report->reflinked, 3U);
  EXPECT_EQ(report->bytes_logical, 900000U);
  EXPECT_EQ(report->bytes_written, 0U);
}

TEST_F(DirCopySharing, LeavesTheSourceAloneWhenTheCopyIsWritten) {
  if (!why_not(FileSystem::xfs).empty())
    GTEST_SKIP() << why_not(FileSystem::xfs);
  const Mount mount(FileSystem::xfs, {.bytes = kSmallestImage});
  make_tree(mount.path("src"), kThreeLarge);
  const std::string before = dump_tree(mount.path("src"));
  ASSERT_EQ(error_of(copy::dir_copy(mount.path("src"), mount.path("dst"))), "");

  for (const char* name : {"dst/a", "dst/b", "dst/c"})
    write_file(mount.path(name), "overwritten");

  EXPECT_EQ(dump_tree(mount.path("src")), before);
}

}  // namespace
}  // namespace lamina::test
