#include "base/worker_pool.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <functional>
#include <latch>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "base/umask.h"
#include "tests/support/faulty_kernel.h"
#include "tests/support/fixtures.h"

namespace lamina {
namespace {

using test::FaultyKernel;
using test::Op;

constexpr dev_t kDevice = 1;

class Call final : public Task {
 public:
  explicit Call(std::function<void(Worker&)> body)
      : body_(std::move(body)) {}

  Turn run(Worker& worker) override {
    body_(worker);
    return Turn::done;
  }

 private:
  std::function<void(Worker&)> body_;
};

void submit(TaskGroup& group, std::function<void(Worker&)> body) {
  group.submit(std::make_unique<Call>(std::move(body)));
}

TEST(WorkerPool, RunsEveryTaskOnceAtAnyWidth) {
  WorkerPool pool(real_kernel());
  for (const unsigned width : {1U, 2U, 4U, 8U}) {
    TaskGroup group(pool, kDevice, width);
    std::atomic<int> ran{0};
    for (int i = 0; i < 500; ++i)
      submit(group, [&](Worker&) { ++ran; });

    group.run();

    EXPECT_EQ(ran, 500) << width;
  }
}

TEST(WorkerPool, StartsNoThreadForWidthOne) {
  const std::size_t before = test::thread_count();
  WorkerPool pool(real_kernel());
  TaskGroup group(pool, kDevice, 1);
  std::set<std::thread::id> seen;
  for (int i = 0; i < 100; ++i) {
    submit(group, [&](Worker&) {
      seen.insert(std::this_thread::get_id());
      EXPECT_FALSE(group.hungry());
    });
  }

  group.run();

  EXPECT_EQ(seen, std::set{std::this_thread::get_id()});
  EXPECT_EQ(pool.threads(), 0U);
  EXPECT_EQ(group.workers_used(), 1U);
  EXPECT_EQ(test::thread_count(), before);
}

TEST(WorkerPool, HelpsAGroupThatIsWiderThanOne) {
  WorkerPool pool(real_kernel());
  TaskGroup group(pool, kDevice, 3);
  // Nobody gets further before all three have come.
  std::latch together(3);
  for (int i = 0; i < 3; ++i)
    submit(group, [&](Worker&) { together.arrive_and_wait(); });

  group.run();

  EXPECT_EQ(group.workers_used(), 3U);
}

TEST(WorkerPool, JoinsItsThreadsAtTheEnd) {
  const std::size_t before = test::thread_count();
  {
    WorkerPool pool(real_kernel());
    TaskGroup group(pool, kDevice, 2);
    std::latch together(2);
    for (int i = 0; i < 2; ++i)
      submit(group, [&](Worker&) { together.arrive_and_wait(); });
    group.run();
    EXPECT_EQ(pool.threads(), 1U);
  }

  EXPECT_EQ(test::thread_count(), before);
}

TEST(WorkerPool, RunsWhatTasksSubmit) {
  WorkerPool pool(real_kernel());
  TaskGroup group(pool, kDevice, 4);
  std::atomic<int> ran{0};
  std::function<void(int)> spread = [&](int depth) {
    ++ran;
    for (int i = 0; depth > 0 && i < 2; ++i)
      submit(group, [&, depth](Worker&) { spread(depth - 1); });
  };
  submit(group, [&](Worker&) { spread(8); });

  group.run();

  EXPECT_EQ(ran, (1 << 9) - 1);
}

class Repeating final : public Task {
 public:
  Repeating(std::atomic<int>& turns, std::atomic<int>& overlaps)
      : turns_(turns),
        overlaps_(overlaps) {}

  Turn run(Worker& /*worker*/) override {
    if (inside_.exchange(true))
      ++overlaps_;
    ++turns_;
    inside_ = false;
    return ++mine_ < 50 ? Turn::again : Turn::done;
  }

