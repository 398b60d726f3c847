#include "copy/open_dirs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <thread>
#include <vector>

#include "tests/copy/copying.h"
#include "tests/support/fixtures.h"

namespace lamina::test {
namespace {

using copy::Dir;
using copy::OpenDirs;
using copy::SharedFd;
using copy::Side;

constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

// A source and a target of three directories, one in the other: a/b/c.
class OpenDirsOf : public testing::Test {
 protected:
  OpenDirsOf() {
    make_tree(temp_.fd(), "dir src/a/b/c\ndir dst/a/b/c\n");
    enter(*root_);
    enter(*a_);
    enter(*b_);
  }

  std::string place(const Dir& dir, Side side) const {
    const std::string path = dir.path();
    return temp_.path(side == Side::source ? "src" : "dst") +
           (path.empty() ? "" : "/" + path);
  }

  // Opens both sides, as a visitor does that enters.
  void enter(Dir& dir) {
    for (const Side side : {Side::source, Side::target}) {
      Fd fd(::open(place(dir, side).c_str(), kFlags));
      ASSERT_TRUE(fd.valid());
      if (side == Side::source) {
        ASSERT_EQ(::fstat(fd.get(), &dir.stat), 0);
      }
      open_.put(dir, side, std::move(fd));
    }
  }

  void expect_found(Dir& dir, Side side) {
    const auto fd = open_.get(dir, side);
    ASSERT_EQ(error_of(fd), "");
    struct stat stat {};
    ASSERT_EQ(::fstat((*fd)->get(), &stat), 0);
    EXPECT_EQ(stat.st_ino, stat_of(place(dir, side)).st_ino);
  }

  TempDir temp_;
  FaultyKernel kernel_;
  OpenDirs open_{kernel_};
  std::shared_ptr<Dir> root_ = std::make_shared<Dir>(nullptr, "");
  std::shared_ptr<Dir> a_ = std::make_shared<Dir>(root_, "a");
  std::shared_ptr<Dir> b_ = std::make_shared<Dir>(a_, "b");
};

TEST_F(OpenDirsOf, WhatIsOpenIsGivenAsItIs) {
  const auto one = open_.get(*b_, Side::source);
  const auto two = open_.get(*b_, Side::source);

  ASSERT_TRUE(one && two);
  EXPECT_EQ(*one, *two);
  EXPECT_NE(*one, *open_.get(*b_, Side::target));
  EXPECT_EQ(kernel_.calls(), 0U);
}

TEST_F(OpenDirsOf, WhatIsForgottenIsClosed) {
  const auto before = open_descriptors().size();

  open_.forget(*b_);
  open_.forget(*b_);

  EXPECT_EQ(open_descriptors().size(), before - 2);
}

TEST_F(OpenDirsOf, WhatSomebodyStillUsesIsClosedWhenHeIsDone) {
  const auto before = open_descriptors().size();
  {
    const SharedFd held = *open_.get(*b_, Side::source);
    open_.forget(*b_);
    EXPECT_EQ(::fcntl(held->get(), F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(open_descriptors().size(), before - 1);
  }

  EXPECT_EQ(open_descriptors().size(), before - 2);
}

TEST_F(OpenDirsOf, WhatWasClosedIsFoundAgainFromTheNearestThatIsOpen) {
  ASSERT_TRUE(open_.remember(*a_));
  ASSERT_TRUE(open_.remember(*b_));
  open_.forget(*a_);
  open_.forget(*b_);

  expect_found(*b_, Side::source);
  expect_found(*b_, Side::target);
  expect_found(*a_, Side::target);
}

TEST_F(OpenDirsOf, ParentsAreFoundThroughTheirChild) {
  ASSERT_TRUE(open_.remember(*a_));
  open_.forget(*a_);

  open_.reopen_parent(*b_);

  EXPECT_EQ(kernel_.count(Op::openat, "src/a/b/.."), 1U);
  const std::size_t calls = kernel_.calls();
  expect_found(*a_, Side::source);
  expect_found(*a_, Side::target);
  EXPECT_EQ(kernel_.calls(), calls);
}

TEST_F(OpenDirsOf, ADirectoryInPlaceOfAnotherIsRefused) {
  open_.forget(*b_);
  ASSERT_EQ(
      ::rename(place(*b_, Side::source).c_str(), temp_.path("away").c_str()),
      0);
  ASSERT_EQ(::mkdir(place(*b_, Side::source).c_str(), 0755), 0);

  EXPECT_EQ(error_of(open_.get(*b_, Side::source)),
            "openat on 'a/b': another directory took its place: Stale file "
            "handle (ESTALE)");
}

TEST_F(OpenDirsOf, ALinkInPlaceOfADirectoryIsNotFollowed) {
  open_.forget(*a_);
  open_.forget(*b_);
  ASSERT_EQ(
      ::rename(place(*a_, Side::source).c_str(), temp_.path("away").c_str()),
      0);
  ASSERT_EQ(
      ::symlink(temp_.path("away").c_str(), place(*a_, Side::source).c_str()),
      0);

  EXPECT_EQ(code_of(open_.get(*b_, Side::source)), ENOTDIR);
}

TEST_F(OpenDirsOf, AParentThatIsAnotherNowIsNotTaken) {
  open_.forget(*a_);
  ASSERT_EQ(::mkdir(temp_.path("src/other").c_str(), 0755), 0);
  ASSERT_EQ(::rename(place(*b_, Side::source).c_str(),
                     temp_.path("src/other/b").c_str()),
            0);

  open_.reopen_parent(*b_);

  expect_found(*a_, Side::source);
}

TEST_F(OpenDirsOf, AFailureToFindOneAgainNamesIt) {
  open_.forget(*a_);
  open_.forget(*b_);
  kernel_.on(Op::openat, "src/a").fails(EMFILE);

  EXPECT_EQ(error_of(open_.get(*b_, Side::source)),
            "openat on 'a': Too many open files (EMFILE)");
}

TEST_F(OpenDirsOf, ManyThreadsFindTheSame) {
  ASSERT_TRUE(open_.remember(*a_));
  ASSERT_TRUE(open_.remember(*b_));
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      Dir& mine = thread % 2 == 0 ? *a_ : *b_;
      const Side side = thread < 2 ? Side::source : Side::target;
      for (int i = 0; i < 200; ++i) {
        failed += open_.get(mine, side) ? 0 : 1;
        if (i % 5 == thread)
          open_.forget(mine);
        open_.reopen_parent(*b_);
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();

  EXPECT_EQ(failed, 0);
}

TEST(OpenDirs, CloseEverythingAtTheEnd) {
  const TempDir temp;
  const auto before = open_descriptors();
  {
    OpenDirs open(real_kernel());
    auto root = std::make_shared<Dir>(nullptr, "");
    for (int i = 0; i < 10; ++i) {
      Dir dir(root, "d");
      open.put(*root, Side::source, Fd(::open(temp.path().c_str(), kFlags)));
    }
  }

  EXPECT_EQ(open_descriptors(), before);
}

TEST(OpenDirs, CloseWhatSomebodyRemembersAtTheEnd) {
  const TempDir temp;
  const auto before = open_descriptors();
  auto root = std::make_shared<Dir>(nullptr, "");
  auto dir = std::make_shared<Dir>(root, "d");
  {
    OpenDirs open(real_kernel());
    open.put(*root, Side::source, Fd(::open(temp.path().c_str(), kFlags)));
    open.put(*dir, Side::target, Fd(::open(temp.path().c_str(), kFlags)));
    ASSERT_EQ(open_descriptors().size(), before.size() + 2);
  }

  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace lamina::test
