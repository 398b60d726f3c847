// What is evicted, what is swept, and what is verified.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include <gtest/gtest.h>

#include "cache/cache.h"
#include "tests/cache/caching.h"
#include "tests/support/tree.h"

namespace lamina::cache {
namespace {

using test::Blobs;
using test::directory;
using test::file;
using test::get;
using test::recipe_of;
using test::TempDir;

class CacheEvictTest : public ::testing::Test {
 protected:
  std::string at(const std::string& path) const { return temp_.path(path); }

  // Builds an entry with one file of `bytes`.
  void build(Cache& cache, const std::string& key, const std::string& bytes) {
    Manifest manifest;
    manifest.files = {file(blobs_, "f", bytes)};
    ManifestRecipe recipe = recipe_of(manifest, blobs_.source());
    auto answer = get(cache, key, at("to-" + key), &recipe);
    ASSERT_TRUE(answer) << answer.error().message();
  }

  static std::vector<std::string> keys(Cache& cache) {
    std::vector<std::string> out;
    auto contents = cache.list();
    EXPECT_TRUE(contents) << contents.error().message();
    for (const EntryRow& row : contents->entries) {
      out.push_back(row.key);
    }
    return out;
  }

  size_t names_in(const std::string& path) const {
    std::string dump = lamina::test::dump_tree(at(path));
    return static_cast<size_t>(std::count(dump.begin(), dump.end(), '\n'));
  }

  TempDir temp_;
  Blobs blobs_{temp_.path("store")};
};

TEST_F(CacheEvictTest, LimitsAreHeldWhenATreeIsAdded) {
  CacheOptions options;
  options.limits.entries = 2;
  Cache cache(at("cache"), options);

  for (const char* key : {"a", "b", "c"}) {
    build(cache, key, key);
  }

  EXPECT_EQ(keys(cache), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(cache.list()->counts.evicted, 1U);
  EXPECT_EQ(names_in("cache/trash"), 1U) << "only itself";
}

TEST_F(CacheEvictTest, SizesAreCountedWithoutLookingAgain) {
  CacheOptions options;
  options.limits.bytes = 25;
  Cache cache(at("cache"), options);

  build(cache, "a", std::string(10, 'a'));
  build(cache, "b", std::string(10, 'b'));
  EXPECT_EQ(keys(cache).size(), 2U);
  build(cache, "c", std::string(10, 'c'));

  EXPECT_EQ(keys(cache), (std::vector<std::string>{"b", "c"}));
}

TEST_F(CacheEvictTest, AnEntryLargerThanTheLimitIsHandedOutAllTheSame) {
  CacheOptions options;
  options.limits.bytes = 5;
  Cache cache(at("cache"), options);

  build(cache, "a", std::string(10, 'a'));

  EXPECT_EQ(test::read(at("to-a/f")), std::string(10, 'a'));
}

TEST_F(CacheEvictTest, AnEntryInUseStays) {
  Cache cache(at("cache"));
  build(cache, "a", "a");
  auto pin = Pin::take(directory(at("cache/entries")), "1", Hold::shared);
  ASSERT_TRUE(pin && *pin);
  Limits nothing;
  nothing.entries = 0;

  auto evicted = cache.evict(nothing);
  auto by_key = cache.evict("a");

  ASSERT_TRUE(evicted) << evicted.error().message();
  EXPECT_EQ(evicted->entries, 0U);
  EXPECT_EQ(evicted->in_use, 1U);
  ASSERT_FALSE(by_key);
  EXPECT_EQ(by_key.error().code, EBUSY);
  EXPECT_TRUE(cache.list()->in_use[0]);
}

TEST_F(CacheEvictTest, ATreeThatWasHandedOutIsNotTouched) {
  Cache cache(at("cache"));
  build(cache, "a", "bytes");

  auto evicted = cache.evict("a");

  ASSERT_TRUE(evicted) << evicted.error().message();
  EXPECT_EQ(evicted->bytes, 5U);
  EXPECT_EQ(test::read(at("to-a/f")), "bytes");
  EXPECT_EQ(test::mode_of(at("to-a/f")), 0444U);
  EXPECT_EQ(names_in("cache/entries"), 1U);
}

TEST_F(CacheEvictTest, OwnBlobsGoWithTheLastTreeThatHasThem) {
  Cache cache(at("cache"));
  lamina::test::make_tree(at("one"), "file shared text=s\nfile own text=1");
  lamina::test::make_tree(at("two"), "file shared text=s");
  ASSERT_TRUE(cache.add("1", directory(at("one")), "one"));
  ASSERT_TRUE(cache.add("2", directory(at("two")), "two"));

  auto first = cache.evict("1");
  auto second = cache.evict("2");

  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->blobs, 1U);
  EXPECT_EQ(second->blobs, 1U);
}

TEST_F(CacheEvictTest, WhatWasLeftByACrashIsSwept) {
  {
    Cache cache(at("cache"));
    build(cache, "a", "a");
  }
  lamina::test::make_tree(at("cache/staging/77"), "file tree/half text=x");
  lamina::test::make_tree(at("cache/trash/78"), "dir tree/locked mode=0000");
  lamina::test::make_tree(at("cache/entries/79"), "file tree/unknown text=x");
  lamina::test::make_tree(at("cache/variants"), "file abc text=x");

  Cache cache(at("cache"));
  ASSERT_TRUE(cache.open());

  EXPECT_EQ(names_in("cache/staging"), 1U);
  EXPECT_EQ(names_in("cache/trash"), 1U);
  EXPECT_EQ(names_in("cache/variants"), 1U);
  EXPECT_NE(::access(at("cache/entries/79").c_str(), F_OK), 0);
  EXPECT_EQ(keys(cache), (std::vector<std::string>{"a"}));
}

TEST_F(CacheEvictTest, WhatSomebodyIsMakingIsNotSwept) {
  Cache cache(at("cache"));
  ASSERT_TRUE(cache.open());
  auto pin = Pin::make(directory(at("cache/staging")), "50");
  ASSERT_TRUE(pin);

  Cache other(at("cache"));
  ASSERT_TRUE(other.open());

  EXPECT_EQ(::access(at("cache/staging/50").c_str(), F_OK), 0);
}

class CacheVerifyTest : public CacheEvictTest {
 protected:
  void SetUp() override {
    lamina::test::make_tree(at("tree"), R"(
      file    a     text=alpha
      file    d/b   text=beta mode=0755
      symlink s     -> a)");
    auto added = cache_.add("k", directory(at("tree")), "tree");
    ASSERT_TRUE(added) << added.error().message();
  }

