#include "copy/dir.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace lamina::copy {
namespace {

std::shared_ptr<Dir> below(std::shared_ptr<Dir> parent, const char* name) {
  return std::make_shared<Dir>(std::move(parent), name);
}

TEST(Dir, KnowsItsPathFromTheRootOfTheWalk) {
  const auto root = below(nullptr, "");
  const auto a = below(root, "a");
  const auto b = below(a, "b\n");

  EXPECT_EQ(root->path(), "");
  EXPECT_EQ(a->path(), "a");
  EXPECT_EQ(b->path(), "a/b\n");
  EXPECT_EQ(root->path_of("x"), "x");
  EXPECT_EQ(b->path_of("x"), "a/b\n/x");
  EXPECT_EQ(b->name(), "b\n");
  EXPECT_EQ(b->parent(), a);
}

TEST(Dir, HoldsItsParents) {
  std::weak_ptr<Dir> root;
  {
    auto top = below(nullptr, "");
    root = top;
    auto leaf = below(below(std::move(top), "a"), "b");
    EXPECT_FALSE(root.expired());
    EXPECT_EQ(leaf->path(), "a/b");
  }

  EXPECT_TRUE(root.expired());
}

TEST(Dir, EndsAtAnyDepthWithoutUsingUpTheStack) {
  std::weak_ptr<Dir> root;
  {
    auto at = below(nullptr, "");
    root = at;
    for (int i = 0; i < 1'000'000; ++i)
      at = below(std::move(at), "d");
  }

  EXPECT_TRUE(root.expired());
}

TEST(Dir, LeavesAParentThatOthersHold) {
  auto root = below(nullptr, "");
  auto a = below(root, "a");
  auto kept = below(a, "kept");
  { const auto gone = below(below(a, "x"), "y"); }

  EXPECT_EQ(kept->path(), "a/kept");
  EXPECT_EQ(a.use_count(), 2);
}

}  // namespace
}  // namespace lamina::copy
