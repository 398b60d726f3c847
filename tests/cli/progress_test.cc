#include "cli/progress.h"

#include <fcntl.h>

#include <string>

#include <gtest/gtest.h>

#include "base/kernel.h"
#include "base/path.h"
#include "cli/count_entries.h"
#include "tests/support/fixtures.h"
#include "tests/support/tree.h"

namespace lamina::cli {
namespace {

TEST(ProgressLine, ShowsShareEntriesBytesAndRate) {
  EXPECT_EQ(
      progress_line({"copying", 500, 10 * 1024 * 1024, 2000, 2.0}, 79),
      "copying  25% [#######.......................] 500 of 2,000  10.0 MiB  "
      "5.0 MiB/s");
}

TEST(ProgressLine, ShowsEntriesAloneWhileTheTotalIsUnknown) {
  EXPECT_EQ(progress_line({"locking", 500, 0, 0, 2.0}, 79),
            "locking  500 entries  250/s");
}

TEST(ProgressLine, ShowsShareAndRateOfBytes) {
  EXPECT_EQ(progress_line({"applying", 0, 10 * 1024 * 1024, 40 * 1024 * 1024,
                           2.0, Measure::bytes},
                          79),
            "applying  25% [#######.......................] 10.0 MiB of 40.0 "
            "MiB  5.0 MiB/s");
}

TEST(ProgressLine, ShowsBytesAloneWhileTheTotalIsUnknown) {
  EXPECT_EQ(
      progress_line({"applying", 0, 3 * 1024, 0, 2.0, Measure::bytes}, 79),
      "applying  3.0 KiB  1.5 KiB/s");
}

TEST(ProgressLine, IsNeverWiderThanTheTerminalNorOver100Percent) {
  for (unsigned columns = 0; columns < 200; ++columns) {
    const std::string line = progress_line(
        {"verifying", 2'000'000, uint64_t{1} << 40U, 31'502, 1.5}, columns);
    EXPECT_LE(line.size(), columns);
    EXPECT_EQ(line.find("101%"), std::string::npos);
  }
}

TEST(ProgressBar, WritesNothingAndStartsNothingWithoutATerminal) {
  const std::size_t threads = test::thread_count();
  copy::Progress progress;
  testing::internal::CaptureStderr();
  {
    ProgressBar bar("copying", progress, nullptr);
    EXPECT_EQ(test::thread_count(), threads);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(CountEntries, CountsNamesAndNotTheRoot) {
  const test::TempDir temp;
  test::make_tree(temp.path("t"), R"(
    file a/b/c   link=1
    file a/d     link=1
    symlink to-a -> a
    fifo pipe)");
  auto root = open_directory(real_kernel(), temp.path("t"));

  auto counted = count_entries(*root, copy::Crossing::allowed, {});

  ASSERT_TRUE(counted) << counted.error().message();
  EXPECT_EQ(*counted, 6U);
}

TEST(CountEntries, EndsWhenAsked) {
  const test::TempDir temp;
  test::make_tree(temp.path("t"), "file a");
  auto root = open_directory(real_kernel(), temp.path("t"));
  std::stop_source source;
  source.request_stop();

  EXPECT_FALSE(
      count_entries(*root, copy::Crossing::allowed, source.get_token()));
}

}  // namespace
}  // namespace lamina::cli
