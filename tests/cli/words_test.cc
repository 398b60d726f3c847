#include "cli/words.h"

#include <gtest/gtest.h>

namespace lamina::cli {
namespace {

TEST(Words, RefusesNumbersOfWorkersThatAreNone) {
  for (const char* number :
       {"0", "-1", "+1", "1x", "0x1", " 1", "1025", "99999999999999999999"}) {
    EXPECT_FALSE(parse_workers(number)) << number;
  }
  EXPECT_EQ(parse_workers("1024").value_or(0), kMostWorkers);
  EXPECT_EQ(parse_workers("").value_or(1), 0U);
}

TEST(Words, TakesSizesWithAUnit) {
  EXPECT_EQ(parse_size("--max-size", "", 7), 7U);
  EXPECT_EQ(parse_size("--max-size", "4096", 7), 4096U);
  EXPECT_EQ(parse_size("--max-size", "64K", 7), 65536U);
  EXPECT_EQ(parse_size("--max-size", "3G", 7), uint64_t{3} << 30);
  EXPECT_EQ(parse_size("--max-size", "16777215T", 7), uint64_t{16777215} << 40);
}

TEST(Words, RefusesSizesThatAreNoneOrDoNotFit) {
  for (const char* size : {"0", "K", "-1", "1k", "1KB", "1.5G", " 1",
                           "16777216T", "0x10", "18446744073709551616"}) {
    auto parsed = parse_size("--max-size", size, 7);
    ASSERT_FALSE(parsed) << size;
    EXPECT_EQ(parsed.error(),
              "--max-size '" + std::string(size) +
                  "': it is a number of bytes, as in 4096, 64K, 2M, 10G, 1T");
  }
}

TEST(Words, SaysInWhatRangeANumberLies) {
  auto number = parse_number("--strip", "9\n", {.least = 1, .most = 8});

  ASSERT_FALSE(number);
  EXPECT_EQ(number.error(), "--strip '9\\n': it is a number from 1 to 8");
  EXPECT_EQ(parse_number("--max-ratio", "0", {.least = 1}).error(),
            "--max-ratio '0': it is a number from 1 up");
}

}  // namespace
}  // namespace lamina::cli
