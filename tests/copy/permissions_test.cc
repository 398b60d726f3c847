#include "copy/permissions.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include <gtest/gtest.h>

#include "base/kernel.h"
#include "copy/report.h"
#include "tests/support/faulty_kernel.h"
#include "tests/support/fixtures.h"
#include "tests/support/mounts.h"
#include "tests/support/program.h"
#include "tests/support/tree.h"

namespace lamina::copy {
namespace {

using test::dump_tree;
using test::FaultyKernel;
using test::make_tree;
using test::Op;
using test::TempDir;

NamePlace place(const std::string& path) {
  auto opened = open_parent(real_kernel(), path);
  EXPECT_TRUE(opened) << opened.error().message();
  return std::move(*opened);
}

std::string mode_of(const std::string& path) {
  struct stat stat {};
  EXPECT_EQ(::lstat(path.c_str(), &stat), 0) << path;
  char text[16];
  std::snprintf(text, sizeof text, "%04o", stat.st_mode & 07777U);
  return text;
}

TEST(Lock, TakesWriteBitsFromFilesAndKeepsTheOthers) {
  const TempDir temp;
  make_tree(temp.path("t"), R"(
    dir  .        mode=0700
    dir  d        mode=1777
    file d/plain  mode=0644
    file d/tool   mode=0755
    file d/setuid mode=4755
    file d/none   mode=0000
    file d/odd    mode=0622)");

  auto report = lock(place(temp.path("t")));

  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->files, 4U);
  EXPECT_EQ(report->directories, 2U);
  EXPECT_EQ(mode_of(temp.path("t")), "0755");
  EXPECT_EQ(mode_of(temp.path("t/d")), "0755");
  EXPECT_EQ(mode_of(temp.path("t/d/plain")), "0444");
  EXPECT_EQ(mode_of(temp.path("t/d/tool")), "0555");
  EXPECT_EQ(mode_of(temp.path("t/d/setuid")), "4555");
  EXPECT_EQ(mode_of(temp.path("t/d/none")), "0000");
  EXPECT_EQ(mode_of(temp.path("t/d/odd")), "0400");
}

TEST(Lock, ChangesNothingThatIsRightAlready) {
  const TempDir temp;
  make_tree(temp.path("t"), R"(
    dir  d        mode=0755
    file d/plain  mode=0444
    file d/tool   mode=0555)");
  FaultyKernel kernel;
  PermissionsOptions options;
  options.kernel = &kernel;

  auto report = lock(place(temp.path("t")), options);

  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->files + report->directories, 0U);
  EXPECT_EQ(kernel.count(Op::fchmod) + kernel.count(Op::fchmodat), 0U);
}

TEST(Lock, ChangesAnInodeOnceThatHasAllItsNamesInTheTree) {
  const TempDir temp;
  make_tree(temp.path("t"), R"(
    file a/one   link=1 mode=0644
    file b/two   link=1
    file three   link=1)");
  FaultyKernel kernel;
  PermissionsOptions options;
  options.kernel = &kernel;
  options.workers = 1;

  auto report = lock(place(temp.path("t")), options);

  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->files, 1U);
  EXPECT_EQ(kernel.count(Op::fchmod), 1U);
  EXPECT_EQ(mode_of(temp.path("t/three")), "0444");
}

TEST(Lock, RefusesAnInodeWithANameOutsideBeforeTheFirstChmod) {
  const TempDir temp;
  make_tree(temp.path(), R"(
    dir  t          mode=0700
    dir  t/a        mode=0700
    file t/a/own    mode=0644
    file t/b/shared link=1 mode=0644
    file t/c/again  link=1
    file store/blob link=1)");
  const std::string before = dump_tree(temp.path());
  FaultyKernel kernel;
  for (unsigned workers : {1U, 4U}) {
    PermissionsOptions options;
    options.kernel = &kernel;
    options.workers = workers;

    auto report = lock(place(temp.path("t")), options);

    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().message(),
              "chmod on 'b/shared': its inode has names outside the tree: "
              "Operation not permitted (EPERM)");
  }
  EXPECT_EQ(kernel.count(Op::fchmod) + kernel.count(Op::fchmodat), 0U);
  EXPECT_EQ(dump_tree(temp.path()), before);
}

TEST(Lock, AcceptsSharedInodesThatAreRightAlready) {
  const TempDir temp;
  make_tree(temp.path(), R"(
    file store/blob link=1 mode=0444
    file t/file     link=1
    file t/own      mode=0644)");

  auto report = lock(place(temp.path("t")));

  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->files, 1U);
  EXPECT_EQ(mode_of(temp.path("store/blob")), "0444");
}

