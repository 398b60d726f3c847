#include "cache/import.h"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "tests/cache/caching.h"
#include "tests/support/tree.h"

namespace lamina::cache {
namespace {

using lamina::test::make_tree;
using test::directory;
using test::TempDir;

class ImportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"blobs", "scratch", "tree"}) {
      ASSERT_EQ(::mkdir(temp_.path(name).c_str(), 0755), 0);
    }
    blobs_ = directory(temp_.path("blobs"));
    scratch_ = directory(temp_.path("scratch"));
  }

  Result<Manifest> import() {
    return import_tree(directory(temp_.path("tree")), "tree", store_, {});
  }

  TempDir temp_;
  Fd blobs_;
  Fd scratch_;
  BlobStore store_{blobs_, scratch_};
};

TEST_F(ImportTest, TellsFilesDirectoriesAndSymlinks) {
  make_tree(temp_.path("tree"), R"(
    dir     empty
    file    bin/tool  mode=0755 text=one
    file    odd\xff   mode=0604 text=two
    symlink loop      -> loop)");

  auto manifest = import();

  ASSERT_TRUE(manifest) << manifest.error().message();
  EXPECT_EQ(manifest->directories, (std::vector<std::string>{"bin", "empty"}));
  ASSERT_EQ(manifest->files.size(), 2U);
  EXPECT_EQ(manifest->files[0].path, "bin/tool");
  EXPECT_TRUE(manifest->files[0].executable);
  EXPECT_EQ(manifest->files[0].digest, *digest_of("one"));
  EXPECT_EQ(manifest->files[1].path, "odd\xff");
  EXPECT_FALSE(manifest->files[1].executable);
  EXPECT_EQ(manifest->files[1].size, 3U);
  EXPECT_EQ(manifest->symlinks, (std::vector<TreeLink>{{"loop", "loop"}}));
}

TEST_F(ImportTest, PutsEachContentIntoTheStoreOnceReadOnly) {
  make_tree(temp_.path("tree"), R"(
    file a text=same
    file b text=same mode=0700
    file c text=other)");

  ASSERT_TRUE(import());

  EXPECT_EQ(store_.added(), 2U);
  const std::string blob = temp_.path("blobs/" + hex_of(*digest_of("same")));
  EXPECT_EQ(test::read(blob), "same");
  EXPECT_EQ(test::mode_of(blob), 0444U);
  EXPECT_EQ(test::links_of(blob), 1U);
  EXPECT_EQ(lamina::test::dump_tree(temp_.path("scratch")).find("file"),
            std::string::npos);
}

TEST_F(ImportTest, RefusesWhatAManifestCannotHold) {
  make_tree(temp_.path("tree"), "fifo d/pipe");

  auto manifest = import();

  ASSERT_FALSE(manifest);
  EXPECT_EQ(manifest.error().subject, "d/pipe");
}

TEST_F(ImportTest, LeavesTheTreeAsItIs) {
  make_tree(temp_.path("tree"), R"(
    file a text=x mode=0644
    dir  d mode=0700)");
  const std::string before = test::state_of(temp_.path("tree"));

  ASSERT_TRUE(import());

  EXPECT_EQ(test::state_of(temp_.path("tree")), before);
}

}  // namespace
}  // namespace lamina::cache
