// What the comparison of single inodes promises beside changes_test.cc, which
// goes through each difference.
#include "archive/unchanged.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <string>

#include "base/kernel.h"
#include "base/path.h"
#include "gtest/gtest.h"
#include "tests/support/faulty_kernel.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tree.h"

namespace lamina::archive {
namespace {

using lamina::test::FaultyKernel;
using lamina::test::make_tree;
using lamina::test::Op;
using lamina::test::TempDir;

class UnchangedFile : public ::testing::Test {
 protected:
  // Compares a and b.
  Result<bool> check(std::stop_token stop = {}) {
    struct stat a {};
    struct stat b {};
    EXPECT_EQ(::lstat(temp_.path("a").c_str(), &a), 0);
    EXPECT_EQ(::lstat(temp_.path("b").c_str(), &b), 0);
    Unchanged unchanged(kernel_, {.keep = copy::Xattrs::image}, Times::exact,
                        std::move(stop));
    return unchanged.check({a, b, {temp_.fd(), "a"}, {temp_.fd(), "b"}});
  }

  TempDir temp_;
  FaultyKernel kernel_;
};

TEST_F(UnchangedFile, IsReadWhereAllElseIsEqual) {
  make_tree(temp_.path(), "file a mtime=1 text=xy\nfile b mtime=1 text=xy\n");
  EXPECT_TRUE(check().value());
  EXPECT_EQ(kernel_.count(Op::pread), 2U);
}

TEST_F(UnchangedFile, IsNotOpenedWhereSomethingElseDiffers) {
  make_tree(temp_.path(), "file a mtime=1 text=xy\nfile b mtime=2 text=xy\n");
  EXPECT_FALSE(check().value());
  EXPECT_EQ(kernel_.calls(), 0U);
}

TEST_F(UnchangedFile, IsNotOpenedWhenItIsTheSameInode) {
  make_tree(temp_.path(), "file a link=1 mtime=1 text=xy\nfile b link=1\n");
  EXPECT_TRUE(check().value());
  EXPECT_EQ(kernel_.calls(), 0U);
}

TEST_F(UnchangedFile, ThatIsEmptyIsNotOpened) {
  make_tree(temp_.path(), "file a mtime=1\nfile b mtime=1\n");
  EXPECT_TRUE(check().value());
  EXPECT_EQ(kernel_.count(Op::openat), 0U);
}

TEST_F(UnchangedFile, MayBeADeviceWithTheSameNumber) {
  auto made = [&](const char* name, unsigned number) {
    return ::mknodat(temp_.fd(), name, S_IFCHR | 0600, makedev(1, number)) == 0;
  };
  if (!made("a", 3) || !made("b", 5)) {
    GTEST_SKIP() << "no devices can be made here";
  }
  const timespec times[2] = {};
  ::utimensat(temp_.fd(), "a", times, 0);
  ::utimensat(temp_.fd(), "b", times, 0);

  EXPECT_FALSE(check().value());
  ::unlinkat(temp_.fd(), "b", 0);
  ASSERT_TRUE(made("b", 3));
  ::utimensat(temp_.fd(), "b", times, 0);
  EXPECT_TRUE(check().value());
}

TEST_F(UnchangedFile, StopsWithinALargeFile) {
  make_tree(temp_.path(),
            "file a mtime=1 size=20000000 fill=1\n"
            "file b mtime=1 size=20000000 fill=1\n");
  std::stop_source source;
  kernel_.on(Op::pread).call(3).first([&] { source.request_stop(); });

  auto checked = check(source.get_token());

  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ECANCELED);
}

TEST(OpenFile, RefusesWhatIsNotTheFileThatWasSeen) {
  TempDir temp;
  make_tree(temp.path(),
            "file a text=1 mtime=1\nfile b text=1 mtime=1\n"
            "symlink l -> a\nfifo p\nsocket s\n");
  struct stat seen {};
  ASSERT_EQ(::fstatat(temp.fd(), "a", &seen, 0), 0);

  EXPECT_TRUE(open_file(real_kernel(), temp.fd(), "a", seen));
  for (const char* other : {"b", "l", "p", "s", "nothing"}) {
    auto opened = open_file(real_kernel(), temp.fd(), other, seen);
    ASSERT_FALSE(opened) << other;
    EXPECT_EQ(opened.error().code, ESTALE) << other;
  }
  ASSERT_EQ(::truncate(temp.path("a").c_str(), 5), 0);
  EXPECT_EQ(open_file(real_kernel(), temp.fd(), "a", seen).error().code,
            ESTALE);
}

}  // namespace
}  // namespace lamina::archive
