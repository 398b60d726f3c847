#include "archive/tar_sparse.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/archive/tar_maker.h"

namespace lamina::archive {
namespace {

using namespace std::string_literals;
using test::end_marker;
using test::header_block;
using test::listing;
using test::listing_every_way;
using test::member;
using test::padded;
using test::pax_member;
using test::with_checksum;

// What each encoding of the same file must read as: "ab", a hole, "cd", a hole.
const std::string kWant =
    "0 file s mode=644 owner=0:0 mtime=1700000000 size=12 "
    "body=ab\\x00\\x00\\x00\\x00cd\\x00\\x00\\x00\\x00\n"
    "1 file z mode=644 owner=0:0 mtime=1700000000 size=1 body=1\n";

std::string after() {
  return member({.name = "z"}, "1") + end_marker();
}

std::string number(uint64_t value) {
  char text[12];
  std::snprintf(text, sizeof text, "%011lo", static_cast<unsigned long>(value));
  return {text, sizeof text};
}

// An old GNU header with up to four runs.
std::string gnu_header(std::string_view runs, uint64_t real_size,
                       uint64_t stored, bool more) {
  std::string header = header_block({.name = "s", .size = stored, .type = 'S'});
  header.replace(257, 8, "ustar  \0"s);
  header.replace(386, runs.size(), runs);
  header[482] = more ? 1 : 0;
  header.replace(483, 12, number(real_size));
  return with_checksum(header);
}

TEST(TarSparse, ReadsTheOldGnuFormat) {
  std::string runs =
      number(0) + number(2) + number(6) + number(2) + number(12) + number(0);

  EXPECT_EQ(listing_every_way(gnu_header(runs, 12, 4, false) + padded("abcd") +
                              after()),
            kWant);
}

TEST(TarSparse, ReadsTheOldGnuFormatWithFurtherBlocks) {
  std::string first(512, '\0');
  first[504] = 1;
  std::string second(512, '\0');
  second.replace(0, 24, number(6) + number(2));

  EXPECT_EQ(listing_every_way(gnu_header(number(0) + number(2), 12, 4, true) +
                              first + second + padded("abcd") + after()),
            kWant);
}

TEST(TarSparse, ReadsFormat00) {
  EXPECT_EQ(listing_every_way(pax_member({{"GNU.sparse.size", "12"},
                                          {"GNU.sparse.numblocks", "2"},
                                          {"GNU.sparse.offset", "0"},
                                          {"GNU.sparse.numbytes", "2"},
                                          {"GNU.sparse.offset", "6"},
                                          {"GNU.sparse.numbytes", "2"}}) +
                              member({.name = "s"}, "abcd") + after()),
            kWant);
}

TEST(TarSparse, ReadsFormat01) {
  EXPECT_EQ(listing_every_way(pax_member({{"GNU.sparse.size", "12"},
                                          {"GNU.sparse.numblocks", "2"},
                                          {"GNU.sparse.map", "0,2,6,2"},
                                          {"GNU.sparse.name", "s"}}) +
                              member({.name = "GNUSparseFile.0/s"}, "abcd") +
                              after()),
            kWant);
}

std::string format_10(std::string_view map, std::string_view data,
                      std::string_view real_size) {
  return pax_member({{"GNU.sparse.major", "1"},
                     {"GNU.sparse.minor", "0"},
                     {"GNU.sparse.name", "s"},
                     {"GNU.sparse.realsize", std::string(real_size)}}) +
         member({.name = "GNUSparseFile.0/s"},
                padded(map) + std::string(data)) +
         after();
}

TEST(TarSparse, ReadsFormat10) {
  EXPECT_EQ(listing_every_way(format_10("2\n0\n2\n6\n2\n", "abcd", "12")),
            kWant);
}

TEST(TarSparse, AFileMayBeOneHole) {
  std::string got =
      listing_every_way(format_10("1\n100000\n0\n", "", "100000"));

  EXPECT_NE(got.find("size=100000\n1 file z"), std::string::npos) << got;
}

TEST(TarSparse, ManyRunsCrossSlabs) {
  std::string map = "300\n";
  std::string data;
  for (int i = 0; i < 300; ++i) {
    map += std::to_string(i * 100) + "\n10\n";
    data += "0123456789";
  }

  std::string got = listing_every_way(format_10(map, data, "30000"));

  EXPECT_NE(got.find("0 file s"), std::string::npos);
  EXPECT_NE(got.find("1 file z"), std::string::npos) << got;
}

TEST(TarSparse, RefusesUnsoundMaps) {
  auto why_of = [](const std::string& tar) {
    std::string list = listing_every_way(tar);
    size_t at = list.find("read tar on 's': ");
    return at == std::string::npos ? "read: " + list : list.substr(at);
  };
  auto records = [](std::vector<std::pair<std::string, std::string>> r) {
    for (auto& [key, value] : r) {
      key = "GNU.sparse." + key;
    }
    return pax_member(r) + member({.name = "s"}, "abcd") + after();
  };
  std::string endless = "300\n";
  while (endless.size() < 512) {
    endless += "000\n";
  }
  const struct {
    std::string tar;
    const char* why;
  } cases[] = {
      {format_10("2\n0\n2\n1\n2\n", "abcd", "12"), "overlap"},
      {format_10("2\n6\n2\n0\n2\n", "abcd", "12"), "overlap"},
      {format_10("2\n0\n2\n11\n2\n", "abcd", "12"), "past the end"},
      {format_10("1\n0\n1024\n", "abcd", "1024"), "does not fit"},
      {format_10("1\n0\n2\n", "abcd", "12"), "does not fit"},
      {format_10(std::string(512, '9'), "abcd", "12"), "numbers"},
      {format_10(std::string(512, '1').substr(0, 10) + "\n", "", "12"),
       "too many"},
      {format_10(endless, "", "12"), "does not end"},
      {format_10("2\n0\n2\n6\n2\n", "abcd", "-12"), "negative"},
      {records({{"map", "0,4"}, {"numblocks", "1"}}), "without its size"},
      {records({{"map", "0,4"}, {"size", "4"}}), "count"},
      {records({{"map", "0,4"}, {"size", "4"}, {"numblocks", "2"}}), "number"},
      {records({{"offset", "0"},
                {"numbytes", "4"},
                {"size", "4"},
                {"numblocks", "2"}}),
       "count"},
      {records({{"major", "2"}, {"minor", "0"}, {"realsize", "4"}}),
       "not known"},
      {pax_member({{"GNU.sparse.size", "4"}}) +
           member({.name = "s", .type = '5'}),
       "only a file"},
      {gnu_header(number(0) + number(4), 3, 4, false) + padded("abcd"),
       "past the end"},
      {gnu_header(number(0) + number(4), 4, 4, true), "ends early"},
      {with_checksum(header_block({.name = "s", .type = 'S'})),
       "another format"},
      {pax_member({{"GNU.sparse.size", "4"}}) +
           gnu_header(number(0) + number(4), 4, 4, false) + padded("abcd"),
       "two formats"},
  };

  for (const auto& c : cases) {
    EXPECT_NE(why_of(c.tar).find(c.why), std::string::npos)
        << why_of(c.tar) << c.why;
  }
}

TEST(TarSparse, EndlessBlocksOfNoRunsAreRefused) {
  std::string empty(512, '\0');
  empty[504] = 1;
  std::string tar = gnu_header(number(0) + number(4), 4, 4, true);
  for (int i = 0; i < 100; ++i) {
    tar += empty;
  }

  EXPECT_NE(listing(tar, {.sparse_runs = 50}).find("too many blocks"),
            std::string::npos);
}

}  // namespace
}  // namespace lamina::archive
