#include "archive/tar_name.h"

#include <string>

#include "gtest/gtest.h"

namespace lamina::archive {
namespace {

TEST(CleanName, CleansLexically) {
  const struct {
    std::string name;
    std::string want;
  } cases[] = {
      {"a", "a"},
      {"a/b/c", "a/b/c"},
      {"/etc/passwd", "etc/passwd"},
      {"//etc", "etc"},
      {"./a", "a"},
      {"././/./a/b//", "a/b"},
      {"a//b", "a/b"},
      {"a/./b", "a/b"},
      {"a/b/.", "a/b"},
      {"a/b/././", "a/b"},
      {"a/../b", "b"},
      {"a/b/../../c/d", "c/d"},
      {"a/b/..", "a"},
      {"a/..", "."},
      {"", "."},
      {".", "."},
      {"./", "."},
      {"/", "."},
      {"//", "."},
      {"a..b", "a..b"},
      {"...", "..."},
      {"..a/.b", "..a/.b"},
      {".wh..", ".wh.."},
      {"a\nb/ c", "a\nb/ c"},
      {"a/.b", "a/.b"},
      {"a/b.", "a/b."},
      {std::string(255, 'n'), std::string(255, 'n')},
  };
  std::string scratch;

  for (const auto& c : cases) {
    auto got = clean_name(c.name, {}, scratch);
    ASSERT_TRUE(got) << c.name;
    EXPECT_EQ(*got, c.want) << c.name;
  }
}

TEST(CleanName, RefusesWhatLeavesTheRoot) {
  std::string scratch;
  for (const char* name : {"..", "../a", "/..", "/../a", "a/../../b", "./../a",
                           "a/b/../../..", "a/../..", "..//a"}) {
    auto got = clean_name(name, {}, scratch);
    ASSERT_FALSE(got) << name;
    EXPECT_EQ(got.error().text, "the name leaves the root");
  }
}

TEST(CleanName, KeepsToItsLimits) {
  std::string scratch;
  std::string deep;
  for (int i = 0; i < 1024; ++i) {
    deep += "d/";
  }
  std::string long_path = std::string(255, 'a');
  while (long_path.size() < 4095) {
    long_path += "/" + std::string(255, 'a');
  }

  EXPECT_TRUE(clean_name(deep, {}, scratch));
  EXPECT_FALSE(clean_name(deep + "d", {}, scratch));
  EXPECT_FALSE(clean_name(std::string(256, 'n'), {}, scratch));
  EXPECT_TRUE(clean_name(".wh." + std::string(255, 'n'), {}, scratch));
  EXPECT_FALSE(clean_name(".wh." + std::string(256, 'n'), {}, scratch));
  EXPECT_FALSE(clean_name("a/" + std::string(256, 'n') + "/b", {}, scratch));
  EXPECT_EQ(long_path.size(), 4095U);
  EXPECT_TRUE(clean_name(long_path, {}, scratch));
  EXPECT_TRUE(clean_name("./" + long_path + "/", {}, scratch))
      << "what is cleaned away does not count";
  EXPECT_FALSE(clean_name(long_path.substr(1) + "/bb", {}, scratch));
}

TEST(CleanName, CopiesOnlyWhatItMust) {
  std::string scratch;
  const std::string simple = "/./a/b/";
  const std::string odd = "a//b";

  auto slice = clean_name(simple, {}, scratch);
  auto made = clean_name(odd, {}, scratch);

  EXPECT_EQ(slice->data(), simple.data() + 3);
  EXPECT_EQ(made->data(), scratch.data());
}

}  // namespace
}  // namespace lamina::archive
