// Cache::get: what is answered, what is handed out, and what is left alone.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "cache/cache.h"
#include "tests/cache/caching.h"
#include "tests/support/fixtures.h"
#include "tests/support/tree.h"

namespace lamina::cache {
namespace {

using copy::Sharing;
using test::Blobs;
using test::file;
using test::get;
using test::inode_of;
using test::links_of;
using test::mode_of;
using test::recipe_of;
using test::small_tree;
using test::TempDir;

class CacheGetTest : public ::testing::Test {
 protected:
  std::string at(const std::string& path) const { return temp_.path(path); }

  TempDir temp_;
  Blobs blobs_{temp_.path("store")};
  Cache cache_{temp_.path("cache")};
};

TEST_F(CacheGetTest, BuildsOnceAndHitsFromThenOn) {
  ManifestRecipe recipe = recipe_of(small_tree(blobs_), blobs_.source());

  auto first = get(cache_, "k", at("one"), &recipe);
  auto second = get(cache_, "k", at("two"), &recipe);

  ASSERT_TRUE(first) << first.error().message();
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_EQ(first->outcome, Outcome::built);
  EXPECT_EQ(first->reason, "the key was not there");
  EXPECT_EQ(second->outcome, Outcome::hit);
  EXPECT_EQ(second->reason, "");
  EXPECT_EQ(second->files, 4U);
  EXPECT_EQ(test::state_of(at("one")).substr(0, 60),
            test::state_of(at("two")).substr(0, 60));
  EXPECT_EQ(test::read(at("two/lib/deep/nested/data")), "beta");
}

TEST_F(CacheGetTest, AThousandGetsAreOneBuildAndOtherwiseHits) {
  ManifestRecipe recipe = recipe_of(small_tree(blobs_), blobs_.source());
  for (int i = 0; i < 1000; ++i) {
    auto answer = get(cache_, "k", at("d" + std::to_string(i)), &recipe);
    ASSERT_TRUE(answer) << answer.error().message();
  }

  auto contents = cache_.list();

  ASSERT_TRUE(contents) << contents.error().message();
  EXPECT_EQ(contents->counts.built, 1U);
  EXPECT_EQ(contents->counts.hits, 999U);
  EXPECT_EQ(contents->counts.direct, 0U);
}

TEST_F(CacheGetTest, HandsOutReadOnlyFilesInWritableDirectories) {
  ManifestRecipe recipe = recipe_of(small_tree(blobs_), blobs_.source());

  ASSERT_TRUE(get(cache_, "k", at("d"), &recipe));

  EXPECT_EQ(mode_of(at("d")), 0755U);
  EXPECT_EQ(mode_of(at("d/lib/deep/nested")), 0755U);
  EXPECT_EQ(mode_of(at("d/a.txt")), 0444U);
  EXPECT_EQ(mode_of(at("d/bin/tool")), 0555U);
  EXPECT_EQ(mode_of(at("d/lib/__init__.py")), 0444U);
}

TEST_F(CacheGetTest, EmptyFilesAndThoseWithModesAreNobodyElses) {
  Manifest manifest = small_tree(blobs_);
  manifest.files.push_back(file(blobs_, "writable", "scratch"));
  manifest.files.back().mode = 0644;
  ManifestRecipe recipe = recipe_of(manifest, blobs_.source());

  for (const char* to : {"one", "two"}) {
    auto answer = get(cache_, "k", at(to), &recipe, Sharing::hardlink);
    ASSERT_TRUE(answer) << answer.error().message();
  }

  for (const char* name : {"lib/__init__.py", "writable"}) {
    EXPECT_EQ(links_of(at("one/") + name), 1U) << name;
    EXPECT_EQ(links_of(at("two/") + name), 1U) << name;
  }
  test::write(at("one/writable"), "spoilt");
  EXPECT_EQ(test::read(at("two/writable")), "scratch");
  EXPECT_EQ(inode_of(at("one/a.txt")), inode_of(at("two/a.txt")));
}

TEST_F(CacheGetTest, SymlinksOfAllKindsSurvive) {
  ManifestRecipe recipe = recipe_of(small_tree(blobs_), blobs_.source());
  struct stat passwd {};
  ASSERT_EQ(::stat("/etc/passwd", &passwd), 0);

  ASSERT_TRUE(get(cache_, "k", at("d"), &recipe));

  char target[64] = {};
  ASSERT_GT(::readlink(at("d/dangling").c_str(), target, sizeof target), 0);
  EXPECT_STREQ(target, "nowhere/at/all");
  EXPECT_EQ(test::read(at("d/to-dir/nested/data")), "beta");
  EXPECT_EQ(test::read(at("d/to-file")), "alpha");
  struct stat now {};
  ASSERT_EQ(::stat("/etc/passwd", &now), 0);
  EXPECT_EQ(now.st_mode, passwd.st_mode);
  EXPECT_EQ(now.st_ctim.tv_nsec, passwd.st_ctim.tv_nsec);
}

TEST_F(CacheGetTest, AnEmptyDirectoryIsFilledAndStaysTheSame) {
  ManifestRecipe recipe = recipe_of(small_tree(blobs_), blobs_.source());
  ASSERT_EQ(::mkdir(at("d").c_str(), 0700), 0);
  ino_t before = inode_of(at("d"));

  auto answer = get(cache_, "k", at("d"), &recipe);

  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(inode_of(at("d")), before);
  EXPECT_EQ(answer->outcome, Outcome::built);
}

TEST_F(CacheGetTest, ADestinationThatIsNotEmptyIsRefusedAndNotTouched) {
  ManifestRecipe recipe = recipe_of(small_tree(blobs_), blobs_.source());
  lamina::test::make_tree(at("d"), "file mine text=x");
  const std::string before = test::state_of(at("d"));

  auto answer = get(cache_, "k", at("d"), &recipe);

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ENOTEMPTY);
  EXPECT_EQ(test::state_of(at("d")), before);
}

TEST_F(CacheGetTest, AFailedGetLeavesTheDestinationAsItWas) {
  Manifest manifest = small_tree(blobs_);
  ManifestRecipe recipe = recipe_of(manifest, blobs_.source());
  ASSERT_EQ(::unlink(blobs_.path_of("beta").c_str()), 0);
  ASSERT_EQ(::mkdir(at("there").c_str(), 0710), 0);
  const std::string before = test::state_of(at("there"));

  EXPECT_FALSE(get(cache_, "k", at("absent"), &recipe));
  auto answer = get(cache_, "k", at("there"), &recipe);

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ENOENT);
  EXPECT_NE(::access(at("absent").c_str(), F_OK), 0);
  EXPECT_EQ(test::state_of(at("there")), before);
}

