#include "cache/manifest.h"

#include <gtest/gtest.h>

namespace lamina::cache {
namespace {

const std::string kDigest = "sha256:" + std::string(64, 'a');

Manifest three_kinds() {
  Manifest out;
  TreeFile tool;
  tool.path = "bin/tool";
  tool.digest = *archive::Digest::parse(kDigest);
  tool.executable = true;
  tool.size = 12;
  TreeFile odd;
  odd.path = "odd\xff\nname";
  odd.digest = tool.digest;
  odd.mode = 0640;
  odd.mtime_ns = -5;
  out.files = {tool, odd};
  out.directories = {"empty/dir"};
  out.symlinks = {{"link", "\xfe"}, {"sh", "bin/tool"}};
  return out;
}

std::string file_line(const std::string& path) {
  return R"({"lamina_tree":1,"files":[{"path":")" + path + R"(","digest":")" +
         kDigest + "\"}]}";
}

std::string refusal(std::string_view json) {
  auto parsed = parse_manifest(json, "m");
  return parsed ? "accepted" : parsed.error().message();
}

TEST(Manifest, IsTheSameAfterItWasWrittenAndRead) {
  Manifest manifest = three_kinds();
  ASSERT_TRUE(normalise(manifest));

  auto back = parse_manifest(manifest_json(manifest), "m");

  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(*back, manifest);
}

TEST(Manifest, HasOneFormWhateverTheOrder) {
  Manifest one = three_kinds();
  Manifest two = three_kinds();
  std::swap(two.files[0], two.files[1]);
  std::swap(two.symlinks[0], two.symlinks[1]);
  two.directories = {"bin", "empty/dir"};
  ASSERT_TRUE(normalise(one));
  ASSERT_TRUE(normalise(two));

  EXPECT_EQ(manifest_json(one), manifest_json(two));
}

TEST(Manifest, ListsParentsThatWereNotNamed) {
  Manifest manifest = three_kinds();
  ASSERT_TRUE(normalise(manifest));

  EXPECT_EQ(manifest.directories,
            (std::vector<std::string>{"bin", "empty", "empty/dir"}));
}

TEST(Manifest, RefusesPathsThatAreNotPlain) {
  for (const char* path : {"", "/", "/a", "a/", "a//b", ".", "..", "a/..",
                           "../a", "a/./b", "a/../../b", "a\\u0000b"}) {
    EXPECT_NE(refusal(file_line(path)).find("EINVAL"), std::string::npos)
        << path << ": " << refusal(file_line(path));
  }
  EXPECT_EQ(refusal(file_line("..a/...")), "accepted");
}

TEST(Manifest, RefusesNamesAndDepthsThatNoTreeCanHave) {
  EXPECT_EQ(refusal(file_line(std::string(255, 'n'))), "accepted");
  EXPECT_NE(refusal(file_line(std::string(256, 'n'))), "accepted");

  std::string deep = "d";
  for (size_t i = 1; i < kMostTreeDepth; ++i) {
    deep += "/d";
  }
  EXPECT_EQ(refusal(file_line(deep)), "accepted");
  EXPECT_NE(refusal(file_line(deep + "/d")), "accepted");
}

TEST(Manifest, RefusesAPathThatIsThereTwice) {
  EXPECT_NE(refusal(R"({"lamina_tree":1,"directories":[{"path":"a"}],
                        "symlinks":[{"path":"a","target":"b"}]})"),
            "accepted");
}

TEST(Manifest, RefusesAnEntryBelowAFileOrSymlink) {
  std::string below = R"({"lamina_tree":1,
    "symlinks":[{"path":"a","target":"/"}],
    "directories":[{"path":"a/b/c"}]})";
  EXPECT_NE(refusal(below).find("below 'a'"), std::string::npos)
      << refusal(below);
}

TEST(Manifest, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(refusal(R"({"lamina_tree":2})"), "accepted");
  EXPECT_NE(refusal(R"({"files":[]})"), "accepted");
  EXPECT_NE(refusal(R"({"lamina_tree":1,"owners":[]})"), "accepted");
  EXPECT_NE(refusal(R"({"lamina_tree":1,"directories":[{"path":"a","x":1}]})"),
            "accepted");
  EXPECT_NE(refusal(R"({"lamina_tree":1,"files":[{"path":"a"}]})"), "accepted");
  EXPECT_NE(refusal(R"({"lamina_tree":1,"files":{"path":"a"}})"), "accepted");
  EXPECT_NE(refusal("[]"), "accepted");
  EXPECT_NE(refusal(""), "accepted");
  EXPECT_EQ(refusal(R"({"lamina_tree":1})"), "accepted");
}

TEST(Manifest, RefusesModesBeyondPermissionBits) {
  auto with_mode = [](const std::string& mode) {
    return refusal(R"({"lamina_tree":1,"files":[{"path":"a","digest":")" +
                   kDigest + R"(","mode":)" + mode + "}]}");
  };
  EXPECT_EQ(with_mode("\"0755\""), "accepted");
  EXPECT_EQ(with_mode("416"), "accepted");
  EXPECT_NE(with_mode("\"4755\""), "accepted");
  EXPECT_NE(with_mode("\"9\""), "accepted");
  EXPECT_NE(with_mode("512"), "accepted");
  EXPECT_NE(with_mode("-1"), "accepted");
}

TEST(Manifest, RefusesDeepNestingWithoutFallingOver) {
  EXPECT_NE(refusal(std::string(1 << 20, '[')), "accepted");
  EXPECT_NE(refusal(R"({"lamina_tree":1,"files":)" + std::string(100'000, '[') +
                    std::string(100'000, ']') + "}"),
            "accepted");
}

TEST(Manifest, SaysWhichEntryIsWrong) {
  EXPECT_EQ(refusal(R"({"lamina_tree":1,"symlinks":[
                        {"path":"a","target":"b"},{"path":"c"}]})"),
            "manifest on 'm': symlinks[1]: it needs one of target and "
            "target_b64: Invalid argument (EINVAL)");
}

}  // namespace
}  // namespace lamina::cache
