#include "cache/index.h"

#include <cstdio>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace lamina::cache {
namespace {

using lamina::test::TempDir;

Result<void> nothing() {
  return {};
}

bool agree(int64_t) {
  return true;
}

class IndexTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = index_.open(temp_.path("index.db"), "index.db");
    ASSERT_TRUE(opened) << opened.error().message();
  }

  int64_t add(const std::string& key, uint64_t bytes) {
    EntryRow row;
    row.key = key;
    row.recipe = "r";
    row.facts.bytes = bytes;
    row.facts.unlinked = {3, 1ULL << 63U};
    row.facts.executables = std::string("a\0b/c\0", 6);
    auto id = index_.next_id();
    EXPECT_TRUE(id) << id.error().message();
    row.id = *id;
    auto added = index_.insert(row, nothing);
    EXPECT_TRUE(added) << added.error().message();
    return row.id;
  }

  std::vector<std::string> keys() {
    std::vector<std::string> out;
    auto rows = index_.list();
    EXPECT_TRUE(rows) << rows.error().message();
    for (const EntryRow& row : *rows) {
      out.push_back(row.key);
    }
    return out;
  }

  TempDir temp_;
  Index index_;
};

TEST_F(IndexTest, GivesBackWhatWasPutIn) {
  const std::string key("odd\0\xff'key", 9);
  int64_t id = add(key, 77);

  auto row = index_.find(key);

  ASSERT_TRUE(row && *row);
  EXPECT_EQ((*row)->id, id);
  EXPECT_EQ((*row)->key, key);
  EXPECT_EQ((*row)->facts.bytes, 77U);
  EXPECT_EQ((*row)->facts.unlinked, (std::vector<uint64_t>{3, 1ULL << 63U}));
  EXPECT_EQ((*row)->facts.executables, std::string("a\0b/c\0", 6));
  EXPECT_FALSE(*index_.find("odd"));
}

TEST_F(IndexTest, NeverGivesANumberTwice) {
  int64_t first = add("a", 1);
  ASSERT_TRUE(*index_.remove("a", agree));

  EXPECT_GT(*index_.next_id(), first);
}

TEST_F(IndexTest, AddsNothingThatCouldNotBePublished) {
  EntryRow row;
  row.id = 5;
  row.key = "k";

  auto added = index_.insert(
      row, [] { return fail(make_error(ENOSPC, "renameat", "5")); });

  EXPECT_FALSE(added);
  EXPECT_FALSE(*index_.find("k"));
}

TEST_F(IndexTest, TrimsTheLeastRecentlyUsedFirst) {
  add("a", 10);
  add("b", 10);
  add("c", 10);
  ASSERT_TRUE(index_.count(Outcome::hit, "a"));
  uint64_t bytes = 0;
  Limits limits;
  limits.bytes = 20;

  auto gone = index_.trim(limits, agree, &bytes);

  ASSERT_TRUE(gone) << gone.error().message();
  EXPECT_EQ(gone->size(), 1U);
  EXPECT_EQ(bytes, 10U);
  EXPECT_EQ(keys(), (std::vector<std::string>{"c", "a"}));
}

TEST_F(IndexTest, LeavesWhatIsHeldAndTakesTheNext) {
  int64_t held = add("a", 10);
  add("b", 10);
  add("c", 10);
  uint64_t bytes = 0;
  Limits limits;
  limits.entries = 1;

  auto gone = index_.trim(
      limits, [held](int64_t id) { return id != held; }, &bytes);

  ASSERT_TRUE(gone) << gone.error().message();
  EXPECT_EQ(keys(), (std::vector<std::string>{"a"}));
}

TEST_F(IndexTest, TrimsWhatWasNotUsedForLong) {
  add("a", 10);
  add("b", 10);
  int64_t between = now_ns();
  ASSERT_TRUE(index_.count(Outcome::hit, "b"));
  uint64_t bytes = 0;
  Limits limits;
  limits.unused_since_ns = between;

  ASSERT_TRUE(index_.trim(limits, agree, &bytes));

  EXPECT_EQ(keys(), (std::vector<std::string>{"b"}));
}

TEST_F(IndexTest, CountsAnswersAndRemovals) {
  add("a", 1);
  ASSERT_TRUE(index_.count(Outcome::built, "a"));
  ASSERT_TRUE(index_.count(Outcome::hit, "a"));
  ASSERT_TRUE(index_.count(Outcome::hit, "a"));
  ASSERT_TRUE(index_.count(Outcome::direct, ""));
  ASSERT_TRUE(index_.remove("a", agree));

  auto counts = index_.counts();

  ASSERT_TRUE(counts) << counts.error().message();
  EXPECT_EQ(counts->built, 1U);
  EXPECT_EQ(counts->hits, 2U);
  EXPECT_EQ(counts->direct, 1U);
  EXPECT_EQ(counts->evicted, 1U);
}

TEST(Index, SaysInWordsWhatIsWrongWithTheFile) {
  const TempDir temp;
  FILE* file = std::fopen(temp.path("index.db").c_str(), "we");
  std::fputs(std::string(4096, 'x').c_str(), file);
  std::fclose(file);
  Index index;

  auto opened = index.open(temp.path("index.db"), "c/index.db");

  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message(),
            "sqlite on 'c/index.db': file is not a database");
}

}  // namespace
}  // namespace lamina::cache
