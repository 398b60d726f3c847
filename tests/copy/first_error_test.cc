#include "copy/first_error.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "copy/dir.h"

namespace lamina::copy {
namespace {

TEST(WalkOrder, IsByteOrderWithADirectoryBeforeItsChildren) {
  const std::vector<std::string> ordered = {
      "",     "\x01", "a",     "a/\x01", "a/b",  "a/b/c", "a/b.c",
      "a/bc", "a/c",  "a\x01", "a b",    "a-b",  "a.b",   "a0",
      "aa",   "b",    "b/a",   "\x7f",   "\x80", "\xff",  "\xff/a"};
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    for (std::size_t j = 0; j < ordered.size(); ++j) {
      const int order = compare_in_walk_order(ordered[i], ordered[j]);
      EXPECT_EQ(order < 0, i < j) << ordered[i] << " and " << ordered[j];
      EXPECT_EQ(order == 0, i == j) << ordered[i] << " and " << ordered[j];
    }
  }
}

class FirstErrorOf : public testing::Test {
 protected:
  std::shared_ptr<Dir> below(std::shared_ptr<Dir> parent, const char* name) {
    return std::make_shared<Dir>(std::move(parent), name);
  }

  std::string told() const {
    const auto error = errors_.get();
    return error ? error->message() : "";
  }

  FirstError errors_;
  std::shared_ptr<Dir> root_ = std::make_shared<Dir>(nullptr, "");
  std::shared_ptr<Dir> a_ = below(root_, "a");
  std::shared_ptr<Dir> ab_ = below(a_, "b");
  std::shared_ptr<Dir> z_ = below(root_, "z");
};

Error refused() {
  return make_error(EACCES, "openat", "");
}

TEST_F(FirstErrorOf, NothingWantsEverything) {
  EXPECT_FALSE(errors_.any());
  EXPECT_FALSE(errors_.ended());
  EXPECT_FALSE(errors_.get());
  EXPECT_TRUE(errors_.wants(*a_, "x"));
  EXPECT_TRUE(errors_.wants_leave(*a_));
}

TEST_F(FirstErrorOf, AnEntryGetsItsPathForASubject) {
  errors_.note(*ab_, "c", refused());

  EXPECT_EQ(told(), "openat on 'a/b/c': Permission denied (EACCES)");
}

TEST_F(FirstErrorOf, AnEntryKeepsASubjectItHas) {
  errors_.note(*ab_, "c", make_error(EACCES, "chmod", "else"));

  EXPECT_EQ(told(), "chmod on 'else': Permission denied (EACCES)");
}

TEST_F(FirstErrorOf, SeveralIsTheFirstInWalkOrderWhateverCameFirst) {
  const std::vector<std::pair<Dir*, const char*>> places = {
      {root_.get(), "a"}, {a_.get(), "b"},    {ab_.get(), "x"},
      {a_.get(), "c"},    {root_.get(), "b"}, {z_.get(), "a"}};
  std::vector<int> order = {0, 1, 2, 3, 4, 5};
  do {
    FirstError errors;
    for (const int i : order)
      errors.note(*places[static_cast<std::size_t>(i)].first,
                  places[static_cast<std::size_t>(i)].second, refused());
    ASSERT_EQ(errors.get()->subject, "a");
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(FirstErrorOf, ADirectoryThatIsLeftComesAfterAllInIt) {
  errors_.note_leave(*a_, refused());
  EXPECT_EQ(errors_.get()->subject, "a");

  EXPECT_TRUE(errors_.wants(*ab_, "x"));
  EXPECT_TRUE(errors_.wants_leave(*ab_));
  EXPECT_FALSE(errors_.wants(*root_, "b"));
  errors_.note(*ab_, "x", refused());
  EXPECT_EQ(errors_.get()->subject, "a/b/x");

  errors_.note_leave(*a_, refused());
  errors_.note_leave(*ab_, refused());
  EXPECT_EQ(errors_.get()->subject, "a/b/x");
}

TEST_F(FirstErrorOf, LeavingTheRootComesLastOfAll) {
  errors_.note_leave(*root_, make_error(EACCES, "utimensat", ""));
  EXPECT_EQ(told(), "utimensat: Permission denied (EACCES)");

  EXPECT_TRUE(errors_.wants(*z_, "\xff"));
  errors_.note(*z_, "\xff", refused());

  EXPECT_EQ(errors_.get()->subject, "z/\xff");
}

TEST_F(FirstErrorOf, WorkBeforeTheKnownOneIsStillWanted) {
  errors_.note(*a_, "m", refused());

  EXPECT_TRUE(errors_.wants(*a_, "l"));
  EXPECT_TRUE(errors_.wants(*ab_, "z"));
  EXPECT_FALSE(errors_.wants(*a_, "m"));
  EXPECT_FALSE(errors_.wants(*a_, "n"));
  EXPECT_FALSE(errors_.wants(*z_, "a"));
  // a is left after a/m, a/b before it.
  EXPECT_FALSE(errors_.wants_leave(*a_));
  EXPECT_TRUE(errors_.wants_leave(*ab_));
}

TEST_F(FirstErrorOf, AResourceThatRanOutEndsAllWork) {
  errors_.note(*a_, "m", refused());

  errors_.note(*z_, "z", make_error(ENOSPC, "write", ""));

  EXPECT_TRUE(errors_.ended());
  EXPECT_EQ(errors_.get()->subject, "z/z");
  EXPECT_FALSE(errors_.wants(*a_, "a"));
  EXPECT_FALSE(errors_.wants_leave(*ab_));
}

TEST_F(FirstErrorOf, ResourcesIsTheEarliestSeen) {
  errors_.note(*z_, "z", make_error(ENOSPC, "write", ""));

  errors_.note(*a_, "a", make_error(EMFILE, "openat", ""));
  errors_.note(*a_, "a", refused());
  errors_.note_end(make_error(ECANCELED, "walk", ""));

  EXPECT_EQ(errors_.get()->code, ENOSPC);
}

TEST_F(FirstErrorOf, ManyThreadsIsTheSame) {
  for (int round = 0; round < 20; ++round) {
    FirstError errors;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < 100; ++i) {
          const std::string name = "n" + std::to_string(100 + i * 4 + thread);
          if (errors.wants(*a_, name))
            errors.note(*a_, name, refused());
        }
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    EXPECT_EQ(errors.get()->subject, "a/n100");
  }
}

}  // namespace
}  // namespace lamina::copy
