// One pool for many requests: who gets how many of its threads, and when.
#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/kernel.h"
#include "base/worker_pool.h"

namespace lamina {
namespace {

class Call final : public Task {
 public:
  explicit Call(std::function<void()> body)
      : body_(std::move(body)) {}

  Turn run(Worker& /*worker*/) override {
    body_();
    return Turn::done;
  }

 private:
  std::function<void()> body_;
};

void submit(TaskGroup& group, std::function<void()> body) {
  group.submit(std::make_unique<Call>(std::move(body)));
}

// Counts how many are inside at once, and the most that ever were.
class Crowd {
 public:
  void enter_and_leave() {
    const int now = ++inside_;
    for (int most = most_;
         now > most && !most_.compare_exchange_weak(most, now);)
      continue;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    --inside_;
  }
  int most() const { return most_; }

 private:
  std::atomic<int> inside_{0};
  std::atomic<int> most_{0};
};

// Runs `groups` requests at once, each with tasks that enter the crowd of its
// device.
void run_crowds(int groups, unsigned width, std::vector<Crowd>& crowds) {
  WorkerPool pool(real_kernel());
  std::vector<std::thread> callers;
  std::latch together(groups);
  for (int i = 0; i < groups; ++i) {
    callers.emplace_back([&, i] {
      const auto device = static_cast<std::size_t>(i) % crowds.size();
      TaskGroup group(pool, device + 1, width);
      for (int task = 0; task < 40; ++task)
        submit(group, [&] { crowds[device].enter_and_leave(); });
      together.arrive_and_wait();
      group.run();
    });
  }
  for (std::thread& caller : callers)
    caller.join();
}

TEST(WorkerPoolSharing, NeverHasMoreWritersThanTheWidth) {
  for (const unsigned width : {1U, 2U, 3U, 8U}) {
    std::vector<Crowd> crowds(1);

    run_crowds(1, width, crowds);

    EXPECT_LE(crowds[0].most(), static_cast<int>(width));
  }
}

TEST(WorkerPoolSharing, BoundsTheDeviceAndNotEachRequest) {
  constexpr int kCallers = 8;
  constexpr int kWidth = 4;
  std::vector<Crowd> crowds(1);

  run_crowds(kCallers, kWidth, crowds);

  // Each caller works for itself; helpers came at most before they did.
  EXPECT_LE(crowds[0].most(), kCallers + kWidth - 1);
}

TEST(WorkerPoolSharing, BoundsEachDeviceByItself) {
  std::vector<Crowd> crowds(3);

  run_crowds(3, 2, crowds);

  for (const Crowd& crowd : crowds)
    EXPECT_LE(crowd.most(), 2);
}

TEST(WorkerPoolSharing, LetsASmallRequestPassALargeOne) {
  WorkerPool pool(real_kernel());
  std::latch blocked(3);
  std::latch release(1);
  std::thread large([&] {
    TaskGroup group(pool, 1, 3);
    for (int i = 0; i < 3; ++i) {
      submit(group, [&] {
        blocked.count_down();
        release.wait();
      });
    }
    group.run();
  });
  blocked.wait();

  // Every thread of the pool is stuck, and the device is at its width.
  TaskGroup small(pool, 1, 3);
  int ran = 0;
  for (int i = 0; i < 10; ++i)
    submit(small, [&] { ++ran; });
  small.run();

  EXPECT_EQ(ran, 10);
  release.count_down();
  large.join();
}

TEST(WorkerPoolSharing, TakesWorkFromRequestsInTurn) {
  WorkerPool pool(real_kernel());
  constexpr int kLong = 2000;
  std::atomic<int> done{0};
  std::atomic<int> done_when_late_ran{-1};
  std::latch late_ran(1);
  std::latch let_go(1);

  // Both callers are stuck in their own first task, so only helpers work.
  TaskGroup late(pool, 2, 2);
  std::latch late_stuck(1);
  submit(late, [&] {
    late_stuck.count_down();
    let_go.wait();
  });
  std::thread late_caller([&] { late.run(); });
  late_stuck.wait();
  TaskGroup early(pool, 1, 2);
  std::latch all_submitted(1);
  std::latch early_stuck(1);
  submit(early, [&] {
    early_stuck.count_down();
    let_go.wait();
  });
  std::thread early_caller([&] { early.run(); });
  early_stuck.wait();
  for (int i = 0; i < kLong; ++i) {
    submit(early, [&] {
      all_submitted.wait();
      if (++done == 10) {
        submit(late, [&] {
          done_when_late_ran = done.load();
          late_ran.count_down();
        });
      }
    });
  }
  all_submitted.count_down();
  late_ran.wait();
  let_go.count_down();
  early_caller.join();
  late_caller.join();

  EXPECT_EQ(done, kLong);
  EXPECT_LT(done_when_late_ran, kLong / 2);
}

TEST(WorkerPoolSharing, HoldsManyRequestsAtOnce) {
  WorkerPool pool(real_kernel());
  std::atomic<int> ran{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 6; ++caller) {
    callers.emplace_back([&, caller] {
      for (int round = 0; round < 30; ++round) {
        TaskGroup group(pool, static_cast<dev_t>(caller % 2),
                        static_cast<unsigned>(1 + round % 4));
        for (int task = 0; task < 20; ++task) {
          submit(group, [&] {
            ++ran;
            if (group.hungry())
              submit(group, [&] { ran += 1000; });
          });
        }
        group.run();
      }
    });
  }
  for (std::thread& caller : callers)
    caller.join();

  EXPECT_EQ(ran % 1000, 6 * 30 * 20 % 1000);
}

TEST(WorkerPoolSharing, WorksForAnOwnerThatProducesMeanwhile) {
  WorkerPool pool(real_kernel());
  TaskGroup group(pool, 1, 2, Owner::produces);
  std::latch ran(1);

  // The owner does not run the group yet, so a helper has to.
  submit(group, [&] { ran.count_down(); });
  ran.wait();
  group.run();

  EXPECT_EQ(group.waiting(), 0U);
}

TEST(WorkerPoolSharing, LetsAProducerWorkOffItsOwnQueueInOrder) {
  WorkerPool pool(real_kernel());
  TaskGroup group(pool, 1, 1, Owner::produces);
  std::string order;
  for (const char name : {'a', 'b', 'c'})
    submit(group, [&, name] { order += name; });
  EXPECT_EQ(group.waiting(), 3U);

  EXPECT_TRUE(group.help());
  EXPECT_EQ(order, "a");
  group.run();

  EXPECT_EQ(order, "abc");
  EXPECT_FALSE(group.help());
}

}  // namespace
}  // namespace lamina
