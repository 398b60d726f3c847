#include "copy/batch_name.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace lamina::test {
namespace {

// The cleaned name, or why not.
std::string clean(std::string_view path) {
  std::string storage;
  const auto cleaned = copy::clean_batch_name(path, storage);
  return cleaned ? std::string(*cleaned) : "! " + cleaned.error().text;
}

TEST(BatchName, IsOneForAllNamesOfAFile) {
  for (const char* path :
       {"a/b", "./a/b", "a//b", "a/./b", "a///.//b", "x/../a/b", "a/x/../b",
        "a/x/y/../../b", "././a/b", "x/../y/../a/b"}) {
    EXPECT_EQ(clean(path), "a/b") << path;
  }
}

TEST(BatchName, MayHoldAnyBytes) {
  for (const char* path : {"a..b/..c/d...e", "...", "..a", "a..", ".a", "\n",
                           "\xff\xfe", "a\\b", " ", "a/ /b", "-rf", "*"}) {
    EXPECT_EQ(clean(path), path);
  }
  EXPECT_EQ(clean(std::string(255, 'n')), std::string(255, 'n'));
}

TEST(BatchName, IsRefusedWhenItIsNoNameInTheRoot) {
  EXPECT_EQ(clean(""), "! the name is empty");
  EXPECT_EQ(clean(std::string_view("a\0b", 3)), "! a NUL in the name");
  EXPECT_EQ(clean("/a"), "! the name is absolute");
  EXPECT_EQ(clean("//a"), "! the name is absolute");
  for (const char* path : {"../a", "a/../../b", "a/b/../../../c", "..",
                           "./../a", "x/../..", "a/../../a/b"})
    EXPECT_EQ(clean(path), "! the name leaves the root") << path;
}

TEST(BatchName, IsRefusedWhenItIsThatOfADirectory) {
  for (const char* path :
       {".", "./", "a/", "a/.", "a/..", "a/b/..", "x/../.", "a//", "a/b/../"})
    EXPECT_EQ(clean(path), "! the name is that of a directory") << path;
}

TEST(BatchName, IsRefusedWhenAComponentIsTooLong) {
  const std::string longest(256, 'n');
  const std::string why = "! a component of the name is over 255 bytes";

  EXPECT_EQ(clean(longest), why);
  EXPECT_EQ(clean("a/" + longest + "/b"), why);
  EXPECT_EQ(clean(longest + "/../b"), why);
}

TEST(BatchName, OfAnyDepthIsCleanedInOneGo) {
  std::string deep;
  for (int i = 0; i < 200'000; ++i)
    deep += "d/";

  EXPECT_EQ(clean(deep + "./f"), deep + "f");
}

}  // namespace
}  // namespace lamina::test
