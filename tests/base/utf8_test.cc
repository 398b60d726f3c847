#include "base/utf8.h"

#include <gtest/gtest.h>

namespace lamina {
namespace {

TEST(Utf8, IsWhatItsStandardSays) {
  for (const char* valid : {"", "plain", "\xc3\xa4", "\xe2\x82\xac",
                            "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf", "a\nb"}) {
    EXPECT_TRUE(is_utf8(valid)) << valid;
  }
  for (const char* invalid :
       {"\xff", "a\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80",
        "\xe2\x82", "\xf5\x80\x80\x80"}) {
    EXPECT_FALSE(is_utf8(invalid)) << invalid;
  }
}

TEST(Utf8, SequencesHaveTheLengthOfTheirFirstByte) {
  EXPECT_EQ(utf8_length("ab"), 1U);
  EXPECT_EQ(utf8_length("\xc3\xa4 b"), 2U);
  EXPECT_EQ(utf8_length("\xe2\x82\xac"), 3U);
  EXPECT_EQ(utf8_length("\xf0\x9f\x98\x80"), 4U);
  EXPECT_EQ(utf8_length("\xe2\x82"), 0U);
}

}  // namespace
}  // namespace lamina
