#include "base/fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/faulty_kernel.h"

namespace lamina {
namespace {

using test::FaultyKernel;
using test::Op;

int open_something() {
  return ::open("/dev/null", O_WRONLY | O_CLOEXEC);
}

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

TEST(Fd, ClosesAtTheEndOfItsScope) {
  const int number = open_something();

  { const Fd fd(number); }

  EXPECT_FALSE(is_open(number));
}

TEST(Fd, KeepsErrnoWhenItCloses) {
  errno = ENOSPC;

  { const Fd fd(open_something()); }

  EXPECT_EQ(errno, ENOSPC);
}

TEST(Fd, KeepsErrnoEvenWhenClosingFails) {
  const int number = open_something();
  {
    const Fd fd(number);
    ::close(number);
    errno = ENOSPC;
  }

  EXPECT_EQ(errno, ENOSPC);
}

TEST(Fd, IsNothingByDefault) {
  const Fd fd;

  EXPECT_FALSE(fd.valid());
  EXPECT_EQ(fd.get(), -1);
}

TEST(Fd, MovesItsDescriptor) {
  Fd from(open_something());
  const int number = from.get();

  Fd to(std::move(from));

  EXPECT_EQ(to.get(), number);
  EXPECT_FALSE(from.valid());  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(is_open(number));
}

TEST(Fd, ClosesWhatItHeldWhenItIsAssigned) {
  Fd one(open_something());
  Fd two(open_something());
  const int gone = one.get();
  const int kept = two.get();

  one = std::move(two);

  EXPECT_FALSE(is_open(gone));
  EXPECT_EQ(one.get(), kept);
}

TEST(Fd, SurvivesBeingAssignedToItself) {
  Fd fd(open_something());
  Fd& same = fd;

  fd = std::move(same);

  EXPECT_TRUE(is_open(fd.get()));
}

TEST(Fd, GivesItsDescriptorAway) {
  int number = -1;
  {
    Fd fd(open_something());
    number = fd.release();
    EXPECT_FALSE(fd.valid());
  }

  EXPECT_TRUE(is_open(number));
  ::close(number);
}

TEST(Fd, IsClosedOnceAndNoMore) {
  FaultyKernel kernel;
  {
    Fd fd(open_something());
    ASSERT_TRUE(fd.close(kernel, "f"));
    EXPECT_FALSE(fd.valid());
  }

  EXPECT_EQ(kernel.count(Op::close), 1U);
}

TEST(Fd, ReportsALateWriteError) {
  FaultyKernel kernel;
  kernel.on(Op::close).fails(EIO);
  Fd fd(open_something());
  const int number = fd.get();

  const Result<void> closed = fd.close(kernel, "f");

  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error(), make_error(EIO, "close", "f"));
  EXPECT_FALSE(fd.valid());
  EXPECT_FALSE(is_open(number));
}

TEST(Fd, DoesNotCloseAgainAfterAnInterruption) {
  FaultyKernel kernel;
  kernel.on(Op::close).fails(EINTR);
  Fd fd(open_something());

  EXPECT_TRUE(fd.close(kernel, "f"));

  EXPECT_EQ(kernel.count(Op::close), 1U);
  EXPECT_FALSE(fd.valid());
}

}  // namespace
}  // namespace lamina
