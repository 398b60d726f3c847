#include "archive/pax.h"

#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace lamina::archive {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

constexpr size_t kRuns = 100;

std::string body_of(
    const std::vector<std::pair<std::string, std::string>>& records) {
  std::string body;
  for (const auto& [key, value] : records) {
    append_pax_record(body, key, value);
  }
  return body;
}

TEST(PaxRecord, ReadsRecordsOneByOne) {
  const std::string text = "12 path=a/b\n6 k=v\n18 comment=a=b\nc \n"s;
  std::string_view body = text;

  auto first = take_pax_record(body);
  auto second = take_pax_record(body);
  auto third = take_pax_record(body);

  ASSERT_TRUE(first && second && third);
  EXPECT_EQ(first->key, "path");
  EXPECT_EQ(first->value, "a/b");
  EXPECT_EQ(second->key, "k");
  EXPECT_EQ(third->value, "a=b\nc ");
  EXPECT_EQ(body, "");
}

TEST(PaxRecord, RefusesWhatIsNotOne) {
  const std::string cases[] = {
      "0 a=b\n",
      "4 k=\n",
      "5 k=v\n",
      "7 k=v\n",
      "6 k=v",
      "6 k=v ",
      "6  k=v",
      "x k=v\n",
      "-6 k=v\n",
      "+6 k=v\n",
      " 6 k=v\n",
      "6\tk=v\n",
      "6k=v\n",
      "k=v\n",
      "6",
      "6 ",
      "6 kvv\n",
      "6 =vv\n",
      "99999999999999999999 k=v\n",
      "18446744073709551615 k=v\n",
      "1 k=v\n",
      "2 k=v\n",
      "3 k=v\n",
      "\n",
      "\0"s,
      "7 k\0=v\n"s,
      "14 path=a\0b/c\n"s,
      "15 linkpath=\0b\n"s,
      "11 uname=\0\n"s,
      "11 gname=\0\n"s,
  };

  for (const std::string& text : cases) {
    std::string_view body = text;
    EXPECT_FALSE(take_pax_record(body)) << testing::PrintToString(text);
  }
}

TEST(PaxRecord, WritesALengthThatCountsItself) {
  for (size_t size :
       {0U,   1U,   2U,   3U,   4U,     5U,     6U,     88U,
        89U,  90U,  91U,  92U,  93U,    94U,    986U,   987U,
        988U, 989U, 990U, 991U, 9'980U, 9'985U, 9'990U, 99'985U}) {
    std::string body;
    append_pax_record(body, "key", std::string(size, 'v'));
    std::string_view rest = body;
    auto record = take_pax_record(rest);

    ASSERT_TRUE(record) << size;
    EXPECT_EQ(record->key, "key");
    EXPECT_EQ(record->value.size(), size);
    EXPECT_EQ(rest, "");
  }
}

TEST(ParsePax, ReadsTheKeysThatCount) {
  const std::string body = body_of({
      {"path", "some/where"},
      {"linkpath", "else"},
      {"size", "8589934592"},
      {"uid", "3000000"},
      {"gid", "4000000000"},
      {"mtime", "1700000000.5"},
      {"atime", "-1.25"},
      {"ctime", "12"},
      {"uname", "somebody"},
      {"comment", "nothing"},
      {"SCHILY.acl.access", "user::rwx"},
      {"SCHILY.xattr.user.b", "\0=\n\xFF"s},
      {"SCHILY.xattr.security.capability", "\1\0\0\2"s},
      {"LIBARCHIVE.xattr.user.c", "dg=="},
  });

  auto got = parse_pax(body, kRuns);

  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->path, "some/where");
  EXPECT_EQ(got->linkpath, "else");
  EXPECT_EQ(got->size, 8589934592);
  EXPECT_EQ(got->uid, 3000000);
  EXPECT_EQ(got->gid, 4000000000);
  EXPECT_EQ(got->mtime->tv_nsec, 500000000);
  EXPECT_EQ(got->atime->tv_sec, -2);
  EXPECT_EQ(got->xattrs,
            (std::vector<Xattr>{{"security.capability", "\1\0\0\2"sv},
                                {"user.b", "\0=\n\xFF"sv}}));
  EXPECT_FALSE(got->sparse.any());
}

TEST(ParsePax, AnEmptyValueTakesARecordBack) {
  auto got = parse_pax(body_of({{"path", "a"},
                                {"path", ""},
                                {"size", "7"},
                                {"size", ""},
                                {"mtime", ""},
                                {"SCHILY.xattr.user.a", "1"},
                                {"SCHILY.xattr.user.a", ""},
                                {"SCHILY.xattr.user.b", ""}}),
                       kRuns);

  ASSERT_TRUE(got) << got.error().message();
  EXPECT_FALSE(got->path);
  EXPECT_FALSE(got->size);
  EXPECT_FALSE(got->mtime);
  EXPECT_TRUE(got->xattrs.empty());
}

