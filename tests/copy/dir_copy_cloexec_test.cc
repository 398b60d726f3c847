// Programs that are started while a copy runs inherit nothing of it.
#include <unistd.h>

#include <cstddef>
#include <string>
#include <vector>

#include "tests/copy/copying.h"
#include "tests/support/program.h"

namespace lamina::test {
namespace {

class DirCopyDescriptors : public FaultyCopying {};

// What a program that is started now has open.
std::string inherited() {
  return run_program({"ls", "/proc/self/fd"}).out;
}

TEST_F(DirCopyDescriptors, AreNotInheritedByWhatIsStartedMeanwhile) {
  make_source("file a/b/one text=x\nfile a/b/two text=y\nsymlink l -> x\n");
  const std::string before = inherited();
  std::vector<std::string> during;
  for (const Op op : {Op::create, Op::pwrite, Op::fchown, Op::futimens,
                      Op::symlinkat, Op::mkdirat, Op::getdents, Op::close})
    kernel().on(op).first([&] { during.push_back(inherited()); });

  ASSERT_EQ(error_of(copy(options())), "");

  EXPECT_GT(during.size(), 10U);
  for (const std::string& open : during)
    EXPECT_EQ(open, before);
}

TEST_F(DirCopyDescriptors, AreOpenMeanwhileAndClosedInTheEnd) {
  make_source("file a/b/one text=x\n");
  const std::string command =
      "ls /proc/" + std::to_string(getpid()) + "/fd | wc -l";
  const auto open = [&] {
    return std::stoul(run_program({"sh", "-c", command}).out);
  };
  const std::size_t before = open();
  std::size_t most = 0;
  kernel().on(Op::create).first([&] { most = open(); });

  ASSERT_EQ(error_of(copy(options())), "");

  EXPECT_GT(most, before);
  EXPECT_EQ(open(), before);
}

}  // namespace
}  // namespace lamina::test
