#include "archive/sparse.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace lamina::archive {
namespace {

using namespace std::string_literals;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(SparseMap, TakesSoundMaps) {
  const struct {
    std::vector<std::pair<int64_t, int64_t>> runs;
    uint64_t size;
    uint64_t stored;
    SparseRuns want;
  } cases[] = {
      {{}, 0, 0, {}},
      {{}, 100, 0, {}},
      {{{0, 10}}, 10, 10, {{0, 10}}},
      {{{5, 10}}, 100, 10, {{5, 10}}},
      {{{0, 5}, {5, 5}}, 10, 10, {{0, 5}, {5, 5}}},
      {{{0, 5}, {7, 1}, {10, 0}}, 10, 6, {{0, 5}, {7, 1}}},
      {{{0, 0}, {0, 0}, {100, 0}}, 100, 0, {}},
      {{{kMax, 0}}, uint64_t{1} << 63, 0, {}},
      {{{0, kMax}},
       static_cast<uint64_t>(kMax),
       static_cast<uint64_t>(kMax),
       {{0, static_cast<uint64_t>(kMax)}}},
  };

  for (const auto& c : cases) {
    SparseMap map(10);
    for (auto [offset, length] : c.runs) {
      ASSERT_TRUE(map.add(offset, length));
    }
    auto got = map.take(c.size, c.stored);
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_EQ(*got, c.want);
  }
}

TEST(SparseMap, RefusesUnsoundMaps) {
  const struct {
    std::vector<std::pair<int64_t, int64_t>> runs;
    uint64_t size;
    uint64_t stored;
    const char* why;
  } cases[] = {
      {{{-1, 5}}, 10, 5, "negative"},
      {{{0, -5}}, 10, 5, "negative"},
      {{{0, 5}, {4, 5}}, 10, 10, "overlap"},
      {{{5, 5}, {0, 5}}, 10, 10, "overlap"},
      {{{5, 0}, {0, 5}}, 10, 5, "overlap"},
      {{{6, 5}}, 10, 5, "past the end"},
      {{{kMax, kMax}}, 10, 5, "past the end"},
      {{{kMax, kMax}, {kMax, kMax}}, 10, 5, "overlap"},
      {{{11, 0}}, 10, 0, "past the end"},
      {{{0, 5}}, 10, 4, "does not fit"},
      {{{0, 5}}, 10, 6, "does not fit"},
      {{{0, 1}, {1, 1}, {2, 1}, {3, 1}}, 10, 4, "too many"},
  };

  for (const auto& c : cases) {
    SparseMap map(3);
    std::string why;
    for (auto [offset, length] : c.runs) {
      auto added = map.add(offset, length);
      if (!added && why.empty()) {
        why = added.error().text;
      }
    }
    if (why.empty()) {
      auto taken = map.take(c.size, c.stored);
      why = taken ? "" : taken.error().text;
    }
    EXPECT_NE(why.find(c.why), std::string::npos) << why << " / " << c.why;
  }
}

TEST(SparseRecord, ReadsPairsAndWantsJustAsMany) {
  auto parse = [](std::string_view text, int64_t count) {
    SparseMap map(3);
    return parse_sparse_record(text, count, map).has_value();
  };

  EXPECT_TRUE(parse("", 0));
  EXPECT_TRUE(parse("0,5,10,5", 2));
  EXPECT_FALSE(parse("0,5,10,5", 1));
  EXPECT_FALSE(parse("0,5,10,5", 3));
  EXPECT_FALSE(parse("0,5,10", 2));
  EXPECT_FALSE(parse("0,,10,5", 2));
  EXPECT_FALSE(parse("0,5,10,x", 2));
  EXPECT_FALSE(parse("0,5", -1));
  EXPECT_FALSE(parse("0,5", 4611686018427387905)) << "no memory is taken";
}

Result<size_t> read_lines(std::string text, SparseMap& map) {
  text.resize((text.size() + 511) / 512 * 512);
  SparseLines lines(map);
  for (size_t at = 0; at < text.size(); at += 512) {
    TRY_ASSIGN(bool complete,
               lines.add(std::string_view(text).substr(at, 512)));
    if (complete) {
      return at / 512 + 1;
    }
  }
  return size_t{0};
}

TEST(SparseLines, ReadsTheMapInFrontOfTheData) {
  SparseMap map(1000);
  auto blocks = read_lines("2\n0\n5\n100\n7\n", map);

  ASSERT_TRUE(blocks) << blocks.error().message();
  EXPECT_EQ(*blocks, 1U);
  EXPECT_EQ(*map.take(107, 12), (SparseRuns{{0, 5}, {100, 7}}));
}

TEST(SparseLines, ReadsNumbersThatCrossBlocks) {
  std::string text = "200\n";
  for (int i = 0; i < 200; ++i) {
    text += std::to_string(1000000 + i * 10) + "\n5\n";
  }
  SparseMap map(1000);

  auto blocks = read_lines(text, map);

  ASSERT_TRUE(blocks) << blocks.error().message();
  EXPECT_EQ(*blocks, (text.size() + 511) / 512);
  auto runs = map.take(2000000, 1000);
  ASSERT_TRUE(runs);
  EXPECT_EQ(runs->back(), (SparseRun{1001990, 5}));
}

TEST(SparseLines, MayHoldNoRun) {
  SparseMap map(10);
  auto blocks = read_lines("0\n", map);

  ASSERT_TRUE(blocks);
  EXPECT_EQ(*blocks, 1U);
}

TEST(SparseLines, RefusesWhatIsNotNumbers) {
  for (const std::string& text :
       {"2\n0\n5\n#comment\n"s, "\n"s, "1\n\n5\n"s, "-1\n"s, " 1\n"s,
        "1\n0x5\n"s, "11\n"s, "1\n0\0\n5\n"s, std::string(512, '9'),
        "9999999999999999999\n"s, "2\n5\n5\n0\n5\n"s}) {
    SparseMap map(10);
    EXPECT_FALSE(read_lines(text, map)) << testing::PrintToString(text);
  }
}

std::string number(uint64_t value) {
  char text[12];
  std::snprintf(text, sizeof text, "%011lo", static_cast<unsigned long>(value));
  return {text, sizeof text};
}

TEST(GnuSparse, ReadsHeaderAndFurtherBlocks) {
  std::string header(512, '\0');
  header.replace(386, 48, number(0) + number(5) + number(10) + number(5));
  header[482] = 1;
  header.replace(483, 12, number(5000));
  std::string block(512, '\0');
  block.replace(0, 24, number(20) + number(7));
  SparseMap map(10);

  EXPECT_EQ(*parse_gnu_sparse_size(header), 5000);
  auto more = parse_gnu_sparse_header(header, map);
  auto last = parse_gnu_sparse_block(block, map);

  ASSERT_TRUE(more && last);
  EXPECT_TRUE(*more);
  EXPECT_FALSE(*last);
  EXPECT_EQ(*map.take(5000, 17), (SparseRuns{{0, 5}, {10, 5}, {20, 7}}));
}

TEST(GnuSparse, RefusesBadNumbers) {
  std::string header(512, '\0');
  header.replace(386, 24, "junk        " + number(5));
  SparseMap map(10);
  EXPECT_FALSE(parse_gnu_sparse_header(header, map));

  std::string negative(512, '\0');
  negative.replace(483, 12, 12, '\xFF');
  EXPECT_FALSE(parse_gnu_sparse_size(negative));
}

}  // namespace
}  // namespace lamina::archive
