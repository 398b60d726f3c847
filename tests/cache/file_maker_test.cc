#include "cache/file_maker.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "tests/cache/caching.h"

namespace lamina::cache {
namespace {

using test::directory;
using test::TempDir;

TEST(FileMaker, GivesBytesModeAndTime) {
  const TempDir temp;
  test::write(temp.path("in"), std::string(300'000, 'q'));
  Fd dir = directory(temp.path());
  Fd source(::open(temp.path("in").c_str(), O_RDONLY | O_CLOEXEC));
  FileMaker maker;

  auto made = maker.make(source, dir.get(), "out", {0750, -1});

  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(*made, 300'000U);
  EXPECT_EQ(test::read(temp.path("out")), std::string(300'000, 'q'));
  struct stat stat {};
  ASSERT_EQ(::stat(temp.path("out").c_str(), &stat), 0);
  EXPECT_EQ(stat.st_mode & 07777U, 0750U);
  EXPECT_EQ(stat.st_mtim.tv_sec, -1);
  EXPECT_EQ(stat.st_mtim.tv_nsec, 999'999'999);
}

TEST(FileMaker, LeavesNothingWhenItFails) {
  const TempDir temp;
  Fd dir = directory(temp.path());
  FileMaker maker;

  // A directory has no bytes to copy.
  auto made = maker.make(dir, dir.get(), "out", {});

  EXPECT_FALSE(made);
  EXPECT_NE(::access(temp.path("out").c_str(), F_OK), 0);
}

TEST(Settle, WaitsUntilTheWriterIsGone) {
  const TempDir temp;
  test::write(temp.path("tool"), "#!/bin/sh\n");
  Fd dir = directory(temp.path());
  int writer = ::open(temp.path("tool").c_str(), O_WRONLY | O_CLOEXEC);
  std::thread closes([writer] {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    ::close(writer);
  });
  auto begun = std::chrono::steady_clock::now();

  auto settled = settle(dir.get(), "tool");

  EXPECT_TRUE(settled) << settled.error().message();
  EXPECT_GE(std::chrono::steady_clock::now() - begun,
            std::chrono::milliseconds(50));
  closes.join();
}

TEST(Settle, ReturnsAtOnceWhereNobodyWrites) {
  const TempDir temp;
  test::write(temp.path("tool"), "#!/bin/sh\n");
  Fd reader(::open(temp.path("tool").c_str(), O_RDONLY | O_CLOEXEC));
  auto begun = std::chrono::steady_clock::now();

  EXPECT_TRUE(settle(directory(temp.path()).get(), "tool"));

  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(2));
}

}  // namespace
}  // namespace lamina::cache