 private:
  std::atomic<int>& turns_;
  std::atomic<int>& overlaps_;
  std::atomic<bool> inside_{false};
  int mine_ = 0;  // Unguarded on purpose: never two threads at once.
};

TEST(WorkerPool, TakesATaskUpAgainAndNeverTwiceAtOnce) {
  WorkerPool pool(real_kernel());
  TaskGroup group(pool, kDevice, 4);
  std::atomic<int> turns{0};
  std::atomic<int> overlaps{0};
  for (int i = 0; i < 20; ++i)
    group.submit(std::make_unique<Repeating>(turns, overlaps));

  group.run();

  EXPECT_EQ(turns, 20 * 50);
  EXPECT_EQ(overlaps, 0);
}

TEST(WorkerPool, TakesTheNewestTaskFirst) {
  WorkerPool pool(real_kernel());
  TaskGroup group(pool, kDevice, 1);
  std::string order;
  for (const char name : {'a', 'b', 'c'})
    submit(group, [&, name](Worker&) { order += name; });

  group.run();

  EXPECT_EQ(order, "cba");
}

TEST(WorkerPool, GivesAnExceptionToWhoeverWaits) {
  WorkerPool pool(real_kernel());
  for (const unsigned width : {1U, 4U}) {
    TaskGroup group(pool, kDevice, width);
    for (int i = 0; i < 50; ++i) {
      submit(group, [i](Worker&) {
        if (i == 25)
          throw std::runtime_error("from a task");
      });
    }

    EXPECT_THROW(group.run(), std::runtime_error) << width;
    EXPECT_NO_THROW(group.run()) << "thrown twice";
  }
}

TEST(WorkerPool, DropsWhatWasNotBegunBeforeAnException) {
  WorkerPool pool(real_kernel());
  TaskGroup group(pool, kDevice, 1);
  int ran = 0;
  for (int i = 0; i < 10; ++i)
    submit(group, [&](Worker&) { ++ran; });
  submit(group, [](Worker&) { throw std::runtime_error("first"); });

  EXPECT_THROW(group.run(), std::runtime_error);

  EXPECT_EQ(ran, 0);
}

TEST(WorkerPool, CanBeUsedAgainAfterAnException) {
  WorkerPool pool(real_kernel());
  {
    TaskGroup group(pool, kDevice, 2);
    submit(group, [](Worker&) { throw std::runtime_error("first"); });
    EXPECT_THROW(group.run(), std::runtime_error);
  }
  TaskGroup group(pool, kDevice, 2);
  bool ran = false;
  submit(group, [&](Worker&) { ran = true; });

  group.run();

  EXPECT_TRUE(ran);
}

TEST(WorkerPool, GivesItsThreadsAUmaskOfTheirOwn) {
  const test::UmaskScope scope(077);
  const bool may = [] {
    bool done = false;
    std::thread([&] { done = real_kernel().unshare_umask() == 0; }).join();
    return done;
  }();
  WorkerPool pool(real_kernel());
  TaskGroup group(pool, kDevice, 2);
  std::latch together(2);
  const auto caller = std::this_thread::get_id();
  for (int i = 0; i < 2; ++i) {
    submit(group, [&](Worker& worker) {
      together.arrive_and_wait();
      const bool own = std::this_thread::get_id() != caller && may;
      EXPECT_EQ(worker.has_own_umask, own);
      EXPECT_EQ(read_umask(), own ? 0U : 077U);
    });
  }

  group.run();

  EXPECT_EQ(read_umask(), 077U);
}

TEST(WorkerPool, SaysWhenAThreadCouldHaveNoUmaskOfItsOwn) {
  FaultyKernel kernel;
  kernel.on(Op::unshare_umask).fails(EPERM);
  WorkerPool pool(kernel);
  TaskGroup group(pool, kDevice, 2);
  std::latch together(2);
  for (int i = 0; i < 2; ++i) {
    submit(group, [&](Worker& worker) {
      together.arrive_and_wait();
      EXPECT_FALSE(worker.has_own_umask);
    });
  }

  group.run();
}

TEST(WorkerPool, WorksAloneWhereNoThreadCanBeStarted) {
  if (!test::may_become_other_users())
    GTEST_SKIP() << "needs root";

  const std::string said = test::as_ordinary_user([]() -> std::string {
    const test::LimitScope limit(RLIMIT_NPROC, 1);
    WorkerPool pool(real_kernel());
    TaskGroup group(pool, kDevice, 4);
    int ran = 0;
    for (int i = 0; i < 100; ++i)
      submit(group, [&](Worker&) { ++ran; });
    group.run();
    return std::to_string(ran) + " tasks " + std::to_string(pool.threads()) +
           " threads " + std::to_string(group.workers_used()) + " workers";
  });

  EXPECT_EQ(said, "100 tasks 0 threads 1 workers");
}

// With width 2 a helper that has all the work would otherwise never share it.
TEST(WorkerPool, IsHungryWhereTheOwnerHasRunOutOfWork) {
  WorkerPool pool(real_kernel());
  TaskGroup group(pool, kDevice, 2);
  const std::thread::id owner = std::this_thread::get_id();
  std::latch both(2);
  std::atomic<bool> asked{false};
  // Two at once; what the helper has left, the owner has to get.
  for (int i = 0; i < 2; ++i) {
    submit(group, [&](Worker&) {
      both.arrive_and_wait();
      if (std::this_thread::get_id() == owner)
        return;
      while (!group.hungry())
        std::this_thread::yield();
      asked = true;
    });
  }

  group.run();

  EXPECT_TRUE(asked);
}

TEST(WorkerPool, OfAForkedProcessHasThreadsOfItsOwn) {
  if (!test::may_become_other_users())
    GTEST_SKIP() << "needs root";
  const auto meet = []() -> std::string {
    // Returns only where two threads are at it at once.
    std::latch both(2);
    TaskGroup group(WorkerPool::shared(), kDevice, 2);
    for (int i = 0; i < 2; ++i)
      submit(group, [&](Worker&) { both.arrive_and_wait(); });
    group.run();
    return std::to_string(group.workers_used()) + " workers";
  };
  ASSERT_EQ(meet(), "2 workers");

  EXPECT_EQ(test::as_ordinary_user(meet), "2 workers");
}

TEST(UsableCpus, AreAtLeastOneAndNoMoreThanThereAre) {
  EXPECT_GE(usable_cpus(), 1U);
  EXPECT_LE(usable_cpus(), std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace
}  // namespace lamina
