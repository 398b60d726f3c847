#include "archive/tar_reader.h"

#include <cerrno>
#include <string>
#include <vector>

#include "archive/decode_stream.h"
#include "gtest/gtest.h"
#include "tests/archive/packing.h"
#include "tests/archive/tar_maker.h"

namespace lamina::archive {
namespace {

using namespace std::string_literals;
using test::end_marker;
using test::header_block;
using test::listing;
using test::listing_every_way;
using test::long_member;
using test::member;
using test::pax_member;
using test::raw_pax_member;
using test::RingSlices;
using test::with_checksum;

constexpr char kCommon[] = " mode=644 owner=0:0 mtime=1700000000";

std::string file_line(int ordinal, std::string_view name,
                      std::string_view body) {
  std::string line = std::to_string(ordinal) + " file " + std::string(name) +
                     kCommon + " size=" + std::to_string(body.size());
  return line + (body.empty() ? "" : " body=" + std::string(body)) + "\n";
}

// True when a listing ends in an error that says `why` of `name`.
testing::AssertionResult refused(const std::string& list, std::string_view name,
                                 std::string_view why) {
  std::string want = "read tar on '" + std::string(name) + "': ";
  if (name.empty()) {
    want = "read tar: ";
  }
  size_t at = list.find(want);
  if (at != std::string::npos && list.find(why, at) != std::string::npos) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << list << "\nlacks: " << want << why;
}

TEST(TarReader, GivesEachKindOfEntry) {
  std::string device = header_block({.name = "c", .type = '3'});
  device.replace(329, 7, "0000001");
  device.replace(337, 7, "0000003");
  std::string block = header_block({.name = "b", .type = '4'});
  block.replace(329, 7, "0000007");
  const std::string tar =
      member({.name = "d/", .type = '5', .mode = 0755, .uid = 5, .gid = 6}) +
      member({.name = "d/f", .mode = 04755}, "hello") +
      member({.name = "l", .type = '1', .link = "./d//f"}) +
      member({.name = "s", .type = '2', .link = "../x//y"}) +
      with_checksum(device) + with_checksum(block) +
      member({.name = "p", .type = '6', .mtime = 0}) +
      member({.name = "old", .type = '\0'}, "o") +
      member({.name = "olddir/", .type = '\0'}) +
      member({.name = "seven", .type = '7'}, "7") +
      member({.name = "slash/", .type = '0'}, "z") + end_marker();

  EXPECT_EQ(listing_every_way(tar),
            "0 dir d mode=755 owner=5:6 mtime=1700000000\n"
            "1 file d/f mode=4755 owner=0:0 mtime=1700000000 size=5 "
            "body=hello\n"
            "2 link l -> d/f mode=644 owner=0:0 mtime=1700000000\n"
            "3 symlink s -> ../x//y mode=644 owner=0:0 mtime=1700000000\n"
            "4 char c mode=644 owner=0:0 mtime=1700000000 dev=1:3\n"
            "5 block b mode=644 owner=0:0 mtime=1700000000 dev=7:0\n"
            "6 fifo p mode=644 owner=0:0 mtime=0\n"
            "7 file old mode=644 owner=0:0 mtime=1700000000 size=1 body=o\n"
            "8 dir olddir mode=644 owner=0:0 mtime=1700000000\n"
            "9 file seven mode=644 owner=0:0 mtime=1700000000 size=1 body=7\n"
            "10 file slash mode=644 owner=0:0 mtime=1700000000 size=1 "
            "body=z\n");
}

TEST(TarReader, EndsWhereItShould) {
  const std::string a = member({.name = "a"}, "1");
  const std::string zero(512, '\0');
  const std::string good[] = {
      a,
      a + zero,
      a + zero + zero,
      a + zero + zero + std::string(1 << 20, '\0'),
      a + zero + zero + member({.name = "second archive"}, "2"),
      a + zero + zero + "part of a block",
  };
  const std::string bad[] = {
      a + zero + member({.name = "b"}),
      a + zero + "x" + std::string(511, '\0'),
      a + "part of a block",
      a + zero + std::string(100, '\0'),
      a.substr(0, a.size() - 1),
  };

  for (const std::string& tar : good) {
    EXPECT_EQ(listing_every_way(tar), file_line(0, "a", "1"));
  }
  for (const std::string& tar : bad) {
    EXPECT_NE(listing_every_way(tar).find("read tar"), std::string::npos);
  }
  EXPECT_EQ(listing_every_way(""), "");
  EXPECT_EQ(listing_every_way(zero), "");
  EXPECT_EQ(listing_every_way(end_marker()), "");
}

TEST(TarReader, ReadsTheStreamToItsEnd) {
  const std::string tar =
      member({.name = "a"}, "1") + end_marker() + std::string(100'000, 'x');
  RingSlices slices(tar, 1024);
  TarReader reader(slices);

  ASSERT_TRUE(reader.next());
  auto end = reader.next();

  ASSERT_TRUE(end && !*end);
  EXPECT_EQ(reader.position(), tar.size());
  auto rest = slices.next();
  ASSERT_TRUE(rest);
  EXPECT_FALSE(*rest);
  EXPECT_EQ(reader.entries(), 1U);
}

TEST(TarReader, EveryPrefixIsReadOrRefusedAndNeverMore) {
  const std::string tar =
      pax_member({{"mtime", "1.5"}, {"SCHILY.xattr.user.a", "v"}}) +
      member({.name = "dir/", .type = '5'}) + long_member('L', "dir/long") +
      member({.name = "dir/lon"}, std::string(700, 'b')) +
      member({.name = "s", .type = '2', .link = "t"}) + end_marker();
  const std::string whole = listing(tar);

  for (size_t size = 0; size < tar.size(); ++size) {
    std::string got = listing(std::string_view(tar).substr(0, size));
    if (got.find("read tar") == std::string::npos) {
      // Only at a block edge with no entry or meta header under way.
      EXPECT_EQ(size % 512, 0U);
      EXPECT_EQ(whole.substr(0, got.size()), got);
    }
  }
}

TEST(TarReader, HeaderOnlyTypesHaveNoBodyWhateverTheySay) {
  std::string tar;
  for (char type : "12356"s) {
    tar +=
        member({.name = "n"s + type, .size = 5000, .type = type, .link = "t"});
  }
  tar += member({.name = "after"}, "here");

  EXPECT_NE(listing_every_way(tar).find("5 file after"), std::string::npos);
  EXPECT_NE(listing(tar).find("body=here"), std::string::npos);
}

TEST(TarReader, RefusesTypesWithoutAPlaceInATree) {
  for (char type : "ADMNVXZ8"s) {
    EXPECT_TRUE(refused(listing(member({.name = "v", .type = type})), "v",
                        "type '"s + type + "'"));
  }
  EXPECT_TRUE(
      refused(listing(member({.name = "v", .type = '\x07'})), "v", "type 7"));
  EXPECT_TRUE(
      refused(listing(member({.name = "v", .type = '\xFF'})), "v", "type 255"));
}

TEST(TarReader, PaxRecordsGoBeforeTheHeader) {
  const std::string tar =
      pax_member({{"path", "real/name"},
                  {"uid", "3000000"},
                  {"gid", "4294967294"},
                  {"mtime", "-1.25"},
                  {"atime", "7"},
                  {"size", "3"},
                  {"SCHILY.xattr.user.a", "v\0"s}}) +
      member({.name = "placeholder", .size = 999, .uid = 5}).substr(0, 512) +
      test::padded("abc") + pax_member({{"linkpath", "else/where"}}) +
      member({.name = "l", .type = '2', .link = "x"}) + end_marker();

  EXPECT_EQ(listing_every_way(tar),
            "0 file real/name mode=644 owner=3000000:4294967294 mtime=-1.25 "
            "atime=7 user.a=v\\x00 size=3 body=abc\n"
            "1 symlink l -> else/where mode=644 owner=0:0 mtime=1700000000\n");
}

TEST(TarReader, APaxSizeFindsTheNextHeader) {
  // Read by the header's size of 0, the body would be an entry of its own.
  const std::string smuggled = member({.name = "smuggled"}, "evil");
  const std::string tar = pax_member({{"size", std::to_string(1024)}}) +
                          member({.name = "nested.tar"}) + smuggled +
                          member({.name = "after"}, "1") + end_marker();

  std::string got = listing_every_way(tar);

  EXPECT_EQ(got.find("smuggled mode"), std::string::npos);
  EXPECT_NE(got.find("0 file nested.tar"), std::string::npos);
  EXPECT_NE(got.find("size=1024"), std::string::npos);
  EXPECT_NE(got.find("1 file after"), std::string::npos);
}

TEST(TarReader, OfSeveralMetaHeadersTheLastCountsWhole) {
  const std::string tar =
      pax_member({{"path", "one"}, {"uid", "1"}}) +
      pax_member({{"path", "two"}}) + long_member('K', "first") +
      long_member('K', "k") + member({.name = "n", .type = '2', .link = "l"}) +
      long_member('L', "x") + long_member('L', "longer") +
      pax_member({{"path", "pax"}}) + member({.name = "n"}, "1") + end_marker();

  EXPECT_EQ(listing_every_way(tar), "0 symlink two -> k"s + kCommon + "\n" +
                                        file_line(1, "longer", "1"));
}

TEST(TarReader, AMetaHeaderCountsForOneEntryOnly) {
  const std::string tar = pax_member({{"path", "one"}}) +
                          member({.name = "a"}, "1") +
                          member({.name = "b"}, "2") + end_marker();

  EXPECT_EQ(listing_every_way(tar),
            file_line(0, "one", "1") + file_line(1, "b", "2"));
}

TEST(TarReader, MetaBodiesMayCrossSlabs) {
  const std::string name(1500, 'n');
  std::string path;
  for (int i = 0; i < 15; ++i) {
    path += std::string(99, 'd') + "/";
  }
  path += "leaf";
  const std::string tar =
      long_member('K', name) +
      pax_member(
          {{"path", path}, {"SCHILY.xattr.user.big", std::string(3000, 'v')}}) +
      member({.name = "s", .type = '2', .link = "l"}) + long_member('L', path) +
      member({.name = "f"}, "1") + end_marker();

  std::string got = listing_every_way(tar);

  EXPECT_NE(got.find("0 symlink " + path + " -> " + name), std::string::npos);
  EXPECT_NE(got.find("user.big=" + std::string(3000, 'v')), std::string::npos);
  EXPECT_NE(got.find("1 file " + path), std::string::npos);
}

TEST(TarReader, GlobalHeadersAreCheckedAndIgnored) {
  const std::string tar =
      pax_member({{"path", "everything"}, {"uid", "7"}}, 'g') +
      member({.name = "a"}, "1") + pax_member({{"path", "b"}}) +
      pax_member({{"comment", "0123456789abcdef"}}, 'g') +
      member({.name = "x"}, "2") + end_marker();

  EXPECT_EQ(listing_every_way(tar),
            file_line(0, "a", "1") + file_line(1, "b", "2"));
  EXPECT_TRUE(refused(listing(raw_pax_member("nonsense", 'g')), "PaxHeaders/x",
                      "PAX record"));
}

TEST(TarReader, RefusesMetaHeadersThatAreNotSound) {
  const std::string a = member({.name = "a"}, "1") + end_marker();
  const struct {
    std::string meta;
    const char* why;
  } cases[] = {
      {raw_pax_member("12 path=a/bX"), "newline"},
      {raw_pax_member("99 path=a\n"), "length"},
      {raw_pax_member("0 path=a\n"), "length"},
      {pax_member({{"path", "a\0b"s}}), "NUL"},
      {pax_member({{"linkpath", "a\0b"s}}), "NUL"},
      {pax_member({{"size", "-1"}}), "negative"},
      {pax_member({{"uid", "-1"}}), "owner"},
      {pax_member({{"uid", "4294967295"}}), "owner"},
      {pax_member({{"gid", "4294967296"}}), "owner"},
      {pax_member({{"mtime", "soon"}}), "number"},
  };

  for (const auto& c : cases) {
    std::string got = listing_every_way(c.meta + a);
    EXPECT_NE(got.find(c.why), std::string::npos) << got;
    EXPECT_NE(got.find("read tar on"), std::string::npos) << got;
  }
}

TEST(TarReader, RefusesAMetaHeaderWithoutAnEntry) {
  for (const std::string& meta :
       {pax_member({{"path", "a"}}), long_member('L', "a"),
        long_member('K', "a"), raw_pax_member("")}) {
    EXPECT_NE(listing_every_way(meta).find("without an entry"),
              std::string::npos);
    EXPECT_NE(listing_every_way(meta + end_marker()).find("without an entry"),
              std::string::npos);
  }
}

TEST(TarReader, TakesNoMemoryForWhatAMetaHeaderOnlyClaims) {
  for (char type : "xgLK"s) {
    std::string header = header_block({.name = "meta", .type = type});
    header.replace(124, 12, "\x80\0\0\0\0\0\0\4\0\0\0\0"s);  // 16 GiB
    EXPECT_TRUE(refused(listing(with_checksum(header)), "meta", "is too long"));
  }
  EXPECT_NE(
      listing(long_member('L', std::string(2000, 'a')), {.meta_bytes = 1000})
          .find("too long"),
      std::string::npos);
}

TEST(TarReader, NamesAreWithinTheRoot) {
  const struct {
    std::string tar;
    std::string name;
    const char* why;
  } cases[] = {
      {member({.name = "../x"}), "../x", "leaves the root"},
      {member({.name = "a/../../x"}), "a/../../x", "leaves the root"},
      {member({.name = "/../x"}), "/../x", "leaves the root"},
      {pax_member({{"path", "../x"}}) + member({.name = "a"}), "../x",
       "leaves the root"},
      {long_member('L', "../x") + member({.name = "a"}), "../x",
       "leaves the root"},
      {member({.name = "l", .type = '1', .link = "../x"}), "l",
       "leaves the root, as the target"},
      {member({.name = "l", .type = '1', .link = "./l"}), "l", "itself"},
      {member({.name = ""}), "", "the root"},
      {member({.name = "./"}), "./", "the root"},
      {member({.name = "a/..", .type = '2', .link = "x"}), "a/..", "the root"},
      {member({.name = "/", .type = '1', .link = "x"}), "/", "the root"},
      {pax_member({{"path", std::string(256, 'n')}}) + member({.name = "a"}),
       std::string(256, 'n'), "too long"},
  };

  for (const auto& c : cases) {
    EXPECT_NE(listing_every_way(c.tar).find(c.why), std::string::npos)
        << listing(c.tar);
    EXPECT_TRUE(refused(listing(c.tar), c.name, c.why));
  }
  EXPECT_EQ(listing(member({.name = "./", .type = '5'})),
            "0 dir ."s + kCommon + "\n");
}

TEST(TarReader, ErrorsNameTheEntryEscapedAndWhereItIs) {
  const std::string tar =
      member({.name = "fine"}, "1") + member({.name = "../\x1B[31m\n"});

  EXPECT_EQ(listing_every_way(tar),
            file_line(0, "fine", "1") +
                "read tar on '../\\x1b[31m\\n': the name leaves the root "
                "(entry 1, at byte 1024)\n");
}

TEST(TarReader, ATruncatedBodyIsItsEntrysFault) {
  const std::string tar = member({.name = "whole"}, "1") +
                          member({.name = "cut"}, std::string(2000, 'x'));
  const std::string cut = tar.substr(0, 2048);

  EXPECT_TRUE(refused(listing_every_way(cut), "cut",
                      "the archive ends early (entry 1, at byte 1024)"));
  RingSlices slices(cut, 512);
  TarReader reader(slices);
  ASSERT_TRUE(reader.next());
  ASSERT_TRUE(reader.next());
  auto skipped = reader.next();
  ASSERT_FALSE(skipped);
  EXPECT_EQ(skipped.error().subject, "cut");
  EXPECT_EQ(reader.next().error(), skipped.error()) << "and stays so";
  EXPECT_EQ(reader.next_body().error(), skipped.error());
}

TEST(TarReader, HugeSizesAreOnlyClaims) {
  std::string huge = header_block({.name = "huge"});
  huge.replace(124, 12, "\x80\0\0\0\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF"s);

  EXPECT_TRUE(
      refused(listing_every_way(with_checksum(huge)), "huge", "ends early"));
  EXPECT_TRUE(
      refused(listing_every_way(pax_member({{"size", "9223372036854775807"}}) +
                                member({.name = "huge"})),
              "huge", "ends early"));
}

TEST(TarReader, KeepsToItsLimits) {
  const std::string tar = member({.name = "a"}, "12345") +
                          member({.name = "b"}, "1") + end_marker();

  EXPECT_TRUE(refused(listing(tar, {.entries = 1}), "b", "too many entries"));
  std::string large = listing(tar, {.file_bytes = 4});
  EXPECT_TRUE(refused(large, "a", "larger than allowed"));
  EXPECT_NE(large.find("EFBIG"), std::string::npos);
  EXPECT_EQ(listing(tar, {.file_bytes = 5, .entries = 2}), listing(tar));
}

TEST(TarReader, RefusesAHeaderThatWasChanged) {
  std::string tar = member({.name = "a"}, "1") + member({.name = "bad"}, "2");
  tar[1024 + 1] = 'A';

  EXPECT_TRUE(refused(listing_every_way(tar), "bAd", "checksum"));
}

TEST(TarReader, JoinsPrefixAndName) {
  std::string header = header_block({.name = "leaf", .size = 1});
  header.replace(345, 7, "pre/fix");
  const std::string tar = with_checksum(header) + test::padded("1");

  EXPECT_EQ(listing_every_way(tar), file_line(0, "pre/fix/leaf", "1"));
}

TEST(TarReader, SlicesBodiesWithoutCopying) {
  const std::string tar =
      member({.name = "a"}, "12345") + member({.name = "b/./c"}, "67");
  MemorySlices slices(bytes_of(tar));
  TarReader reader(slices);

  auto first = reader.next();
  auto body = reader.next_body();
  auto second = reader.next();

  ASSERT_TRUE(first && body && second);
  EXPECT_EQ((*first)->path.data(), tar.data());
  EXPECT_EQ(text_of((*body)->slice.bytes).data(), tar.data() + 512);
  EXPECT_EQ((*first)->text, nullptr);
  EXPECT_NE((*second)->text, nullptr) << "this one had to be cleaned";
}

TEST(TarReader, EntriesOutliveTheirSlabs) {
  const std::string body(3000, 'b');
  std::string tar;
  for (int i = 0; i < 3; ++i) {
    tar += pax_member({{"SCHILY.xattr.user.n", "value " + std::to_string(i)}}) +
           member({.name = "file" + std::to_string(i)}, body);
  }
  RingSlices slices(tar, 8192);
  TarReader reader(slices);
  std::vector<TarEntry> kept;

  while (true) {
    auto entry = reader.next();
    ASSERT_TRUE(entry) << entry.error().message();
    if (!*entry) {
      break;
    }
    kept.push_back(**std::move(entry));
  }

  ASSERT_EQ(kept.size(), 3U);
  EXPECT_EQ(kept[0].path, "file0");
  EXPECT_EQ(kept[2].xattrs[0].value, "value 2");
}

TEST(TarReader, HandsOnTheErrorOfItsStream) {
  test::PiecewiseSource source("", 1);
  source.fail_at_end(make_error(EIO, "read", "layer"));
  SlabRing ring(4, 4096);
  DecodeStream stream(source, ring, {});

  EXPECT_EQ(listing(stream), "read on 'layer': Input/output error (EIO)\n");
}

}  // namespace
}  // namespace lamina::archive