TEST(Lock, LeavesSymlinksAndWhatTheyPointToAlone) {
  const TempDir temp;
  make_tree(temp.path(), R"(
    file outside/file mode=0666
    dir  outside      mode=0777
    symlink t/to-file  -> ../outside/file
    symlink t/to-dir   -> ../outside
    symlink t/dangling -> nowhere
    fifo    t/pipe     mode=0622
    socket  t/socket   mode=0666)");

  auto report = lock(place(temp.path("t")));

  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->files, 0U);
  EXPECT_EQ(mode_of(temp.path("outside")), "0777");
  EXPECT_EQ(mode_of(temp.path("outside/file")), "0666");
  EXPECT_EQ(mode_of(temp.path("t/pipe")), "0622");
  EXPECT_EQ(mode_of(temp.path("t/socket")), "0666");
}

TEST(Lock, RefusesASymlinkForATree) {
  const TempDir temp;
  make_tree(temp.path(), R"(
    file t/file mode=0644
    symlink to-tree -> t)");

  auto report = lock(place(temp.path("to-tree")));

  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ENOTDIR);
  EXPECT_EQ(report.error().subject, temp.path("to-tree"));
  EXPECT_EQ(mode_of(temp.path("t/file")), "0644");
}

TEST(Lock, RefusesAnInodeThatGainedANameBetweenItsTwoLooks) {
  const TempDir temp;
  make_tree(temp.path(), R"(
    file t/file mode=0644
    dir  store)");
  FaultyKernel kernel;
  kernel.on(Op::openat, "t/file").first([&] {
    EXPECT_EQ(
        ::link(temp.path("t/file").c_str(), temp.path("store/blob").c_str()),
        0);
  });
  PermissionsOptions options;
  options.kernel = &kernel;

  auto report = lock(place(temp.path("t")), options);

  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ESTALE);
  EXPECT_EQ(report.error().subject, "file");
  EXPECT_EQ(mode_of(temp.path("store/blob")), "0644");
}

TEST(Lock, ChangesNothingElseWhenANameIsSwappedForASymlink) {
  const TempDir temp;
  make_tree(temp.path(), R"(
    file t/file  mode=0644
    file outside mode=0666)");
  FaultyKernel kernel;
  kernel.on(Op::openat, "t/file").first([&] {
    ::unlink(temp.path("t/file").c_str());
    EXPECT_EQ(::symlink("../outside", temp.path("t/file").c_str()), 0);
  });
  PermissionsOptions options;
  options.kernel = &kernel;

  auto report = lock(place(temp.path("t")), options);

  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ELOOP);
  EXPECT_EQ(mode_of(temp.path("outside")), "0666");
}

TEST(Lock, ReportsTheFirstErrorInWalkOrderAtEveryWidth) {
  const TempDir temp;
  std::string text;
  for (int i = 0; i < 300; ++i) {
    text += "file d" + std::to_string(i % 7) + "/f" + std::to_string(i) +
            " mode=0644\n";
  }
  for (unsigned workers : {1U, 4U}) {
    const std::string tree = temp.path("t" + std::to_string(workers));
    make_tree(tree, text);
    FaultyKernel kernel;
    kernel.on(Op::fchmod, "d5/f12").fails(EIO);
    kernel.on(Op::fchmod, "d2/f93").fails(EIO);
    PermissionsOptions options;
    options.kernel = &kernel;
    options.workers = workers;

    auto report = lock(place(tree), options);

    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().message(),
              "chmod on 'd2/f93': Input/output error (EIO)");
  }
}

TEST(Lock, CountsItsProgress) {
  const TempDir temp;
  make_tree(temp.path("t"), "file a/b mode=0644\nfile c mode=0444");
  Progress progress;
  PermissionsOptions options;
  options.progress = &progress;

  ASSERT_TRUE(lock(place(temp.path("t")), options));

  EXPECT_EQ(progress.entries, 6U);
}

TEST(Lock, StopsWhenAsked) {
  const TempDir temp;
  make_tree(temp.path("t"), "file a mode=0644");
  std::stop_source source;
  source.request_stop();
  PermissionsOptions options;
  options.stop = source.get_token();

  auto report = lock(place(temp.path("t")), options);

  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ECANCELED);
  EXPECT_EQ(mode_of(temp.path("t/a")), "0644");
}

TEST(Lock, LeavesNoDescriptorOpen) {
  const TempDir temp;
  make_tree(temp.path("t"), "file a/b/c mode=0644");
  const auto before = test::open_descriptors();

  ASSERT_TRUE(lock(place(temp.path("t"))));

  EXPECT_EQ(test::open_descriptors(), before);
}

// Each lock() here is refused before its first chmod.
class LockOfAMount : public testing::Test {
 protected:
  void SetUp() override {
    const std::string reason = test::why_not(test::FileSystem::tmpfs);
    if (!reason.empty()) {
      GTEST_SKIP() << reason;
    }
    make_tree(temp_.path(), R"(
      file t/other        mode=0644
      dir  t/inner
      file outside/file   mode=0666)");
  }
  void TearDown() override { ::umount2(inner_.c_str(), MNT_DETACH); }

