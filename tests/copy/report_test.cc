#include "copy/report.h"

#include <cerrno>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace lamina::copy {
namespace {

TEST(Counters, AddATallyAndEmptyIt) {
  Counters counters;
  Tally tally;
  tally.directories = 3;
  tally.bytes_written = 1000;

  counters.add(tally);
  counters.add(tally);

  EXPECT_EQ(counters.get().directories, 3U);
  EXPECT_EQ(counters.get().bytes_written, 1000U);
  EXPECT_EQ(tally.directories, 0U);
}

// A field that add() forgets would be missing from every report.
TEST(Counters, AddEveryCount) {
  uint64_t Report::*const kCounts[] = {&Report::directories,
                                       &Report::reflinked,
                                       &Report::linked,
                                       &Report::copied_by_range,
                                       &Report::copied_by_read_write,
                                       &Report::empty_files,
                                       &Report::links_recreated,
                                       &Report::link_fallbacks,
                                       &Report::symlinks,
                                       &Report::specials,
                                       &Report::bytes_logical,
                                       &Report::bytes_written,
                                       &Report::forgiven_owners,
                                       &Report::forgiven_xattrs,
                                       &Report::forgiven_specials,
                                       &Report::forgiven_modes};
  for (const auto count : kCounts) {
    Counters counters;
    Tally tally;
    tally.*count = 7;

    counters.add(tally);

    EXPECT_EQ(counters.get().*count, 7U);
  }
}

TEST(Counters, KeepTheFirstThatWasForgiven) {
  Counters counters;
  Tally tally;
  Counters::forgive(tally, &Tally::forgiven_xattrs,
                    make_error(ENOTSUP, "setxattr(user.a)", "f"));
  Counters::forgive(tally, &Tally::forgiven_owners,
                    make_error(EPERM, "chown", "g"));
  counters.add(tally);
  Counters::forgive(tally, &Tally::forgiven_owners,
                    make_error(EPERM, "chown", "h"));
  counters.add(tally);

  const Report report = counters.get();

  EXPECT_EQ(report.forgiven_xattrs, 1U);
  EXPECT_EQ(report.forgiven_owners, 2U);
  EXPECT_EQ(report.first_forgiven,
            "setxattr(user.a) on 'f': Operation not supported (EOPNOTSUPP)");
}

TEST(Counters, LoseNothingOfManyThreads) {
  Counters counters;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        Tally tally;
        tally.symlinks = 1;
        counters.add(tally);
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();

  EXPECT_EQ(counters.get().symlinks, 4000U);
}

}  // namespace
}  // namespace lamina::copy
