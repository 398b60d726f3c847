#include "cache/build_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/cache/caching.h"
#include "tests/support/fixtures.h"

namespace lamina::cache {
namespace {

using test::Blobs;
using test::directory;
using test::file;
using test::inode_of;
using test::links_of;
using test::mode_of;
using test::TempDir;
using test::tool;

class BuildTreeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"variants", "locks", "tree"}) {
      ASSERT_EQ(::mkdir(temp_.path(name).c_str(), 0755), 0);
    }
    variants_dir_ = directory(temp_.path("variants"));
    locks_dir_ = directory(temp_.path("locks"));
  }

  Result<BuiltTree> build(Manifest manifest) {
    TRY(normalise(manifest));
    Fd root = directory(temp_.path("tree"));
    return build_tree(manifest, blobs_.source(), &variants_, root, {});
  }

  std::string at(const std::string& path) { return temp_.path("tree/" + path); }

  TempDir temp_;
  Blobs blobs_{temp_.path("blobs")};
  Fd variants_dir_;
  Fd locks_dir_;
  Variants variants_{variants_dir_, locks_dir_, {}};
};

TEST_F(BuildTreeTest, LinksBlobsAndLeavesThemAsTheyAre) {
  const std::string before =
      (test::small_tree(blobs_), test::state_of(blobs_.path()));

  auto built = build(test::small_tree(blobs_));

  ASSERT_TRUE(built) << built.error().message();
  EXPECT_EQ(inode_of(at("a.txt")), inode_of(blobs_.path_of("alpha")));
  EXPECT_EQ(built->linked, 3U);
  EXPECT_EQ(built->own, 1U);
  EXPECT_EQ(built->copied, 0U);
  EXPECT_EQ(built->facts.files, 4U);
  EXPECT_EQ(built->facts.directories, 6U);
  EXPECT_EQ(built->facts.symlinks, 4U);
  EXPECT_EQ(built->facts.bytes, 5U + 18U + 4U);
  EXPECT_EQ(test::state_of(blobs_.path()), before);
}

TEST_F(BuildTreeTest, ExecutablesShareAVariantThatIsMadeOnce) {
  Manifest manifest;
  manifest.files = {tool(blobs_, "one", "#!"), tool(blobs_, "two", "#!"),
                    file(blobs_, "plain", "#!")};

  auto built = build(manifest);

  ASSERT_TRUE(built) << built.error().message();
  EXPECT_EQ(built->variants, 1U);
  EXPECT_EQ(mode_of(at("one")), 0555U);
  EXPECT_EQ(mode_of(at("plain")), 0444U);
  EXPECT_EQ(inode_of(at("one")), inode_of(at("two")));
  EXPECT_NE(inode_of(at("one")), inode_of(at("plain")));
}

TEST_F(BuildTreeTest, EmptyFilesShareNothing) {
  Manifest manifest;
  manifest.files = {file(blobs_, "a", ""), file(blobs_, "b", ""),
                    tool(blobs_, "c", "")};

  auto built = build(manifest);

  ASSERT_TRUE(built) << built.error().message();
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_EQ(links_of(at(name)), 1U) << name;
  }
  EXPECT_EQ(mode_of(at("c")), 0555U);
  EXPECT_EQ(built->facts.unlinked.size(), 3U);
}

TEST_F(BuildTreeTest, NeedsNoBlobForNoBytes) {
  Manifest manifest;
  manifest.files = {file(blobs_, "a", "")};
  ASSERT_EQ(::unlink(blobs_.path_of("").c_str()), 0);

  auto built = build(manifest);

  EXPECT_TRUE(built) << built.error().message();
}

TEST_F(BuildTreeTest, AModeOrTimeOfItsOwnMeansAnInodeOfItsOwn) {
  Manifest manifest;
  manifest.files = {file(blobs_, "mode", "x"), file(blobs_, "time", "x")};
  manifest.files[0].mode = 0640;
  manifest.files[1].mtime_ns = 1'500'000'001;

  auto built = build(manifest);

  ASSERT_TRUE(built) << built.error().message();
  EXPECT_EQ(mode_of(at("mode")), 0640U);
  struct stat stat {};
  ASSERT_EQ(::stat(at("time").c_str(), &stat), 0);
  EXPECT_EQ(stat.st_mtim.tv_sec, 1);
  EXPECT_EQ(stat.st_mtim.tv_nsec, 500'000'001);
  EXPECT_EQ(links_of(blobs_.path_of("x")), 1U);
  EXPECT_EQ(built->own, 2U);
}

