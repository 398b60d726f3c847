#include "archive/digest.h"

#include <cstring>
#include <string>

#include "gtest/gtest.h"

namespace lamina::archive {
namespace {

// FIPS 180-4, the examples of one and two blocks.
constexpr char kEmpty[] =
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr char kAbc[] =
    "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

std::string digest_of(std::string_view text) {
  Sha256 hash;
  hash.add(bytes_of(text));
  auto digest = hash.finish();
  return digest ? digest->text() : digest.error().message();
}

TEST(Sha256, GivesTheDigestsOfTheStandard) {
  EXPECT_EQ(digest_of(""), kEmpty);
  EXPECT_EQ(digest_of("abc"), kAbc);
}

TEST(Digest, ReadsWhatItWrites) {
  auto parsed = Digest::parse(kAbc);

  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(parsed->text(), kAbc);
}

TEST(Digest, RefusesOtherForms) {
  const std::string good = kAbc;
  std::string upper = good;
  upper[10] = 'F';
  const std::string bad[] = {
      "",
      "sha256:",
      good.substr(7),
      good.substr(0, good.size() - 1),
      good + "0",
      "sha512:" + good.substr(7),
      upper,
      good.substr(0, good.size() - 1) + "g",
  };

  for (const std::string& text : bad) {
    EXPECT_FALSE(Digest::parse(text)) << text;
  }
}

class HashQueueTest : public testing::TestWithParam<Helpers> {};

TEST_P(HashQueueTest, HashesSlicesInOrder) {
  SlabRing ring(4, 512);
  HashQueue queue(GetParam());
  std::string all;

  for (int i = 0; i < 200; ++i) {
    SlabRef slab = ring.acquire();
    std::string text = "slice " + std::to_string(i) + ", ";
    std::memcpy(slab.memory().data(), text.data(), text.size());
    Bytes bytes = slab.memory().first(text.size());
    queue.add({.slab = std::move(slab), .bytes = bytes});
    all += text;
  }
  auto digest = queue.finish();

  ASSERT_TRUE(digest) << digest.error().message();
  EXPECT_EQ(digest->text(), digest_of(all));
  EXPECT_EQ(ring.available(), 4U);
}

TEST_P(HashQueueTest, MayBeGivenUp) {
  SlabRing ring(4, 512);
  {
    HashQueue queue(GetParam());
    for (int i = 0; i < 4; ++i) {
      SlabRef slab = ring.acquire();
      Bytes bytes = slab.memory();
      queue.add({.slab = std::move(slab), .bytes = bytes});
    }
  }

  EXPECT_EQ(ring.available(), 4U);
}

INSTANTIATE_TEST_SUITE_P(Helpers, HashQueueTest,
                         testing::Values(Helpers::none, Helpers::threads));

}  // namespace
}  // namespace lamina::archive
