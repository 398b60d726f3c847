// Ends that somebody asked for, and what is kept when it is asked for.
#include <cerrno>
#include <optional>
#include <stop_token>

#include "tests/copy/copying.h"
#include "tests/copy/mount_at.h"
#include "tests/support/mounts.h"

namespace lamina::test {
namespace {

using copy::Leftovers;
using copy::Options;

class DirCopyStop : public FaultyCopying {
 protected:
  DirCopyStop()
      : FaultyCopying("/dev/shm") {}

  std::stop_source stop_;
};

TEST_F(DirCopyStop, EndsTheCopyAndTakesItBack) {
  make_source(random_tree(seed_from_environment(1), 300));
  for (const unsigned width : {1U, 2U, 4U}) {
    FaultyKernel kernel;
    std::stop_source stop;
    kernel.on(Op::pwrite).call(20).first([&] { stop.request_stop(); });
    Options options;
    options.kernel = &kernel;
    options.workers = width;
    options.stop = stop.get_token();

    const auto report = copy(options);

    EXPECT_EQ(error_of(report),
              make_error(ECANCELED, "walk", src(), "stopped").message());
    EXPECT_FALSE(exists(dst()));
  }
}

TEST_F(DirCopyStop, EndsWithinALargeFile) {
  make_source("file large size=50000000 fill=1\n");
  kernel().on(Op::copy_file_range).call(1).first([&] { stop_.request_stop(); });
  Options options = this->options();
  options.sharing = copy::Sharing::content;
  options.stop = stop_.get_token();

  const auto report = copy(options);

  EXPECT_EQ(code_of(report), ECANCELED);
  EXPECT_EQ(kernel().count(Op::copy_file_range), 1U);
  EXPECT_FALSE(exists(dst()));
}

TEST_F(DirCopyStop, AskedForBeforeItBeginsMakesNothing) {
  make_source("file a text=x\n");
  stop_.request_stop();
  Options options = this->options();
  options.stop = stop_.get_token();

  EXPECT_EQ(code_of(copy(options)), ECANCELED);

  EXPECT_EQ(kernel().count(Op::create), 0U);
  EXPECT_FALSE(exists(dst()));
}

TEST_F(DirCopyStop, ComesTooLateWhenAllIsDone) {
  make_source("file a text=x\n");
  Options options = this->options();
  options.stop = stop_.get_token();

  ASSERT_EQ(error_of(copy(options)), "");
  stop_.request_stop();

  expect_same(src(), dst());
}

TEST_F(DirCopyStop, KeepsWhatWasMadeWhenAskedTo) {
  make_source("file a text=x\ndir b\nfile b/c text=x\n");
  kernel().on(Op::create, "dst/b/c").fails(EIO);
  Options options = this->options();
  options.leftovers = Leftovers::kept;

  EXPECT_EQ(code_of(copy(options)), EIO);

  EXPECT_TRUE(exists(dst("b")));
  EXPECT_FALSE(exists(dst("b/c")));
}

TEST_F(DirCopyStop, LeavesNoHalfFileInWhatIsKept) {
  make_source("file a size=100000 fill=1\n");
  kernel().on(Op::pwrite).fails(EIO);
  kernel().on(Op::ficlone).fails(EXDEV);
  kernel().on(Op::copy_file_range).fails(EXDEV);
  Options options = this->options();
  options.leftovers = Leftovers::kept;

  EXPECT_EQ(code_of(copy(options)), EIO);

  EXPECT_TRUE(exists(dst()));
  EXPECT_FALSE(exists(dst("a")));
}

TEST_F(DirCopyStop, SaysWhatCouldNotBeTakenBack) {
  if (!why_not(FileSystem::tmpfs).empty())
    GTEST_SKIP() << why_not(FileSystem::tmpfs);
  make_source("dir a\nfile b text=x\n");
  std::optional<MountAt> foreign;
  kernel().on(Op::futimens, "dst/a").fails(EIO);
  kernel().on(Op::futimens, "dst/a").first([&] {
    foreign.emplace(MountAt::memory(dst("a")));
  });

  const auto report = copy(options());

  EXPECT_EQ(code_of(report), EIO);
  EXPECT_NE(error_of(report).find("what was made stays: "), std::string::npos)
      << error_of(report);
  EXPECT_TRUE(exists(dst("a")));
}

}  // namespace
}  // namespace lamina::test
