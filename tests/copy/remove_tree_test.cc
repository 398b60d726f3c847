#include "copy/remove_tree.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/kernel.h"
#include "base/path.h"
#include "copy/report.h"
#include "tests/copy/copying.h"
#include "tests/copy/mount_at.h"
#include "tests/support/faulty_kernel.h"
#include "tests/support/mounts.h"
#include "tests/support/tree.h"

namespace lamina::copy {
namespace {

using test::code_of;
using test::dump_tree;
using test::exists;
using test::FaultyKernel;
using test::make_tree;
using test::MountAt;
using test::Op;
using test::TempDir;

class RemoveTree : public testing::Test {
 protected:
  Result<RemoveReport> remove(const std::string& name,
                              const RemoveOptions& options = {}) const {
    auto parent = open_directory(real_kernel(), temp_.path());
    EXPECT_TRUE(parent) << parent.error().message();
    return remove_tree(*parent, name, options);
  }

  TempDir temp_;
};

constexpr const char* kEverything = R"(
    dir     a
    file    a/f       text=x
    file    a/g       link=1 text=y
    file    b/h       link=1
    symlink a/out     -> ../../kept
    symlink dangling  -> nowhere
    fifo    p
    socket  s
    dir     a/empty
    file    odd\x0aname\xff text=z)";

TEST_F(RemoveTree, RemovesEveryKindOfFileAtAnyWidth) {
  for (const unsigned workers : {1U, 2U, 8U}) {
    make_tree(temp_.path("t"), kEverything);
    RemoveOptions options;
    options.workers = workers;

    auto removed = remove("t", options);

    ASSERT_TRUE(removed) << removed.error().message();
    EXPECT_FALSE(exists(temp_.path("t")));
    // Nine names, their two other directories, and the root.
    EXPECT_EQ(removed->removed, 12U) << workers;
  }
}

TEST_F(RemoveTree, RemovesWhatIsNoDirectory) {
  make_tree(temp_.path("t"), "file f text=x\nsymlink l -> d\ndir d\n");
  auto parent = open_directory(real_kernel(), temp_.path("t"));
  ASSERT_TRUE(parent);

  EXPECT_TRUE(remove_tree(*parent, "f"));
  EXPECT_TRUE(remove_tree(*parent, "l"));

  EXPECT_FALSE(exists(temp_.path("t/f")));
  EXPECT_FALSE(exists(temp_.path("t/l")));
  EXPECT_TRUE(exists(temp_.path("t/d")));
}

TEST_F(RemoveTree, FollowsNoSymlink) {
  make_tree(temp_.path("kept"), "file f text=x\n");
  make_tree(temp_.path("t"), "symlink d/out -> ../../kept\n");

  ASSERT_TRUE(remove("t"));

  EXPECT_TRUE(exists(temp_.path("kept/f")));
}

TEST_F(RemoveTree, FollowsNoSymlinkThatTookADirectorysPlace) {
  make_tree(temp_.path("kept"), "file f text=x\n");
  make_tree(temp_.path("t"), "file d/f text=y\n");
  FaultyKernel kernel;
  kernel.on(Op::openat, "t/d").first([&] {
    std::filesystem::rename(temp_.path("t/d"), temp_.path("away"));
    std::filesystem::create_symlink("../kept", temp_.path("t/d"));
  });
  RemoveOptions options;
  options.workers = 1;
  options.kernel = &kernel;

  auto removed = remove("t", options);

  ASSERT_TRUE(removed) << removed.error().message();
  EXPECT_FALSE(exists(temp_.path("t")));
  EXPECT_TRUE(exists(temp_.path("kept/f")));
}

TEST_F(RemoveTree, ChangesNoModeOfAFile) {
  make_tree(temp_.path("kept"), "file f link=1 mode=0400 text=x\n");
  make_tree(temp_.path("t"), "dir d\n");
  std::filesystem::create_hard_link(temp_.path("kept/f"), temp_.path("t/d/f"));
  const std::string before = dump_tree(temp_.path("kept"));
  FaultyKernel kernel;
  RemoveOptions options;
  options.kernel = &kernel;

  ASSERT_TRUE(remove("t", options));

  EXPECT_EQ(dump_tree(temp_.path("kept")), before);
  EXPECT_EQ(kernel.count(Op::fchmod) + kernel.count(Op::fchmodat), 0U);
}

TEST_F(RemoveTree, StaysOutOfMounts) {
  const std::string& reason = test::why_not(test::FileSystem::tmpfs);
  if (!reason.empty())
    GTEST_SKIP() << reason;
  make_tree(temp_.path("kept"), "file f text=x\n");
  make_tree(temp_.path("t"), "dir d\nfile g text=y\n");
  const MountAt at = MountAt::bind(temp_.path("kept"), temp_.path("t/d"));

  EXPECT_EQ(code_of(remove("t")), EBUSY);

  EXPECT_TRUE(exists(temp_.path("kept/f")));
  EXPECT_TRUE(exists(temp_.path("t/g")));
}

TEST_F(RemoveTree, SaysWhatIsMissing) {
  auto removed = remove("none");

  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, ENOENT);
  EXPECT_EQ(removed.error().subject, "none");
}

