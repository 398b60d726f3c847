// Calls that the kernel lacks or a filter refuses have an older way, and both
// ways behave the same.
#include "base/kernel.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/fixtures.h"
#include "tests/support/program.h"
#include "tests/support/tree.h"

namespace lamina {
namespace {

using test::TempDir;

// A file and a symlink to it, on tmpfs, which has trusted attributes.
class KernelCalls : public testing::Test {
 protected:
  KernelCalls()
      : temp_("/dev/shm") {
    test::make_tree(temp_.fd(),
                    "file f mode=0640 text=x\nsymlink s -> f\nfifo p\n");
  }

  int fd() const { return temp_.fd(); }
  mode_t mode_of(const char* name) const {
    struct stat stat {};
    EXPECT_EQ(::fstatat(fd(), name, &stat, AT_SYMLINK_NOFOLLOW), 0);
    return stat.st_mode & 07777U;
  }

  Kernel& kernel_ = real_kernel();
  TempDir temp_;
};

TEST_F(KernelCalls, ChangeTheModeOfAName) {
  ASSERT_EQ(kernel_.fchmodat(fd(), "f", 0604), 0);
  ASSERT_EQ(kernel_.fchmodat(fd(), "p", 04600), 0);

  EXPECT_EQ(mode_of("f"), 0604U);
  EXPECT_EQ(mode_of("p"), 04600U);
}

TEST_F(KernelCalls, DoNotChangeTheModeOfWhatALinkPointsTo) {
  // Whether a symlink itself can have a mode is the file system's business.
  (void)kernel_.fchmodat(fd(), "s", 0777);

  EXPECT_EQ(mode_of("f"), 0640U);
}

TEST_F(KernelCalls, SayWhichNameIsNotThere) {
  errno = 0;
  EXPECT_EQ(kernel_.fchmodat(fd(), "none", 0600), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(kernel_.listxattrat(fd(), "none", nullptr, 0), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(kernel_.getxattrat(fd(), "none", "user.a", nullptr, 0), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(kernel_.setxattrat(fd(), "none", "user.a", "", 0), -1);
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(KernelCalls, KeepAttributesOfTheLinkItself) {
  if (!test::may_become_other_users())
    GTEST_SKIP() << "needs root";
  std::array<char, 256> buffer{};

  ASSERT_EQ(kernel_.setxattrat(fd(), "s", "trusted.link", "value", 5), 0);

  ASSERT_EQ(kernel_.listxattrat(fd(), "s", buffer.data(), buffer.size()), 13);
  EXPECT_STREQ(buffer.data(), "trusted.link");
  EXPECT_EQ(kernel_.getxattrat(fd(), "s", "trusted.link", buffer.data(),
                               buffer.size()),
            5);
  EXPECT_EQ(std::string(buffer.data(), 5), "value");
  EXPECT_EQ(::getxattr(temp_.path("f").c_str(), "trusted.link", nullptr, 0),
            -1);
}

TEST_F(KernelCalls, AnswerForAttributesAsTheManualSays) {
  if (!test::may_become_other_users())
    GTEST_SKIP() << "needs root";
  ASSERT_EQ(kernel_.setxattrat(fd(), "p", "trusted.a", "12345", 5), 0);
  std::array<char, 4> small{};

  EXPECT_EQ(kernel_.getxattrat(fd(), "p", "trusted.a", nullptr, 0), 5);
  EXPECT_EQ(kernel_.getxattrat(fd(), "p", "trusted.a", small.data(), 4), -1);
  EXPECT_EQ(errno, ERANGE);
  EXPECT_EQ(kernel_.listxattrat(fd(), "p", small.data(), 4), -1);
  EXPECT_EQ(errno, ERANGE);
  EXPECT_EQ(kernel_.getxattrat(fd(), "p", "trusted.b", nullptr, 0), -1);
  EXPECT_EQ(errno, ENODATA);
}

TEST_F(KernelCalls, ReportAMissingRightAsWhatItIs) {
  if (!test::may_become_other_users())
    GTEST_SKIP() << "needs root";

  const std::string said = test::as_ordinary_user([&]() -> std::string {
    const bool refused =
        kernel_.fchmodat(fd(), "f", 0777) == -1 && errno == EPERM &&
        kernel_.setxattrat(fd(), "f", "trusted.a", "", 0) == -1 &&
        errno == EPERM && kernel_.fchownat(fd(), "f", 0, 0) == -1 &&
        errno == EPERM;
    return refused ? "refused" : "errno " + std::to_string(errno);
  });

  EXPECT_EQ(said, "refused");
  EXPECT_EQ(mode_of("f"), 0640U);
}

TEST_F(KernelCalls, NeverFollowALastLink) {
  if (!test::may_become_other_users())
    GTEST_SKIP() << "needs root";
  const std::array<timespec, 2> times = {timespec{.tv_sec = 5, .tv_nsec = 6},
                                         timespec{.tv_sec = 7, .tv_nsec = 8}};

  ASSERT_EQ(kernel_.fchownat(fd(), "s", 11, 12), 0);
  ASSERT_EQ(kernel_.utimensat(fd(), "s", times.data()), 0);
  ASSERT_EQ(kernel_.linkat(fd(), "s", fd(), "t"), 0);

  struct stat link {};
  struct stat file {};
  struct stat second {};
  ASSERT_EQ(::fstatat(fd(), "s", &link, AT_SYMLINK_NOFOLLOW), 0);
  ASSERT_EQ(::fstatat(fd(), "f", &file, AT_SYMLINK_NOFOLLOW), 0);
  ASSERT_EQ(::fstatat(fd(), "t", &second, AT_SYMLINK_NOFOLLOW), 0);
  EXPECT_EQ(link.st_uid, 11U);
  EXPECT_EQ(link.st_mtim.tv_nsec, 8);
  EXPECT_EQ(file.st_uid, 0U);
  EXPECT_NE(file.st_mtim.tv_sec, 7);
  EXPECT_EQ(second.st_ino, link.st_ino);
}

TEST_F(KernelCalls, GiveOneThreadAUmaskOfItsOwn) {
  const test::UmaskScope scope(027);
  int done = -1;
  int code = 0;

  std::thread([&] {
    done = kernel_.unshare_umask();
    code = errno;
    if (done == 0) {
      EXPECT_EQ(kernel_.mkdirat(fd(), "own", 0777), 0);
      EXPECT_EQ(mode_of("own"), 0777U);
    }
  }).join();

  if (done != 0) {
    EXPECT_TRUE(code == EPERM || code == ENOSYS) << code;
  }
  ASSERT_EQ(kernel_.mkdirat(fd(), "shared", 0777), 0);
  EXPECT_EQ(mode_of("shared"), 0750U);
}

// This program.
std::string self() {
  std::array<char, 4096> path;
  const ssize_t n = ::readlink("/proc/self/exe", path.data(), path.size());
  return {path.data(), n < 0 ? 0 : static_cast<size_t>(n)};
}

// The program that refuses new calls, beside this one.
std::string old_kernel() {
  const std::string path = self();
  return path.substr(0, path.rfind('/')) + "/tools/old_kernel";
}

class KernelThat : public testing::TestWithParam<const char*> {};

TEST_P(KernelThat, RefusesNewCallsBehavesTheSame) {
  if (::access(old_kernel().c_str(), X_OK) != 0)
    GTEST_SKIP() << "tools/old_kernel is not built";

  const test::Ran ran = test::run_program(
      {"env", "-u", "GTEST_OUTPUT", "-u", "GTEST_SHARD_STATUS_FILE",
       old_kernel(), GetParam(), self(),
       "--gtest_filter=KernelCalls.*:Umask.*:WorkerPool.GivesIts*"});

  EXPECT_EQ(ran.status, 0) << ran.out << ran.err;
}

INSTANTIATE_TEST_SUITE_P(Answers, KernelThat,
                         testing::Values("enosys", "eperm"),
                         [](const auto& at) { return std::string(at.param); });

}  // namespace
}  // namespace lamina
