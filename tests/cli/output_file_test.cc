#include "cli/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "tests/copy/copying.h"
#include "tests/support/faulty_kernel.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tree.h"

namespace lamina::cli {
namespace {

using test::FaultyKernel;
using test::Op;

class OutputFileAt : public testing::Test {
 protected:
  static void put(const OutputFile& file, std::string_view text) {
    ASSERT_EQ(::write(file.fd().get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  Result<OutputFile> open(const std::string& name) {
    return OutputFile::open(kernel_, temp_.path(name));
  }
  std::string dump() const {
    return test::dump_tree(temp_.path(), {.owners = test::Shown::no,
                                          .mtimes = test::Shown::no,
                                          .root = test::Shown::no});
  }

  test::TempDir temp_;
  FaultyKernel kernel_;
};

TEST_F(OutputFileAt, AppearsWhenItIsComplete) {
  test::make_tree(temp_.path(), "file out text=old");
  auto file = open("out");
  ASSERT_TRUE(file) << file.error().message();
  put(*file, "new");
  EXPECT_EQ(test::read_file(temp_.path("out")), "old");

  ASSERT_TRUE(file->complete());

  EXPECT_EQ(dump(), "file out mode=0644 size=3 text=new\n");
}

TEST_F(OutputFileAt, LeavesNothingWhenItIsNotCompleted) {
  {
    auto file = open("out");
    ASSERT_TRUE(file);
    put(*file, "half");
  }

  EXPECT_EQ(dump(), "");
}

TEST_F(OutputFileAt, LeavesNothingWhenItCannotBeCompleted) {
  for (Op op : {Op::close, Op::renameat2}) {
    FaultyKernel kernel;
    kernel.on(op).fails(EIO);
    auto file = OutputFile::open(kernel, temp_.path("out"));
    ASSERT_TRUE(file);
    auto completed = file->complete();
    ASSERT_FALSE(completed);
    EXPECT_EQ(completed.error().code, EIO);
  }

  EXPECT_EQ(dump(), "");
}

TEST_F(OutputFileAt, WritesToWhatIsNoFileInsteadOfReplacingIt) {
  auto null = OutputFile::open(kernel_, "/dev/null");
  ASSERT_TRUE(null) << null.error().message();
  put(*null, "gone");
  ASSERT_TRUE(null->complete());
  struct stat stat {};
  ASSERT_EQ(::lstat("/dev/null", &stat), 0);
  EXPECT_TRUE(S_ISCHR(stat.st_mode));

  test::make_tree(temp_.path(), "file f text=old\nsymlink l -> f");
  {
    auto through = open("l");
    ASSERT_TRUE(through);
    put(*through, "half");
  }
  EXPECT_EQ(test::read_file(temp_.path("f")), "") << "half of it is worse";
}

TEST_F(OutputFileAt, RefusesADirectoryAndAPlaceThatIsNotThere) {
  test::make_tree(temp_.path(), "dir d");

  EXPECT_EQ(open("d").error().code, EISDIR);
  EXPECT_EQ(open("new/").error().code, EISDIR);
  EXPECT_EQ(open("no/out").error().code, ENOENT);
}

}  // namespace
}  // namespace lamina::cli