TEST_F(RemoveTree, SucceedsWhenSomebodyElseRemovesTheSame) {
  make_tree(temp_.path("t"), "file d/f text=x\nfile e text=y\n");
  FaultyKernel kernel;
  kernel.on(Op::unlinkat, "t/e").first([&] {
    std::filesystem::remove(temp_.path("t/e"));
  });
  kernel.on(Op::openat, "t/d").first([&] {
    std::filesystem::remove_all(temp_.path("t/d"));
  });
  RemoveOptions options;
  options.workers = 1;
  options.kernel = &kernel;

  auto removed = remove("t", options);

  ASSERT_TRUE(removed) << removed.error().message();
  EXPECT_FALSE(exists(temp_.path("t")));
}

TEST_F(RemoveTree, ReportsTheFirstFailureInWalkOrderAtAnyWidth) {
  for (const unsigned workers : {1U, 2U, 8U}) {
    make_tree(temp_.path("t"),
              "file a/f text=x\nfile b/f text=x\nfile c/f text=x\n");
    FaultyKernel kernel;
    kernel.on(Op::unlinkat, "b/f").fails(EPERM);
    kernel.on(Op::unlinkat, "c/f").fails(EIO);
    RemoveOptions options;
    options.workers = workers;
    options.kernel = &kernel;

    auto removed = remove("t", options);

    ASSERT_FALSE(removed);
    EXPECT_EQ(removed.error().code, EPERM);
    EXPECT_EQ(removed.error().subject, "t/b/f");
    EXPECT_FALSE(exists(temp_.path("t/a/f")));
    EXPECT_TRUE(exists(temp_.path("t/b/f")));
    ASSERT_TRUE(remove("t"));
  }
}

TEST_F(RemoveTree, StopsWhenAsked) {
  make_tree(temp_.path("t"), "file f text=x\n");
  std::stop_source source;
  source.request_stop();
  RemoveOptions options;
  options.stop = source.get_token();

  EXPECT_EQ(code_of(remove("t", options)), ECANCELED);

  EXPECT_TRUE(exists(temp_.path("t/f")));
}

TEST_F(RemoveTree, TellsHowFarItIs) {
  make_tree(temp_.path("t"), "file a/f text=x\nfile b text=y\n");
  Progress progress;
  RemoveOptions options;
  options.progress = &progress;

  ASSERT_TRUE(remove("t", options));

  EXPECT_EQ(progress.entries.load(), 3U);
}

TEST_F(RemoveTree, KeepsTheRootOfRemoveChildren) {
  make_tree(temp_.path("t"), kEverything);
  auto root = open_directory(real_kernel(), temp_.path("t"));
  ASSERT_TRUE(root);

  auto removed = remove_children(*root, "t");

  ASSERT_TRUE(removed) << removed.error().message();
  EXPECT_TRUE(std::filesystem::is_empty(temp_.path("t")));
}

TEST_F(RemoveTree, GoesOnAloneWhereWorkersRunOutOfDescriptors) {
  make_tree(temp_.path("t"), kEverything);
  FaultyKernel kernel;
  kernel.on(Op::openat, "t/a").call(1).fails(EMFILE);
  RemoveOptions options;
  options.kernel = &kernel;
  options.workers = 4;

  auto report = remove("t", options);

  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->workers, 1U);
  EXPECT_FALSE(exists(temp_.path("t")));
}

TEST_F(RemoveTree, SaysSoWhereOneWorkerAloneRunsOutOfDescriptors) {
  make_tree(temp_.path("t"), kEverything);
  FaultyKernel kernel;
  kernel.on(Op::openat, "t/a").fails(EMFILE);
  RemoveOptions options;
  options.kernel = &kernel;
  options.workers = 4;

  auto report = remove("t", options);

  EXPECT_EQ(code_of(report), EMFILE);
  EXPECT_TRUE(exists(temp_.path("t/a")));
}

}  // namespace
}  // namespace lamina::copy