TEST_F(CacheGetTest, AFailureIsNotRemembered) {
  ManifestRecipe recipe = recipe_of(small_tree(blobs_), blobs_.source());
  ASSERT_EQ(::unlink(blobs_.path_of("beta").c_str()), 0);
  ASSERT_FALSE(get(cache_, "k", at("d"), &recipe));
  blobs_.add("beta");

  auto answer = get(cache_, "k", at("d"), &recipe);

  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->outcome, Outcome::built);
}

TEST_F(CacheGetTest, AnUnknownKeyWithoutARecipeIsAnError) {
  auto answer = get(cache_, "k", at("d"));

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ENOENT);
  EXPECT_EQ(answer.error().subject, "k");
}

TEST_F(CacheGetTest, AnotherRecipeReplacesTheTree) {
  ManifestRecipe one = recipe_of(small_tree(blobs_), blobs_.source(), "1");
  Manifest other;
  other.files = {file(blobs_, "new", "gamma")};
  ManifestRecipe two = recipe_of(other, blobs_.source(), "2");
  ASSERT_TRUE(get(cache_, "k", at("one"), &one));

  auto answer = get(cache_, "k", at("two"), &two);

  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->outcome, Outcome::built);
  EXPECT_EQ(answer->reason, "the key's tree was another");
  EXPECT_EQ(test::read(at("two/new")), "gamma");
  EXPECT_EQ(cache_.list()->entries.size(), 1U);
}

