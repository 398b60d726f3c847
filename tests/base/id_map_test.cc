#include "base/id_map.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace lamina {
namespace {

TEST(IdMap, LeavesIdsAloneWhenItIsEmpty) {
  const IdMap map;

  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.map(0, "f"), 0U);
  EXPECT_EQ(map.map(4294967294, "f"), 4294967294U);
}

struct Mapped {
  const char* map;
  std::uint32_t id;
  std::uint32_t want;
};

TEST(IdMap, TranslatesByRanges) {
  constexpr Mapped kTable[] = {
      {"0:100000:65536", 0, 100000},
      {"0:100000:65536", 65535, 165535},
      {"1000:0:1", 1000, 0},
      {"0:1000:1,1:100000:65535", 0, 1000},
      {"0:1000:1,1:100000:65535", 1, 100000},
      {"0:1000:1,1:100000:65535", 65535, 165534},
      {"0:0:4294967295", 4294967294, 4294967294},
      {"10:4294967294:1", 10, 4294967294},
  };
  for (const Mapped& row : kTable) {
    const auto map = IdMap::parse(row.map);
    ASSERT_TRUE(map) << map.error().message();
    EXPECT_EQ(map->map(row.id, "f"), row.want) << row.map << " " << row.id;
    EXPECT_EQ(map->to_string(), row.map);
  }
}

TEST(IdMap, NamesIdAndRangesOfAnIdInNone) {
  const IdMap map = IdMap::parse("0:100000:10,20:200000:1").value();

  for (const std::uint32_t id : {10U, 19U, 21U, 4294967294U}) {
    std::uint32_t out = 7;
    EXPECT_FALSE(map.try_map(id, &out)) << id;
    EXPECT_EQ(out, 7U);
  }
  EXPECT_EQ(map.map(10, "a/b").error().message(),
            "map owner on 'a/b': id 10 is not in the map "
            "0:100000:10,20:200000:1: Invalid argument (EINVAL)");
}

TEST(IdMap, RefusesWhatIsNoMap) {
  for (const char* text :
       {"", "0", "0:1", "0:1:", ":1:1", "a:1:1", "0:1:1:1", "0:1:1,", ",0:1:1",
        "0:1:1 ", " 0:1:1", "-1:0:1", "+1:0:1", "0x1:0:1", "0:1:1;2:2:1",
        "4294967296:0:1", "0:0:99999999999999999999"}) {
    const auto map = IdMap::parse(text);
    ASSERT_FALSE(map) << text;
    EXPECT_EQ(map.error().code, EINVAL) << text;
  }
}

TEST(IdMap, RefusesRangesThatAreEmptyOrTooLong) {
  for (const char* text :
       {"0:0:0", "4294967295:0:1", "0:4294967295:1", "0:0:4294967296",
        "1:0:4294967295", "0:1:4294967295"}) {
    EXPECT_FALSE(IdMap::parse(text)) << text;
  }
}

TEST(IdMap, RefusesRangesThatOverlapOnEitherSide) {
  EXPECT_FALSE(IdMap::parse("0:100:10,9:200:1"));
  EXPECT_FALSE(IdMap::parse("0:100:10,10:109:1"));
  EXPECT_FALSE(IdMap::parse("5:0:1,0:10:10"));
  EXPECT_TRUE(IdMap::parse("0:100:10,10:110:10"));
}

}  // namespace
}  // namespace lamina