TEST(ParsePax, TheLastOfEqualKeysCounts) {
  const std::string body = body_of({{"path", "a"},
                                    {"SCHILY.xattr.user.z", "1"},
                                    {"SCHILY.xattr.user.a", "2"},
                                    {"path", "b"},
                                    {"SCHILY.xattr.user.z", ""},
                                    {"SCHILY.xattr.user.z", "3"}});
  auto got = parse_pax(body, kRuns);

  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(got->path, "b");
  EXPECT_EQ(got->xattrs,
            (std::vector<Xattr>{{"user.a", "2"}, {"user.z", "3"}}));
}

TEST(ParsePax, RefusesBadValues) {
  const std::pair<std::string, std::string> cases[] = {
      {"size", "12x"},
      {"size", " 12"},
      {"size", "1e3"},
      {"size", "9223372036854775808"},
      {"uid", "+1"},
      {"gid", "0x10"},
      {"mtime", "yesterday"},
      {"mtime", "1.5.5"},
      {"mtime", "1.5 "},
      {"mtime", ".5"},
      {"mtime", "1.-5"},
      {"atime", "-"},
      {"ctime", "1,5"},
      {"SCHILY.xattr.", "v"},
      {"GNU.sparse.size", "x"},
      {"GNU.sparse.offset", ""},
  };

  for (const auto& record : cases) {
    EXPECT_FALSE(parse_pax(body_of({record}), kRuns))
        << record.first << "=" << record.second;
  }
}

TEST(ParsePax, TakesSparseRunsStrictlyInTurn) {
  auto runs = [](const std::vector<std::pair<std::string, std::string>>& r) {
    std::vector<std::pair<std::string, std::string>> records;
    for (const auto& [key, value] : r) {
      records.emplace_back("GNU.sparse." + key, value);
    }
    return parse_pax(body_of(records), 2);
  };

  auto good = runs({{"size", "10"},
                    {"numblocks", "2"},
                    {"offset", "0"},
                    {"numbytes", "1"},
                    {"offset", "5"},
                    {"numbytes", "2"}});
  ASSERT_TRUE(good) << good.error().message();
  EXPECT_EQ(good->sparse.runs,
            (std::vector<std::pair<int64_t, int64_t>>{{0, 1}, {5, 2}}));
  EXPECT_FALSE(runs({{"offset", "0"}, {"offset", "1"}, {"numbytes", "1"}}));
  EXPECT_FALSE(runs({{"numbytes", "1"}, {"offset", "0"}}));
  EXPECT_FALSE(runs({{"offset", "0"}}));
  EXPECT_FALSE(runs({{"offset", "0"},
                     {"numbytes", "1"},
                     {"offset", "2"},
                     {"numbytes", "1"},
                     {"offset", "4"},
                     {"numbytes", "1"}}))
      << "more than the limit";
}

TEST(PaxTime, ReadsFractionsAndTimesBefore1970) {
  const struct {
    std::string text;
    int64_t seconds;
    int64_t nanoseconds;
  } cases[] = {
      {"0", 0, 0},
      {"1700000000", 1700000000, 0},
      {"1700000000.", 1700000000, 0},
      {"1700000000.1234567891", 1700000000, 123456789},
      {"1700000000.999999999999", 1700000000, 999999999},
      {"1.5", 1, 500000000},
      {"-1.5", -2, 500000000},
      {"-1.25", -2, 750000000},
      {"-0.25", -1, 750000000},
      {"-0", 0, 0},
      {"-1", -1, 0},
      {"-1.0", -1, 0},
      {"-1.000000000999", -1, 0},
      {"9223372036854775807.999999999", std::numeric_limits<int64_t>::max(),
       999999999},
      {"-9223372036854775808", std::numeric_limits<int64_t>::min(), 0},
  };

  for (const auto& c : cases) {
    auto got = parse_pax_time(c.text);
    ASSERT_TRUE(got) << c.text;
    EXPECT_EQ(got->tv_sec, c.seconds) << c.text;
    EXPECT_EQ(got->tv_nsec, c.nanoseconds) << c.text;
  }
  EXPECT_FALSE(parse_pax_time("-9223372036854775808.5"));
  EXPECT_FALSE(parse_pax_time("9223372036854775808"));
}

TEST(PaxTime, WritesWhatItReads) {
  const struct {
    timespec time;
    std::string want;
  } cases[] = {
      {{1700000000, 0}, "1700000000"},
      {{1700000000, 500000000}, "1700000000.5"},
      {{0, 1}, "0.000000001"},
      {{-2, 750000000}, "-1.25"},
      {{-1, 750000000}, "-0.25"},
      {{-1, 0}, "-1"},
      {{std::numeric_limits<int64_t>::min(), 1},
       "-9223372036854775807.999999999"},
  };

  for (const auto& c : cases) {
    EXPECT_EQ(format_pax_time(c.time), c.want);
    auto back = parse_pax_time(c.want);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->tv_sec, c.time.tv_sec);
    EXPECT_EQ(back->tv_nsec, c.time.tv_nsec);
  }
}

}  // namespace
}  // namespace lamina::archive
