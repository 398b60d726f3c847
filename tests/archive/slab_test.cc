#include "archive/slab.h"

#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace lamina::archive {
namespace {

TEST(SlabRing, GivesOutAsManySlabsAsItHas) {
  SlabRing ring(4, 512);
  std::vector<SlabRef> held;
  std::set<const std::byte*> seen;

  for (int i = 0; i < 4; ++i) {
    held.push_back(ring.acquire());
    ASSERT_TRUE(held.back().held());
    EXPECT_EQ(held.back().memory().size(), 512U);
    seen.insert(held.back().memory().data());
  }

  EXPECT_EQ(seen.size(), 4U);
  EXPECT_EQ(ring.available(), 0U);
}

TEST(SlabRing, TakesTheSlabFreedLastFirst) {
  SlabRing ring(4, 512);
  SlabRef first = ring.acquire();
  SlabRef second = ring.acquire();
  const std::byte* warm = first.memory().data();

  second = {};
  first = {};

  EXPECT_EQ(ring.acquire().memory().data(), warm);
}

TEST(SlabRing, ASlabIsFreeWhenItsLastShareGoes) {
  SlabRing ring(4, 512);
  SlabRef one = ring.acquire();
  SlabRef copy = one;
  SlabRef moved = std::move(one);

  EXPECT_EQ(ring.available(), 3U);
  moved = {};
  EXPECT_EQ(ring.available(), 3U);
  copy = {};
  EXPECT_EQ(ring.available(), 4U);
}

TEST(SlabRing, WaitsUntilAnotherThreadSetsASlabFree) {
  SlabRing ring(4, 512);
  std::vector<SlabRef> held;
  for (int i = 0; i < 4; ++i) {
    held.push_back(ring.acquire());
  }
  std::atomic<bool> freed = false;
  std::thread consumer([&, share = held[2]]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    freed = true;
    share = {};
  });
  held[2] = {};

  SlabRef got = ring.acquire();

  EXPECT_TRUE(freed);
  EXPECT_TRUE(got.held());
  consumer.join();
}

TEST(SlabRing, CancelEndsAllWaiting) {
  SlabRing ring(4, 512);
  std::vector<SlabRef> held;
  for (int i = 0; i < 4; ++i) {
    held.push_back(ring.acquire());
  }
  std::thread impatient([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ring.cancel();
  });

  EXPECT_FALSE(ring.acquire().held());

  impatient.join();
  held.clear();
  EXPECT_FALSE(ring.acquire().held()) << "cancelled once, cancelled for good";
}

TEST(SlabRing, SharesSurviveManyThreads) {
  SlabRing ring(4, 4096);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 500; ++round) {
        SlabRef slab = ring.acquire();
        auto mark = static_cast<std::byte>(i);
        slab.memory()[0] = mark;
        std::vector<SlabRef> copies(3, slab);
        slab = {};
        wrong += copies[1].memory()[0] != mark ? 1 : 0;
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }

  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(ring.available(), 4U);
}

TEST(MemorySlices, PointIntoTheMemory) {
  const std::string text(1300, 'x');
  MemorySlices slices(bytes_of(text), 512);
  std::vector<size_t> sizes;
  const std::byte* at = bytes_of(text).data();

  while (true) {
    auto slice = slices.next();
    ASSERT_TRUE(slice);
    if (!*slice) {
      break;
    }
    EXPECT_EQ((*slice)->bytes.data(), at);
    EXPECT_FALSE((*slice)->slab.held());
    at += (*slice)->bytes.size();
    sizes.push_back((*slice)->bytes.size());
  }

  EXPECT_EQ(sizes, (std::vector<size_t>{512, 512, 276}));
  auto after = slices.next();
  ASSERT_TRUE(after);
  EXPECT_FALSE(*after);
}

}  // namespace
}  // namespace lamina::archive
