#include "tests/support/fixtures.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/descriptor.h"
#include "tests/support/program.h"

namespace lamina::test {
namespace {

TEST(OpenDescriptors, ShowsALeakAndItsTarget) {
  const auto before = open_descriptors();
  const Descriptor leak(::open("/dev/null", O_RDONLY | O_CLOEXEC));

  auto after = open_descriptors();

  EXPECT_EQ(after.size(), before.size() + 1);
  const std::string line = std::to_string(leak.get()) + " -> /dev/null";
  EXPECT_NE(std::find(after.begin(), after.end(), line), after.end());
}

TEST(ThreadCount, CountsAThread) {
  const std::size_t before = thread_count();
  std::size_t inside = 0;

  std::thread([&] { inside = thread_count(); }).join();

  EXPECT_EQ(inside, before + 1);
}

TEST(OrdinaryUser, HasNoRightsOfRoot) {
  if (!may_become_other_users())
    GTEST_SKIP() << "needs root";

  const std::string who = as_ordinary_user([] {
    const bool reads = ::access("/etc/shadow", R_OK) == 0;
    return std::to_string(::geteuid()) + (reads ? " reads" : " refused");
  });

  EXPECT_EQ(who, "65534 refused");
}

TEST(OrdinaryUser, ReportsItsDeath) {
  if (!may_become_other_users())
    GTEST_SKIP() << "needs root";

  EXPECT_EQ(as_ordinary_user([]() -> std::string {
              ::raise(SIGKILL);
              return "";
            }),
            "signal 9");
  EXPECT_EQ(as_ordinary_user(
                []() -> std::string { throw std::runtime_error("why"); }),
            "exception: why");
}

TEST(UmaskScope, PutsTheOldOneBack) {
  const mode_t before = ::umask(022);
  { const UmaskScope scope(077); }

  EXPECT_EQ(::umask(before), 022U);
}

TEST(LimitScope, LowersAndPutsBack) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit inside{};

  {
    const LimitScope scope(RLIMIT_NOFILE, 17);
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &inside), 0);
  }

  rlimit after{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(inside.rlim_cur, 17U);
  EXPECT_EQ(after.rlim_cur, before.rlim_cur);
}

TEST(RunProgram, KeepsBothOutputsAndTheStatus) {
  const Ran ran = run_program({"sh", "-c", "echo out; echo err >&2; exit 3"});

  EXPECT_EQ(ran.out, "out\n");
  EXPECT_EQ(ran.err, "err\n");
  EXPECT_EQ(ran.status, 3);
}

TEST(RunProgram, IsNotFooledByMuchOutput) {
  const Ran ran = run_program(
      {"sh", "-c", "head -c 1000000 /dev/zero >&2; head -c 1000000 /dev/zero"});

  EXPECT_EQ(ran.out.size(), 1000000U);
  EXPECT_EQ(ran.err.size(), 1000000U);
}

TEST(RunProgram, SaysWhenThereIsNone) {
  EXPECT_THROW(run_program({"lamina-no-such-program"}), SupportError);
  EXPECT_FALSE(has_program("lamina-no-such-program"));
  EXPECT_TRUE(has_program("sh"));
}

}  // namespace
}  // namespace lamina::test
