#include "copy/link_tracker.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace lamina::copy {
namespace {

class LinkTrackerOf : public testing::Test {
 protected:
  static InodeKey key(ino_t inode, dev_t device = 1) { return {device, inode}; }
  // The first name of an inode with `links` names, made as `name`.
  void make_first(InodeKey inode, std::uint64_t links, const char* name) {
    ASSERT_FALSE(tracker_.claim(inode, links));
    tracker_.publish(inode, dir_, name);
  }

  LinkTracker tracker_;
  std::shared_ptr<Dir> dir_ = std::make_shared<Dir>(nullptr, "");
};

TEST_F(LinkTrackerOf, NothingKnowsNothing) {
  EXPECT_TRUE(tracker_.empty());
  EXPECT_FALSE(tracker_.find(key(1)));
  EXPECT_EQ(tracker_.size(), 0U);
}

TEST_F(LinkTrackerOf, AKnownInodeGivesThePlaceOfItsFirstName) {
  make_first(key(7), 3, "first");

  const auto found = tracker_.find(key(7));
  const auto claimed = tracker_.claim(key(7), 3);

  ASSERT_TRUE(found);
  EXPECT_EQ(found->dir, dir_);
  EXPECT_EQ(found->name, "first");
  ASSERT_TRUE(claimed);
  EXPECT_EQ(claimed->name, "first");
}

TEST_F(LinkTrackerOf, AnInodeIsForgottenWithItsLastName) {
  make_first(key(7), 3, "first");
  EXPECT_EQ(tracker_.size(), 1U);

  EXPECT_TRUE(tracker_.find(key(7)));
  EXPECT_TRUE(tracker_.find(key(7)));

  EXPECT_TRUE(tracker_.empty());
  EXPECT_FALSE(tracker_.find(key(7)));
  EXPECT_EQ(dir_.use_count(), 1) << "the directory is still held";
}

TEST_F(LinkTrackerOf, OneInodeNumberOnTwoDevicesAreTwoInodes) {
  make_first(key(7, 1), 2, "one");
  EXPECT_FALSE(tracker_.find(key(7, 2)));
  make_first(key(7, 2), 2, "two");

  EXPECT_EQ(tracker_.find(key(7, 1))->name, "one");
  EXPECT_EQ(tracker_.find(key(7, 2))->name, "two");
}

TEST_F(LinkTrackerOf, AnAbandonedInodeIsClaimedAnew) {
  ASSERT_FALSE(tracker_.claim(key(7), 3));

  tracker_.abandon(key(7));

  EXPECT_TRUE(tracker_.empty());
  EXPECT_FALSE(tracker_.claim(key(7), 3));
}

TEST_F(LinkTrackerOf, AFullInodeIsReplacedForTheNamesToCome) {
  make_first(key(7), 4, "first");
  const auto place = tracker_.find(key(7));
  ASSERT_TRUE(place);

  EXPECT_FALSE(tracker_.renew(key(7), *place));
  tracker_.publish(key(7), dir_, "second");

  EXPECT_EQ(tracker_.find(key(7))->name, "second");
}

TEST_F(LinkTrackerOf, AFullInodeIsReplacedOnlyOnce) {
  make_first(key(7), 5, "first");
  const auto one = tracker_.find(key(7));
  const auto two = tracker_.find(key(7));
  ASSERT_TRUE(one && two);
  ASSERT_FALSE(tracker_.renew(key(7), *one));
  tracker_.publish(key(7), dir_, "second");

  const auto renewed = tracker_.renew(key(7), *two);

  ASSERT_TRUE(renewed);
  EXPECT_EQ(renewed->name, "second");
}

TEST_F(LinkTrackerOf, AFullInodeAtItsLastNameIsForgottenAtOnce) {
  make_first(key(7), 2, "first");
  const auto place = tracker_.find(key(7));
  ASSERT_TRUE(place);

  EXPECT_FALSE(tracker_.renew(key(7), *place));
  tracker_.publish(key(7), dir_, "second");

  EXPECT_TRUE(tracker_.empty());
}

TEST_F(LinkTrackerOf, ManyInodesAreAllFoundAndAllForgotten) {
  constexpr ino_t kInodes = 5000;
  // Inode numbers as they come in practice: in runs, with gaps and wide apart.
  auto number = [](ino_t i) {
    return i * 7 + (i % 3 == 0 ? ino_t{1} << 40 : 1);
  };
  for (ino_t i = 0; i < kInodes; ++i)
    make_first(key(number(i), i % 4), 3, std::to_string(i).c_str());
  EXPECT_EQ(tracker_.size(), kInodes);

  for (int round = 0; round < 2; ++round) {
    for (ino_t i = kInodes; i-- > 0;) {
      const auto place = tracker_.find(key(number(i), i % 4));
      ASSERT_TRUE(place) << i;
      ASSERT_EQ(place->name, std::to_string(i));
    }
  }

  EXPECT_TRUE(tracker_.empty());
}

TEST_F(LinkTrackerOf, InodesComeAndGoWithoutEnd) {
  // A window of inodes slides: names die and are compacted, slots are erased.
  constexpr ino_t kWindow = 200;
  for (ino_t i = 1; i < 20'000; ++i) {
    make_first(key(i), 2, ("name" + std::to_string(i)).c_str());
    if (i > kWindow) {
      const auto place = tracker_.find(key(i - kWindow));
      ASSERT_TRUE(place);
      ASSERT_EQ(place->name, "name" + std::to_string(i - kWindow));
    }
  }

  EXPECT_EQ(tracker_.size(), kWindow);
  EXPECT_LT(tracker_.bytes(), 64U * 1024);
}

TEST_F(LinkTrackerOf, AMillionInodesTakeFortyEightBytesEachAndTheirNames) {
  constexpr std::size_t kInodes = 1'000'000;
  constexpr std::size_t kName = 6;
  std::size_t most = 0;
  for (std::size_t i = 1; i <= kInodes; ++i) {
    ASSERT_FALSE(tracker_.claim(key(i), 2));
    tracker_.publish(key(i), dir_, "n12345");
    if (i % 100'000 == 0)
      most = std::max(most, (tracker_.bytes() - (kName + 1) * i) / i);
  }

  // Names are kept in one string, which has room to grow.
  EXPECT_LE(most, 48U + kName + 1);
  EXPECT_LE(tracker_.bytes(), kInodes * (48 + 2 * (kName + 1)));
}

TEST_F(LinkTrackerOf, AWaiterGetsThePlaceOnceItIsPublished) {
  ASSERT_FALSE(tracker_.claim(key(7), 5));
  std::atomic<int> got{0};
  std::vector<std::thread> waiters;
  for (int i = 0; i < 4; ++i) {
    waiters.emplace_back([&] {
      const auto place = tracker_.claim(key(7), 5);
      got += place && place->name == "first" ? 1 : 0;
    });
  }

  tracker_.publish(key(7), dir_, "first");
  for (std::thread& waiter : waiters)
    waiter.join();

  EXPECT_EQ(got, 4);
  EXPECT_TRUE(tracker_.empty());
}

TEST_F(LinkTrackerOf, AWaiterClaimsWhatWasAbandoned) {
  ASSERT_FALSE(tracker_.claim(key(7), 3));
  std::atomic<int> firsts{0};
  std::atomic<int> seconds{0};
  std::vector<std::thread> waiters;
  for (int i = 0; i < 2; ++i) {
    waiters.emplace_back([&] {
      if (tracker_.claim(key(7), 3)) {
        ++seconds;
      } else {
        ++firsts;
        tracker_.publish(key(7), dir_, "again");
      }
    });
  }

  tracker_.abandon(key(7));
  for (std::thread& waiter : waiters)
    waiter.join();

  EXPECT_EQ(firsts, 1);
  EXPECT_EQ(seconds, 1);
}

TEST_F(LinkTrackerOf, OfManyThreadsOneMakesEachInode) {
  constexpr ino_t kInodes = 500;
  constexpr int kThreads = 4;
  std::atomic<int> firsts{0};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (ino_t i = 1; i <= kInodes; ++i) {
        const std::string name = std::to_string(i);
        const auto place = tracker_.claim(key(i), kThreads);
        if (!place) {
          ++firsts;
          tracker_.publish(key(i), dir_, name);
        } else if (place->name != name) {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();

  EXPECT_EQ(firsts, static_cast<int>(kInodes));
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(tracker_.empty());
}

}  // namespace
}  // namespace lamina::copy
