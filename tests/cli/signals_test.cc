// In children, since a signal goes to any thread of a process. GoogleTest runs
// suites of this name first, while there is one thread to fork.
#include "cli/signals.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>

namespace lamina::cli {
namespace {

void wait_for(const StopOnSignals& signals) {
  while (!signals.token().stop_requested()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(StopOnSignalsDeathTest, AsksToStopAtTheFirstAndSaysWhich) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EXIT(
        {
          StopOnSignals signals("nothing");
          ::kill(::getpid(), signal);
          wait_for(signals);
          ::_exit(signals.signal() == signal ? 7 : 8);
        },
        testing::ExitedWithCode(7), "^$");
  }
}

TEST(StopOnSignalsDeathTest, EndsAtTheSecondAndSaysWhatIsLeft) {
  EXPECT_EXIT(
      {
        StopOnSignals signals("what was made is left in 'dst'");
        ::kill(::getpid(), SIGINT);
        wait_for(signals);
        ::kill(::getpid(), SIGTERM);
        for (;;) {
          ::pause();
        }
      },
      testing::ExitedWithCode(1),
      "^lamina: ended by a second SIGTERM: what was made is left in "
      "'dst'\n$");
}

TEST(StopOnSignalsDeathTest, LeavesAnIgnoredHangUpIgnored) {
  EXPECT_EXIT(
      {
        ::signal(SIGHUP, SIG_IGN);
        StopOnSignals signals("nothing");
        ::kill(::getpid(), SIGHUP);
        ::kill(::getpid(), SIGTERM);
        wait_for(signals);
        ::_exit(signals.signal() == SIGTERM ? 7 : 8);
      },
      testing::ExitedWithCode(7), "^$");
}

TEST(StopOnSignalsDeathTest, GivesTheSignalsBack) {
  EXPECT_EXIT(
      {
        { StopOnSignals signals("nothing"); }
        ::kill(::getpid(), SIGTERM);
        ::_exit(7);
      },
      testing::KilledBySignal(SIGTERM), "^$");
}

}  // namespace
}  // namespace lamina::cli
