#include "archive/sorted_names.h"

#include <cerrno>
#include <string>

#include "base/kernel.h"
#include "gtest/gtest.h"
#include "tests/support/faulty_kernel.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tree.h"

namespace lamina::archive {
namespace {

using lamina::test::make_tree;
using lamina::test::TempDir;

std::string joined(const SortedNames& names) {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    out += std::string(names[i]) + " ";
  }
  return out;
}

TEST(SortedNames, AreInTheOrderOfTheirBytes) {
  TempDir temp;
  make_tree(temp.path(), "file b\nfile a.b\nfile a\nfile B\nfile \\xff\n");

  auto names = SortedNames::read(real_kernel(), temp.fd());

  ASSERT_TRUE(names) << names.error().message();
  EXPECT_EQ(joined(*names), "B a a.b b \xff ");
}

TEST(SortedNames, OfAnEmptyDirectoryAreNone) {
  TempDir temp;

  EXPECT_EQ(SortedNames::read(real_kernel(), temp.fd())->size(), 0U);
}

TEST(SortedNames, OfALargeDirectoryAreAll) {
  TempDir temp;
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    text += "file a-rather-long-name-" + std::to_string(i) + "\n";
  }
  make_tree(temp.path(), text);

  EXPECT_EQ(SortedNames::read(real_kernel(), temp.fd())->size(), 3000U);
}

TEST(SortedNames, HandOnWhatTheKernelSays) {
  TempDir temp;
  lamina::test::FaultyKernel kernel;
  kernel.on(lamina::test::Op::getdents).fails(EIO);

  auto names = SortedNames::read(kernel, temp.fd());

  ASSERT_FALSE(names);
  EXPECT_EQ(names.error().code, EIO);
}

}  // namespace
}  // namespace lamina::archive