TEST_F(BuildTreeTest, CopiesABlobOfAnotherModeAndCountsIt) {
  blobs_.add("loose", 0644);
  Manifest manifest;
  manifest.files = {file(blobs_, "f", "loose")};

  auto built = build(manifest);

  ASSERT_TRUE(built) << built.error().message();
  EXPECT_EQ(built->copied, 1U);
  EXPECT_EQ(mode_of(at("f")), 0444U);
  EXPECT_EQ(mode_of(blobs_.path_of("loose")), 0644U);
}

// A source that has bytes but no file that could be linked.
class FetchedBlobs final : public BlobSource {
 public:
  explicit FetchedBlobs(Blobs& blobs)
      : blobs_(blobs) {}
  Result<std::optional<BlobPlace>> locate(const archive::Digest&) override {
    return std::nullopt;
  }
  Result<std::optional<Fd>> fetch(const archive::Digest& digest) override {
    TRY_ASSIGN(auto found, blobs_.source().locate(digest));
    if (!found) {
      return std::nullopt;
    }
    return Fd(::openat(found->dir, found->name.c_str(), O_RDONLY | O_CLOEXEC));
  }

 private:
  Blobs& blobs_;
};

TEST_F(BuildTreeTest, CopiesABlobThatHasNoFileAndCountsIt) {
  Manifest manifest;
  manifest.files = {file(blobs_, "f", "bytes"), tool(blobs_, "t", "code")};
  ASSERT_TRUE(normalise(manifest));
  FetchedBlobs source(blobs_);

  auto built = build_tree(manifest, source, &variants_,
                          directory(temp_.path("tree")), {});

  ASSERT_TRUE(built) << built.error().message();
  EXPECT_EQ(built->copied, 1U);
  EXPECT_EQ(built->linked, 1U) << "the variant";
  EXPECT_EQ(test::read(at("f")), "bytes");
  EXPECT_EQ(test::read(at("t")), "code");
}

TEST_F(BuildTreeTest, SaysWhichBlobIsMissing) {
  Manifest manifest;
  manifest.files = {file(blobs_, "d/f", "gone")};
  ASSERT_EQ(::unlink(blobs_.path_of("gone").c_str()), 0);

  auto built = build(manifest);

  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, ENOENT);
  EXPECT_EQ(built.error().subject, "d/f");
  EXPECT_NE(built.error().text.find(manifest.files[0].digest.text()),
            std::string::npos);
}

TEST_F(BuildTreeTest, RefusesABlobOfAnotherSize) {
  Manifest manifest;
  manifest.files = {file(blobs_, "f", "12345")};
  manifest.files[0].size = 4;

  auto built = build(manifest);

  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, EINVAL);
}

TEST_F(BuildTreeTest, MakesExactModesUnderAnyUmask) {
  lamina::test::UmaskScope mask(077);

  auto built = build(test::small_tree(blobs_));

  ASSERT_TRUE(built) << built.error().message();
  EXPECT_EQ(mode_of(at("lib/deep")), 0755U);
  EXPECT_EQ(mode_of(at("lib/__init__.py")), 0444U);
  EXPECT_EQ(mode_of(at("bin/tool")), 0555U);
}

TEST_F(BuildTreeTest, LeavesNoDescriptorOpen) {
  const auto before = lamina::test::open_descriptors();

  ASSERT_TRUE(build(test::small_tree(blobs_)));

  EXPECT_EQ(lamina::test::open_descriptors(), before);
}

TEST_F(BuildTreeTest, NeighboursInTheOrderOfBytesStayApart) {
  // "a-b" and "a.b" sort between "a" and "a/b".
  Manifest manifest;
  manifest.files = {file(blobs_, "a/b/c", "1"), file(blobs_, "a-b/x", "2"),
                    file(blobs_, "a.b", "3"), file(blobs_, "a/b-c", "4"),
                    file(blobs_, "a/b/d/e", "5")};

  auto built = build(manifest);

  ASSERT_TRUE(built) << built.error().message();
  EXPECT_EQ(test::read(at("a/b/c")), "1");
  EXPECT_EQ(test::read(at("a-b/x")), "2");
  EXPECT_EQ(test::read(at("a.b")), "3");
  EXPECT_EQ(test::read(at("a/b-c")), "4");
  EXPECT_EQ(test::read(at("a/b/d/e")), "5");
}

}  // namespace
}  // namespace lamina::cache
