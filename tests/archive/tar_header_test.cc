#include "archive/tar_header.h"

#include <limits>
#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "tests/archive/tar_maker.h"

namespace lamina::archive {
namespace {

using namespace std::string_literals;
using test::header_block;
using test::with_checksum;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST(ParseTarNumber, ReadsOctalAndBase256) {
  const struct {
    std::string field;
    int64_t want;
  } cases[] = {
      {"0000644\0"s, 0644},
      {"00000000017\0"s, 017},
      {"777777777777", 0777777777777},
      {"        ", 0},
      {"\0\0\0\0\0\0\0\0"s, 0},
      {"", 0},
      {"   12 \0"s, 10},
      {"\0\0 12\0"s, 10},
      {"12 junk behind"s, 10},
      {"\x80\0\0\0\0\0\0\x05"s, 5},
      {"\x80\0\0\0\xFF\xFF\xFF\xFF"s, 4294967295},
      {"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"s, -1},
      {"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFC\x18"s, -1000},
      {"\x80\0\0\0\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF"s, kMax},
      {"\xFF\xFF\xFF\xFF\x80\0\0\0\0\0\0\0"s, kMin},
      {"\xBF\xFF"s, 0x3FFF},
      {"\xC0\x00"s, -0x4000},
      {"0777777777777777777777", kMax},
  };

  for (const auto& c : cases) {
    auto got = parse_tar_number(c.field);
    ASSERT_TRUE(got) << testing::PrintToString(c.field);
    EXPECT_EQ(*got, c.want) << testing::PrintToString(c.field);
  }
}

TEST(ParseTarNumber, RefusesOtherCharactersAndOverflow) {
  const std::string cases[] = {
      "0000648\0"s,
      "-000001\0"s,
      "+1",
      "0x12",
      "12a",
      "1000000000000000000000",
      "\x80\0\0\0\x80\0\0\0\0\0\0\0"s,
      "\xFF\xFF\xFF\xFF\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF"s,
      "\x81\0\0\0\0\0\0\0\0\0\0\0"s,
  };

  for (const std::string& field : cases) {
    EXPECT_FALSE(parse_tar_number(field)) << testing::PrintToString(field);
  }
}

TEST(ParseTarHeader, ReadsNamesTypeAndSize) {
  std::string block = header_block({.name = "etc/passwd", .size = 1234});

  auto header = parse_tar_header(block);

  ASSERT_TRUE(header) << header.error().message();
  EXPECT_EQ(header->format, TarFormat::ustar);
  EXPECT_EQ(header->type, '0');
  EXPECT_EQ(header->name, "etc/passwd");
  EXPECT_EQ(header->prefix, "");
  EXPECT_EQ(header->size, 1234);
  EXPECT_EQ(header->name.data(), block.data()) << "a slice, not a copy";
}

TEST(ParseTarHeader, ReadsFieldsWithoutAnEndingNul) {
  std::string block = header_block({.name = std::string(100, 'n')});
  block.replace(157, 100, 100, 'l');
  block.replace(345, 155, 155, 'p');

  std::string whole = with_checksum(block);
  auto header = parse_tar_header(whole);

  ASSERT_TRUE(header);
  EXPECT_EQ(header->name, std::string(100, 'n'));
  EXPECT_EQ(header->link, std::string(100, 'l'));
  EXPECT_EQ(header->prefix, std::string(155, 'p'));
}

TEST(ParseTarHeader, FindsTheFormat) {
  auto format_of = [](auto change) {
    std::string block = header_block({.name = "a"});
    change(block);
    std::string whole = with_checksum(block);
    auto header = parse_tar_header(whole);
    return header ? header->format : TarFormat::v7;
  };

  EXPECT_EQ(format_of([](std::string&) {}), TarFormat::ustar);
  EXPECT_EQ(format_of([](std::string& b) { b.replace(257, 8, 8, '\0'); }),
            TarFormat::v7);
  EXPECT_EQ(format_of([](std::string& b) { b.replace(257, 8, "ustar  \0"s); }),
            TarFormat::gnu);
  EXPECT_EQ(format_of([](std::string& b) { b.replace(508, 4, "tar\0"s); }),
            TarFormat::star);
  EXPECT_EQ(format_of([](std::string& b) { b.replace(263, 2, "  "); }),
            TarFormat::ustar);
}

TEST(ParseTarHeader, TakesAUstarPrefixFromAGnuHeaderOnlyWithoutTimes) {
  auto prefix_of = [](std::string_view prefix_area) {
    std::string block = header_block({.name = "leaf"});
    block.replace(257, 8, "ustar  \0"s);
    block.replace(345, prefix_area.size(), prefix_area);
    std::string whole = with_checksum(block);
    auto header = parse_tar_header(whole);
    return header ? std::string(header->prefix) : "refused";
  };

  EXPECT_EQ(prefix_of("pre/fix"), "pre/fix");
  EXPECT_EQ(prefix_of("14567777777\0"s
                      "14567777777\0"s),
            "");
  EXPECT_EQ(prefix_of(""), "");
  EXPECT_EQ(prefix_of("pr\xC3\xA9/fix"), "");
}

TEST(ParseTarHeader, TakesSignedAndUnsignedChecksums) {
  std::string block = header_block({.name = "\xE9t\xE9"});
  EXPECT_TRUE(parse_tar_header(block));

  int64_t sum = 0;
  block.replace(148, 8, 8, ' ');
  for (char c : block) {
    sum += static_cast<signed char>(c);
  }
  char text[8];
  std::snprintf(text, sizeof text, "%06o", static_cast<unsigned>(sum));
  block.replace(148, 7, text, 7);

  EXPECT_TRUE(parse_tar_header(block));
}

TEST(ParseTarHeader, RefusesEveryFlippedBitOfWhatItSums) {
  const std::string block =
      header_block({.name = "etc/passwd", .size = 5, .link = "x"});

  for (size_t bit = 0; bit < block.size() * 8; ++bit) {
    // The sum itself may be written in more ways than one.
    if (bit / 8 >= 148 && bit / 8 < 156) {
      continue;
    }
    std::string bad = block;
    bad[bit / 8] ^= static_cast<char>(1 << bit % 8);
    EXPECT_FALSE(parse_tar_header(bad)) << bit;
  }
}

TEST(ParseTarHeader, RefusesANegativeSize) {
  std::string block = header_block({.name = "a"});
  block.replace(124, 12, 12, '\xFF');
  std::string whole = with_checksum(block);

  auto header = parse_tar_header(whole);

  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().text, "the size is negative");
}

TEST(ParseTarAttributes, ReadsTimesOfGnuAndStarHeaders) {
  std::string gnu = header_block({.name = "a", .mtime = 7});
  gnu.replace(257, 8, "ustar  \0"s);
  gnu.replace(345, 12, "00000000011\0"s);
  gnu = with_checksum(gnu);
  std::string star = header_block({.name = "a"});
  star.replace(508, 4, "tar\0"s);
  star.replace(476, 12, "00000000012\0"s);
  star = with_checksum(star);
  std::string plain = header_block({.name = "a"});

  EXPECT_EQ(parse_tar_attributes(gnu, *parse_tar_header(gnu))->atime, 9);
  EXPECT_EQ(parse_tar_attributes(gnu, *parse_tar_header(gnu))->mtime, 7);
  EXPECT_EQ(parse_tar_attributes(star, *parse_tar_header(star))->atime, 10);
  EXPECT_FALSE(parse_tar_attributes(plain, *parse_tar_header(plain))->atime);
}

TEST(ParseTarDevice, KnowsTheRangeOfLinux) {
  auto parse = [](std::string_view major, std::string_view minor) {
    std::string block = header_block({.name = "a"});
    block.replace(329, major.size(), major);
    block.replace(337, minor.size(), minor);
    return parse_tar_device(block);
  };

  auto most = parse("0007777", "3777777");
  ASSERT_TRUE(most);
  EXPECT_EQ(most->major, 4095U);
  EXPECT_EQ(most->minor, 1048575U);
  EXPECT_FALSE(parse("0010000", "0000000"));
  EXPECT_FALSE(parse("0000001", "4000000"));
  EXPECT_FALSE(parse("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "0000000"));
}

TEST(IsZeroBlock, LooksAtEveryByte) {
  std::string block(512, '\0');
  EXPECT_TRUE(is_zero_block(block));
  block.back() = 1;
  EXPECT_FALSE(is_zero_block(block));
}

}  // namespace
}  // namespace lamina::archive