TEST_F(CacheGetTest, IfTheCacheFailsTheTreeIsMadeAllTheSame) {
  test::write(at("no-directory"), "");
  Cache broken(at("no-directory"));
  ManifestRecipe recipe = recipe_of(small_tree(blobs_), blobs_.source());

  auto answer = get(broken, "k", at("d"), &recipe);

  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->outcome, Outcome::direct);
  EXPECT_NE(answer->reason.find("ENOTDIR"), std::string::npos)
      << answer->reason;
  EXPECT_EQ(mode_of(at("d")), 0755U);
  EXPECT_EQ(mode_of(at("d/bin/tool")), 0555U);
  EXPECT_EQ(test::read(at("d/a.txt")), "alpha");
}

TEST_F(CacheGetTest, ABrokenIndexMeansDirect) {
  ManifestRecipe recipe = recipe_of(small_tree(blobs_), blobs_.source());
  ASSERT_EQ(::mkdir(at("cache").c_str(), 0700), 0);
  test::write(at("cache/index.db"), std::string(8192, 'x'));

  auto answer = get(cache_, "k", at("d"), &recipe);

  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->outcome, Outcome::direct);
  EXPECT_NE(answer->reason.find("not a database"), std::string::npos);
}

TEST_F(CacheGetTest, AnEntryThatLostAFileIsBuiltAnew) {
  ManifestRecipe recipe = recipe_of(small_tree(blobs_), blobs_.source());
  ASSERT_TRUE(get(cache_, "k", at("one"), &recipe));
  ASSERT_EQ(::unlink(at("cache/entries/1/tree/a.txt").c_str()), 0);

  auto answer = get(cache_, "k", at("two"), &recipe);

  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->outcome, Outcome::built);
  EXPECT_EQ(test::read(at("two/a.txt")), "alpha");
}

TEST_F(CacheGetTest, BlobsAreNeverChangedByAnything) {
  ManifestRecipe recipe = recipe_of(small_tree(blobs_), blobs_.source());
  const std::string before = test::state_of(blobs_.path());

  ASSERT_TRUE(get(cache_, "k", at("one"), &recipe));
  ASSERT_TRUE(get(cache_, "k", at("two"), &recipe, Sharing::hardlink));
  ASSERT_TRUE(cache_.verify());
  ASSERT_TRUE(cache_.evict("k"));
  Limits nothing;
  nothing.entries = 0;
  ASSERT_TRUE(cache_.evict(nothing));

  EXPECT_EQ(test::state_of(blobs_.path()), before);
  EXPECT_EQ(test::read(at("one/a.txt")), "alpha");
}

TEST_F(CacheGetTest, LeavesNoDescriptorOpen) {
  ManifestRecipe recipe = recipe_of(small_tree(blobs_), blobs_.source());
  ASSERT_TRUE(get(cache_, "k", at("zero"), &recipe));
  const auto before = lamina::test::open_descriptors();

  ASSERT_TRUE(get(cache_, "k", at("one"), &recipe));
  ManifestRecipe other = recipe_of(small_tree(blobs_), blobs_.source(), "2");
  ASSERT_TRUE(get(cache_, "k2", at("two"), &other));

  EXPECT_EQ(lamina::test::open_descriptors(), before);
}

TEST_F(CacheGetTest, AnOrdinaryUserMayAddButNotChangeInputs) {
  if (!lamina::test::may_become_other_users()) {
    GTEST_SKIP() << "needs root";
  }
  ASSERT_EQ(::chmod(temp_.path().c_str(), 0777), 0);

  const std::string said = lamina::test::as_ordinary_user([&]() -> std::string {
    Blobs mine(at("mine"));
    Cache cache(at("user-cache"));
    ManifestRecipe recipe = recipe_of(small_tree(mine), mine.source());
    for (const char* to : {"u1", "u2"}) {
      auto answer = get(cache, "k", at(to), &recipe);
      if (!answer) {
        return answer.error().message();
      }
      for (const char* input : {"a.txt", "bin/tool", "lib/__init__.py"}) {
        const std::string path = at(to) + "/" + input;
        if (::open(path.c_str(), O_WRONLY | O_CLOEXEC) >= 0 ||
            errno != EACCES) {
          return path + " can be written";
        }
      }
      for (const char* place : {"new", "lib/new", "lib/deep/nested/new"}) {
        const std::string path = at(to) + "/" + place;
        if (::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644) < 0) {
          return path + " cannot be made";
        }
      }
    }
    auto contents = cache.list();
    return contents && contents->counts.hits == 1 ? "" : "no hit";
  });

  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace lamina::cache
