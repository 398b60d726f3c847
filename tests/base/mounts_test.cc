#include "base/mounts.h"

#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/copy/mount_at.h"
#include "tests/support/mounts.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tree.h"

namespace lamina {
namespace {

using test::FileSystem;
using test::MountAt;

class MountsBelow : public testing::Test {
 protected:
  void SetUp() override {
    const std::string& reason = test::why_not(FileSystem::tmpfs);
    if (!reason.empty())
      GTEST_SKIP() << reason;
    test::make_tree(temp_.fd(),
                    "dir a/b/c\ndir a/bc\nfile a/f text=x\nfile a/g text=x\n"
                    "dir a/with\\x20space\\x0aand\\x5cmore\n");
  }

  std::vector<std::string> targets_below(const std::string& path) const {
    const auto found = mounts_below(path);
    EXPECT_TRUE(found) << found.error().message();
    std::vector<std::string> targets;
    for (const Mount& mount : found.value_or(std::vector<Mount>()))
      targets.push_back(mount.target);
    return targets;
  }

  test::TempDir temp_;
};

using Targets = std::vector<std::string>;

TEST_F(MountsBelow, AreNoneWhereNothingIsMounted) {
  EXPECT_EQ(targets_below(temp_.path()), Targets{});
  EXPECT_EQ(targets_below(temp_.path("none")), Targets{});
}

TEST_F(MountsBelow, AreThoseStrictlyBelow) {
  const MountAt at = MountAt::memory(temp_.path("a/b"));

  EXPECT_EQ(targets_below(temp_.path()), Targets{temp_.path("a/b")});
  EXPECT_EQ(targets_below(temp_.path("a")), Targets{temp_.path("a/b")});
  EXPECT_EQ(targets_below(temp_.path("a/b")), Targets{});
}

TEST_F(MountsBelow, DoNotIncludeASiblingWithALongerName) {
  const MountAt at = MountAt::memory(temp_.path("a/bc"));

  EXPECT_EQ(targets_below(temp_.path("a/b")), Targets{});
}

TEST_F(MountsBelow, IncludeAFileMountedOverAFile) {
  const MountAt at = MountAt::bind(temp_.path("a/f"), temp_.path("a/g"));

  const auto found = mounts_below(temp_.path("a"));

  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().target, temp_.path("a/g"));
  EXPECT_TRUE(found->front().root.ends_with("/a/f")) << found->front().root;
}

TEST_F(MountsBelow, IncludeMountsOnMounts) {
  const MountAt one = MountAt::memory(temp_.path("a/b"));
  const MountAt two = MountAt::memory(temp_.path("a/b"));

  const auto found = mounts_below(temp_.path("a"));

  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2U);
  EXPECT_NE((*found)[0].id, (*found)[1].id);
  EXPECT_EQ((*found)[0].fs_type, "tmpfs");
}

TEST_F(MountsBelow, HaveTheirNamesUnescaped) {
  const std::string odd = temp_.path("a/with space\nand\\more");
  const MountAt at = MountAt::memory(odd);

  EXPECT_EQ(targets_below(temp_.path("a")), Targets{odd});
}

TEST_F(MountsBelow, TheRootAreAllOthers) {
  const MountAt at = MountAt::memory(temp_.path("a/b"));

  const Targets targets = targets_below("/");

  EXPECT_NE(std::find(targets.begin(), targets.end(), temp_.path("a/b")),
            targets.end());
  EXPECT_EQ(std::find(targets.begin(), targets.end(), "/"), targets.end());
}

TEST_F(MountsBelow, AreEqualWhenNothingChanged) {
  const MountAt at = MountAt::memory(temp_.path("a/b"));
  const auto before = mounts_below(temp_.path("a"));

  EXPECT_EQ(mounts_below(temp_.path("a")), before);
  {
    const MountAt other = MountAt::memory(temp_.path("a/bc"));
    EXPECT_NE(mounts_below(temp_.path("a")), before);
  }
  EXPECT_EQ(mounts_below(temp_.path("a")), before);
}

using WalkReaches = MountsBelow;

TEST_F(WalkReaches, WhatLiesBelowIt) {
  EXPECT_TRUE(walk_reaches(temp_.path("a"), temp_.path("a")).value());
  EXPECT_TRUE(walk_reaches(temp_.path("a"), temp_.path("a/b/c")).value());
  EXPECT_TRUE(walk_reaches("/", temp_.path("a")).value());
  EXPECT_FALSE(walk_reaches(temp_.path("a/b"), temp_.path("a")).value());
  EXPECT_FALSE(walk_reaches(temp_.path("a/b"), temp_.path("a/bc")).value());
}

TEST_F(WalkReaches, WhatABindMountShowsElsewhere) {
  const MountAt at = MountAt::bind(temp_.path("a/b"), temp_.path("a/bc"));

  EXPECT_TRUE(walk_reaches(temp_.path("a/b"), temp_.path("a/bc/c")).value());
  EXPECT_TRUE(walk_reaches(temp_.path("a/bc"), temp_.path("a/b/c")).value());
  EXPECT_FALSE(walk_reaches(temp_.path("a/b/c"), temp_.path("a/bc")).value());
}

TEST_F(WalkReaches, WhatIsMountedInsideIt) {
  const MountAt inside = MountAt::memory(temp_.path("a/b"));
  const MountAt outside = MountAt::bind(temp_.path("a/b"), temp_.path("a/bc"));

  EXPECT_TRUE(walk_reaches(temp_.path("a"), temp_.path("a/bc")).value());
  EXPECT_FALSE(walk_reaches(temp_.path("a/bc"), temp_.path("a/f")).value());
}

}  // namespace
}  // namespace lamina
