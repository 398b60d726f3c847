#include "cli/cache_request.h"

#include <gtest/gtest.h>

namespace lamina::cli {
namespace {

TEST(CacheRequest, UnderstandsSizes) {
  EXPECT_EQ(parse_size("--to", "0"), 0U);
  EXPECT_EQ(parse_size("--to", "4096"), 4096U);
  EXPECT_EQ(parse_size("--to", "16K"), 16384U);
  EXPECT_EQ(parse_size("--to", "10G"), uint64_t{10} << 30);
  for (const char* word : {"", "K", "-1", "1.5G", "1KB", "1 K", "9999999T"}) {
    auto parsed = parse_size("--to", word);
    ASSERT_FALSE(parsed) << word;
    EXPECT_TRUE(parsed.error().starts_with("--to must be a size"));
  }
}

TEST(CacheRequest, UnderstandsAges) {
  EXPECT_EQ(parse_age("--older-than", "90s"), 90);
  EXPECT_EQ(parse_age("--older-than", "15m"), 900);
  EXPECT_EQ(parse_age("--older-than", "2h"), 7200);
  EXPECT_EQ(parse_age("--older-than", "30d"), 2'592'000);
  EXPECT_EQ(parse_age("--older-than", "1w"), 604'800);
  for (const char* word : {"", "5", "d", "5y", "5dd", "-5d", "99999999999w"}) {
    EXPECT_FALSE(parse_age("--older-than", word)) << word;
  }
}

TEST(CacheRequest, HandsOutByReflinkOrLinkOnly) {
  EXPECT_EQ(parse_handing(""), copy::Sharing::automatic);
  EXPECT_EQ(parse_handing("hardlink"), copy::Sharing::hardlink);
  EXPECT_FALSE(parse_handing("content"));
  EXPECT_FALSE(parse_handing("Reflink"));
}

TEST(CacheRequest, ReadsALineOfABatch) {
  GetWords defaults;
  defaults.blobs = "/cas";
  defaults.mode = "hardlink";

  auto words = parse_get_line(
      R"({"key_b64": "/w==", "destination": "d", "manifest": "m"})", defaults);

  ASSERT_TRUE(words) << words.error();
  EXPECT_EQ(words->key, "\xff");
  EXPECT_EQ(words->destination, "d");
  EXPECT_EQ(words->manifest, "m");
  EXPECT_EQ(words->blobs, "/cas");
  EXPECT_EQ(words->mode, "hardlink");
}

TEST(CacheRequest, NeedsNoManifestForWhatIsThere) {
  GetWords defaults;
  defaults.blobs = "/cas";

  auto words = parse_get_line(R"({"key": "k", "destination": "d"})", defaults);

  ASSERT_TRUE(words) << words.error();
  EXPECT_EQ(words->blobs, "");
}

TEST(CacheRequest, RefusesLinesThatAreNoRequest) {
  const std::pair<const char*, const char*> lines[] = {
      {"", "not a JSON object"},
      {"[]", "not a JSON object"},
      {R"({"key": "k"})", "DEST must not be empty"},
      {R"({"destination": "d"})", "KEY must not be empty"},
      {R"({"key": 1, "destination": "d"})", "key is not a string"},
      {R"({"key": "k", "key_b64": "aw==", "destination": "d"})", "twice"},
      {R"({"key_b64": "k", "destination": "d"})", "not base64"},
      {R"({"key": "k", "destination": "d", "x": {"y": [1]}})", "has keys that"},
      {R"({"key": "k", "destination": "d", "mode": "x"})", "--mode must be"},
      {R"({"key": "k", "destination": "d", "blobs": "b"})", "needs --manifest"},
  };
  for (const auto& [line, why] : lines) {
    auto words = parse_get_line(line, {});
    ASSERT_FALSE(words) << line;
    EXPECT_NE(words.error().find(why), std::string::npos) << words.error();
  }
}

}  // namespace
}  // namespace lamina::cli
