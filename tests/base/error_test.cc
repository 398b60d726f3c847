#include "base/error.h"

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

namespace lamina {
namespace {

TEST(Error, SaysWhichCallOnWhatAndWhy) {
  EXPECT_EQ(make_error(EXDEV, "ioctl(FICLONE)", "usr/bin/env").message(),
            "ioctl(FICLONE) on 'usr/bin/env': Invalid cross-device link "
            "(EXDEV)");
}

TEST(Error, SaysItInWordsWhereAnErrnoIsTooLittle) {
  EXPECT_EQ(make_error(ESTALE, "copy", "f", "the source shrank").message(),
            "copy on 'f': the source shrank: Stale file handle (ESTALE)");
  EXPECT_EQ(make_error(0, "chmod", "f", "set-id bits left off").message(),
            "chmod on 'f': set-id bits left off");
}

TEST(Error, LeavesOutASubjectThereIsNot) {
  EXPECT_EQ(make_error(EIO, "read", "").message(),
            "read: Input/output error (EIO)");
}

TEST(Error, ShowsACodeNobodyKnows) {
  EXPECT_EQ(make_error(9999, "read", "f").message(),
            "read on 'f': Unknown error (9999)");
}

TEST(Error, IsMadeOfWhatTheLastCallLeft) {
  errno = ENOTEMPTY;

  const Error error = last_error("rmdir", "d");

  EXPECT_EQ(error, make_error(ENOTEMPTY, "rmdir", "d"));
}

struct Escaped {
  std::string_view name;
  std::string_view shown;
};

TEST(EscapeName, ShowsWhatATerminalCouldMisunderstand) {
  using namespace std::string_view_literals;
  constexpr Escaped kTable[] = {
      {"plain name", "plain name"},
      {"", ""},
      {"a\nb\tc", "a\\nb\\tc"},
      {"it's", "it\\'s"},
      {"back\\slash", "back\\\\slash"},
      {"\x1b[2J", "\\x1b[2J"},
      {"\a\r\x7f", "\\x07\\x0d\\x7f"},
      {"a\0b"sv, "a\\x00b"},
      {"\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9"},  // two bytes
      {"\xe2\x82\xac", "\xe2\x82\xac"},            // three
      {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},    // four
      {"\xc2\x9b"
       "1m",
       "\\xc2\\x9b1m"},                              // a C1 control
      {"\xc2\xa0", "\xc2\xa0"},                      // the first after them
      {"\xff\xfe", "\\xff\\xfe"},                    // never valid
      {"\x80", "\\x80"},                             // no beginning
      {"\xe2\x82", "\\xe2\\x82"},                    // cut short
      {"\xc0\xaf", "\\xc0\\xaf"},                    // overlong
      {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},           // overlong
      {"\xf0\x80\x80\xaf", "\\xf0\\x80\\x80\\xaf"},  // overlong
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // a surrogate
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // over U+10FFFF
      {"\xe2\x82"
       "a",
       "\\xe2\\x82"
       "a"},  // cut by a letter
  };
  for (const Escaped& row : kTable)
    EXPECT_EQ(escape_name(row.name), row.shown);
}

TEST(EscapeName, IsUsedForTheSubjectOfAMessage) {
  EXPECT_EQ(make_error(EIO, "read", "\x1b]0;owned\a").message(),
            "read on '\\x1b]0;owned\\x07': Input/output error (EIO)");
}

TEST(Exhaustion, IsWhatAnotherTryWouldOnlyDisguise) {
  for (const int code : {ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM})
    EXPECT_TRUE(is_exhaustion(code)) << code;
  for (const int code : {0, EIO, EACCES, EPERM, EXDEV, EINTR, EROFS, EFBIG})
    EXPECT_FALSE(is_exhaustion(code)) << code;
}

Result<int> counted(int* calls, Result<int> result) {
  ++*calls;
  return result;
}

Result<std::string> use(int* calls, const Result<int>& first,
                        const Result<int>& second) {
  TRY(counted(calls, first));
  TRY_ASSIGN(const int value, counted(calls, second));
  return std::to_string(value);
}

TEST(Try, EvaluatesOnceAndGoesOn) {
  int calls = 0;

  EXPECT_EQ(use(&calls, 1, 2), "2");

  EXPECT_EQ(calls, 2);
}

TEST(Try, ReturnsTheFirstError) {
  const Error error = make_error(EIO, "read", "f");
  int calls = 0;

  EXPECT_EQ(use(&calls, fail(error), 2).error(), error);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(use(&calls, 1, fail(error)).error(), error);
}

}  // namespace
}  // namespace lamina