  void expect_refused() {
    auto report = lock(place(temp_.path("t")));

    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().message(),
              "chmod on '" + temp_.path("t") + "': '" + inner_ +
                  "' is mounted inside: Device or resource busy (EBUSY)");
    EXPECT_EQ(mode_of(temp_.path("outside/file")), "0666");
    EXPECT_EQ(mode_of(temp_.path("t/other")), "0644");
  }

  TempDir temp_;
  const std::string inner_ = temp_.path("t/inner");
};

TEST_F(LockOfAMount, RefusesAnotherFileSystemInside) {
  ASSERT_EQ(::mount("none", inner_.c_str(), "tmpfs", 0, ""), 0);

  expect_refused();
}

TEST_F(LockOfAMount, RefusesABindMountOfTheSameFileSystem) {
  ASSERT_EQ(::mount(temp_.path("outside").c_str(), inner_.c_str(), nullptr,
                    MS_BIND, nullptr),
            0);

  expect_refused();
}

TEST(Lock, WorksForAnOrdinaryUserWhoMayNotReadTheirFiles) {
  if (!test::may_become_other_users()) {
    GTEST_SKIP() << "cannot become another user";
  }
  const TempDir temp;
  ASSERT_EQ(::chmod(temp.path().c_str(), 0777), 0);

  const std::string said = test::as_ordinary_user([&]() -> std::string {
    make_tree(temp.path("t"), "file secret mode=0200\nfile tool mode=0311");
    auto report = lock(place(temp.path("t")));
    return report ? "" : report.error().message();
  });

  EXPECT_EQ(said, "");
  EXPECT_EQ(mode_of(temp.path("t/secret")), "0000");
  EXPECT_EQ(mode_of(temp.path("t/tool")), "0111");
}

TEST(UnlockDirectories, ChangesDirectoriesOnly) {
  const TempDir temp;
  make_tree(temp.path("t"), R"(
    dir  .      mode=0555
    dir  d      mode=0500
    dir  d/e    mode=0000
    file d/e/f  mode=0444
    file d/open mode=0666)");
  FaultyKernel kernel;
  PermissionsOptions options;
  options.kernel = &kernel;

  auto report = unlock_directories(place(temp.path("t")), options);

  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->directories, 3U);
  EXPECT_EQ(report->files, 0U);
  EXPECT_EQ(mode_of(temp.path("t/d/e")), "0755");
  EXPECT_EQ(mode_of(temp.path("t/d/e/f")), "0444");
  EXPECT_EQ(mode_of(temp.path("t/d/open")), "0666");
  EXPECT_EQ(kernel.calls("f"), 0U);
}

TEST(UnlockDirectories, EntersWhatItsOwnerMayNotEnter) {
  if (!test::may_become_other_users()) {
    GTEST_SKIP() << "cannot become another user";
  }
  const TempDir temp;
  ASSERT_EQ(::chmod(temp.path().c_str(), 0777), 0);

  const std::string said = test::as_ordinary_user([&]() -> std::string {
    make_tree(temp.path("t"), "file a/b/file text=x");
    ::chmod(temp.path("t/a/b").c_str(), 0);
    ::chmod(temp.path("t/a").c_str(), 0300);
    ::chmod(temp.path("t").c_str(), 0);
    auto report = unlock_directories(place(temp.path("t")));
    if (!report) {
      return report.error().message();
    }
    return report->directories == 3 ? "" : "not three directories";
  });

  EXPECT_EQ(said, "");
  EXPECT_EQ(mode_of(temp.path("t/a/b")), "0755");
}

TEST(UnlockDirectories, KeepsTimesOfModification) {
  const TempDir temp;
  make_tree(temp.path("t"), "dir d mode=0500 mtime=7.000000008");

  ASSERT_TRUE(unlock_directories(place(temp.path("t"))));

  struct stat stat {};
  ASSERT_EQ(::stat(temp.path("t/d").c_str(), &stat), 0);
  EXPECT_EQ(stat.st_mtim.tv_sec, 7);
  EXPECT_EQ(stat.st_mtim.tv_nsec, 8);
}

TEST(Lock, LocksATreeDeeperThanAPathMayBe) {
  const TempDir temp;
  make_tree(temp.path("t"), "");
  const test::Descriptor root(
      ::open(temp.path("t").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  {
    const test::Descriptor deepest =
        test::make_chain(root.get(), 60, std::string(100, 'd'));
    make_tree(deepest.get(), "file f mode=0644");
  }

  auto report = lock(place(temp.path("t")));

  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->files, 1U);
}

}  // namespace
}  // namespace lamina::copy
