#include "cache/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "cache/root.h"
#include "tests/cache/caching.h"

namespace lamina::cache {
namespace {

using test::directory;
using test::TempDir;

TEST(NameLock, IsHeldByOneAtATime) {
  const TempDir temp;
  Fd dir = directory(temp.path());
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::vector<std::thread> threads;

  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 20; ++n) {
        auto lock = NameLock::take(dir, "k", {});
        ASSERT_TRUE(lock) << lock.error().message();
        most = std::max(most.load(), ++inside);
        std::this_thread::yield();
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }

  EXPECT_EQ(most, 1);
  EXPECT_NE(::access(temp.path("k").c_str(), F_OK), 0) << "it leaves a file";
}

TEST(NameLock, EndsWithTheProcessThatHoldsIt) {
  const TempDir temp;
  Fd dir = directory(temp.path());
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  pid_t child = ::fork();
  if (child == 0) {
    auto lock = NameLock::take(dir, "k", {});
    ssize_t told = ::write(ready[1], "x", 1);
    ::pause();
    ::_exit(lock && told == 1 ? 0 : 1);
  }
  char told = 0;
  ASSERT_EQ(::read(ready[0], &told, 1), 1);

  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  auto lock = NameLock::take(dir, "k", {});

  EXPECT_TRUE(lock) << lock.error().message();
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(NameLock, WaitsNoLongerWhenStopped) {
  const TempDir temp;
  Fd dir = directory(temp.path());
  auto held = NameLock::take(dir, "k", {});
  ASSERT_TRUE(held);
  std::stop_source stop;
  stop.request_stop();

  auto second = NameLock::take(dir, "k", stop.get_token());

  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ECANCELED);
}

TEST(NameLock, LetsGoThoughAChildSharesTheDescriptor) {
  const TempDir temp;
  Fd dir = directory(temp.path());
  pid_t child = 0;
  {
    auto lock = NameLock::take(dir, "k", {});
    ASSERT_TRUE(lock);
    child = ::fork();
    if (child == 0) {
      ::pause();
      ::_exit(0);
    }
  }
  std::stop_source stop;
  stop.request_stop();

  auto second = NameLock::take(dir, "k", stop.get_token());

  EXPECT_TRUE(second) << second.error().message();
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(Pin, KeepsOthersFromTakingTheEntryAlone) {
  const TempDir temp;
  Fd dir = directory(temp.path());
  {
    auto pin = Pin::make(dir, "1");
    ASSERT_TRUE(pin) << pin.error().message();

    EXPECT_TRUE(*Pin::take(dir, "1", Hold::shared));
    EXPECT_FALSE(*Pin::take(dir, "1", Hold::alone));
  }
  EXPECT_TRUE(*Pin::take(dir, "1", Hold::alone));
  EXPECT_FALSE(*Pin::take(dir, "2", Hold::shared)) << "it is not there";
}

}  // namespace
}  // namespace lamina::cache