  // The faults, each as "path: what".
  std::vector<std::string> faults() {
    auto verified = cache_.verify();
    EXPECT_TRUE(verified) << verified.error().message();
    std::vector<std::string> out;
    for (const Fault& fault : verified->faults) {
      out.push_back(fault.path + ": " + fault.what);
    }
    return out;
  }

  std::string entry(const std::string& path) const {
    return at("cache/entries/2/tree/" + path);
  }

  Cache cache_{temp_.path("cache")};
};

TEST_F(CacheVerifyTest, FindsNothingWhereNothingWasDone) {
  EXPECT_EQ(faults(), std::vector<std::string>());
  EXPECT_EQ(cache_.verify()->entries, 1U);
  EXPECT_EQ(cache_.verify()->blobs, 2U);
}

TEST_F(CacheVerifyTest, NamesBytesThatWereChangedThroughAHardLink) {
  ASSERT_TRUE(get(cache_, "k", at("out"), nullptr, copy::Sharing::hardlink));
  ASSERT_EQ(::chmod(at("out/a").c_str(), 0644), 0);
  test::write(at("out/a"), "ALPHA");

  const std::string blob = "blobs/sha256/" + hex_of(*digest_of("alpha")) + ": ";
  EXPECT_EQ(
      faults(),
      (std::vector<std::string>{
          "a: its mode was changed", "a: its bytes were changed",
          blob + "its bytes were changed", blob + "its mode was changed"}));
}

TEST_F(CacheVerifyTest, NamesWhatIsMissingAndWhatIsNew) {
  ASSERT_EQ(::unlink(entry("d/b").c_str()), 0);
  test::write(entry("new"), "x");
  ASSERT_EQ(::unlink(entry("s").c_str()), 0);
  ASSERT_EQ(::symlink("b", entry("s").c_str()), 0);

  auto found = faults();
  std::sort(found.begin(), found.end());

  EXPECT_EQ(found, (std::vector<std::string>{"d/b: it is missing",
                                             "new: it is not in the manifest",
                                             "s: it points elsewhere"}));
}

TEST_F(CacheVerifyTest, AnUnknownKeyIsAnError) {
  EXPECT_EQ(cache_.verify("x").error().code, ENOENT);
}

}  // namespace
}  // namespace lamina::cache
