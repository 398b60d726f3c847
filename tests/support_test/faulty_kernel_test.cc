#include "tests/support/faulty_kernel.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace lamina::test {
namespace {

constexpr int kMake = O_RDWR | O_CREAT | O_CLOEXEC;

TEST(FaultyKernel, PassesOnWhatNobodySpokeOf) {
  const TempDir temp;
  FaultyKernel kernel;

  const int fd = kernel.openat(temp.fd(), "a", kMake, 0600);
  ASSERT_EQ(kernel.write(fd, "abc", 3), 3);
  ASSERT_EQ(kernel.close(fd), 0);

  struct stat stat {};
  ASSERT_EQ(kernel.fstatat(temp.fd(), "a", &stat, 0), 0);
  EXPECT_EQ(stat.st_size, 3);
  EXPECT_EQ(kernel.faults(), 0U);
}

TEST(FaultyKernel, FailsTheCallItWasToldTo) {
  const TempDir temp;
  FaultyKernel kernel;
  kernel.on(Op::mkdirat).call(2).fails(ENOSPC);

  EXPECT_EQ(kernel.mkdirat(temp.fd(), "a", 0700), 0);
  EXPECT_EQ(kernel.mkdirat(temp.fd(), "b", 0700), -1);
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_EQ(kernel.mkdirat(temp.fd(), "c", 0700), 0);
  EXPECT_EQ(kernel.faults(), 1U);
}

TEST(FaultyKernel, KnowsNamesByWholeComponents) {
  const TempDir temp;
  FaultyKernel kernel;
  kernel.on(Op::mkdirat, "a/b").fails(EACCES);

  EXPECT_EQ(kernel.mkdirat(temp.fd(), "b", 0700), 0);
  EXPECT_EQ(kernel.mkdirat(temp.fd(), "xa", 0700), 0);
  EXPECT_EQ(kernel.mkdirat(temp.fd(), "xa/b", 0700), 0);
  EXPECT_EQ(kernel.mkdirat(temp.fd(), "a", 0700), 0);
  EXPECT_EQ(kernel.mkdirat(temp.fd(), "a/b", 0700), -1);
}

TEST(FaultyKernel, ShortensWhatIsReadAndWritten) {
  const TempDir temp;
  FaultyKernel kernel;
  kernel.on(Op::pwrite).gives_at_most(2);
  kernel.on(Op::pread).gives_at_most(1);
  std::array<char, 8> buffer{};

  const int fd = kernel.openat(temp.fd(), "a", kMake, 0600);

  EXPECT_EQ(kernel.pwrite(fd, "abc", 3, 0), 2);
  EXPECT_EQ(kernel.pread(fd, buffer.data(), buffer.size(), 0), 1);
  EXPECT_EQ(kernel.close(fd), 0);
}

TEST(FaultyKernel, ClosesEvenWhenClosingFails) {
  const TempDir temp;
  FaultyKernel kernel;
  kernel.on(Op::close).fails(EIO);

  const int fd = kernel.openat(temp.fd(), "a", kMake, 0600);

  EXPECT_EQ(kernel.close(fd), -1);
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
}

TEST(FaultyKernel, RunsAndShowsWhatItWasGiven) {
  const TempDir temp;
  FaultyKernel kernel;
  int ran = 0;
  kernel.on(Op::fstat).from(2).first([&] { ++ran; });
  kernel.on(Op::fstat).shows([](struct stat& stat) { stat.st_size = 77; });
  struct stat stat {};

  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(kernel.fstat(temp.fd(), &stat), 0);

  EXPECT_EQ(stat.st_size, 77);
  EXPECT_EQ(ran, 2);
}

TEST(FaultyKernel, LetsTheNewestRuleDecide) {
  const TempDir temp;
  FaultyKernel kernel;
  kernel.on(Op::mkdirat).fails(EIO);
  kernel.on(Op::mkdirat, "b").fails(EACCES);

  EXPECT_EQ(kernel.mkdirat(temp.fd(), "b", 0700), -1);
  EXPECT_EQ(errno, EACCES);
  EXPECT_EQ(kernel.mkdirat(temp.fd(), "c", 0700), -1);
  EXPECT_EQ(errno, EIO);
}

TEST(FaultyKernel, RemembersCallsByNameAndOrder) {
  const TempDir temp;
  FaultyKernel kernel;

  const int fd = kernel.openat(temp.fd(), "a", kMake, 0600);
  kernel.fchmod(fd, 0644);
  kernel.close(fd);
  kernel.linkat(temp.fd(), "a", temp.fd(), "b");

  EXPECT_EQ(kernel.trace("a"), "create fchmod close ");
  EXPECT_EQ(kernel.trace("b"), "linkat ");
  EXPECT_EQ(kernel.calls("a"), 3U);
  EXPECT_EQ(kernel.count(Op::fchmod), 1U);
}

TEST(FaultyKernel, CountsWhatManyThreadsCall) {
  const TempDir temp;
  FaultyKernel kernel;
  kernel.on(Op::fstat).call(100).fails(EIO);
  std::atomic<int> failed{0};

  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      struct stat stat {};
      for (int j = 0; j < 100; ++j)
        failed += kernel.fstat(temp.fd(), &stat) != 0 ? 1 : 0;
    });
  }
  for (std::thread& thread : threads)
    thread.join();

  EXPECT_EQ(failed, 1);
  EXPECT_EQ(kernel.count(Op::fstat), 400U);
}

}  // namespace
}  // namespace lamina::test
