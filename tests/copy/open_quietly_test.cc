#include "copy/open_quietly.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/support/faulty_kernel.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tree.h"

namespace lamina::copy {
namespace {

using test::FaultyKernel;
using test::make_tree;
using test::Op;
using test::TempDir;

TEST(OpenQuietly, FollowsNoSymlinkAndWaitsForNoFifo) {
  TempDir temp;
  make_tree(temp.path(), "file f\nsymlink l -> f\nfifo p\n");
  FaultyKernel kernel;

  EXPECT_TRUE(open_quietly(kernel, temp.fd(), "f"));
  EXPECT_TRUE(open_quietly(kernel, temp.fd(), "p"));
  EXPECT_EQ(open_quietly(kernel, temp.fd(), "l").error().code, ELOOP);
  EXPECT_EQ(open_quietly(kernel, temp.fd(), "f", O_DIRECTORY).error().code,
            ENOTDIR);
}

TEST(OpenQuietly, DoesWithoutTheRightToLeaveTheTimeOfAccess) {
  TempDir temp;
  make_tree(temp.path(), "file f\n");
  FaultyKernel kernel;
  kernel.on(Op::openat).call(1).fails(EPERM);

  EXPECT_TRUE(open_quietly(kernel, temp.fd(), "f"));
  EXPECT_EQ(kernel.count(Op::openat), 2U);
}

TEST(OpenQuietly, OpensADirectoryOnceMore) {
  TempDir temp;
  FaultyKernel kernel;

  auto again = open_quietly(kernel, temp.fd(), ".", O_DIRECTORY);

  ASSERT_TRUE(again);
  EXPECT_NE(again->get(), temp.fd());
}

}  // namespace
}  // namespace lamina::copy
