// The ladder that moves a file's bytes, rung by rung.
#include "copy/data.h"

#include <unistd.h>

#include <cerrno>

#include "tests/copy/data_fixture.h"

namespace lamina::test {
namespace {

using copy::Moved;
using copy::Sharing;

constexpr char kSmall[] = "size=5000 fill=1";
constexpr char kLarge[] = "size=1000000 fill=1";

class CopyData : public MovedData {};

TEST_F(CopyData, MovesNothingOfAnEmptyFile) {
  make("");

  ASSERT_EQ(error_of(move()), "");

  EXPECT_EQ(data_.moved(), Moved::nothing);
  EXPECT_EQ(kernel_.calls(), 0U);
}

TEST_F(CopyData, SharesWhatCanBeShared) {
  make(kLarge);
  kernel_.on(Op::ficlone).returns(0);

  ASSERT_EQ(error_of(move()), "");

  EXPECT_EQ(data_.moved(), Moved::cloned);
  EXPECT_EQ(data_.bytes_written(), 0U);
  EXPECT_EQ(kernel_.calls(), 1U);
}

TEST_F(CopyData, MovesALargeFileByRange) {
  make(kLarge);

  ASSERT_EQ(error_of(move()), "");

  EXPECT_EQ(data_.moved(), Moved::by_range);
  EXPECT_EQ(data_.bytes_written(), 1000000U);
  EXPECT_EQ(kernel_.count(Op::pwrite), 0U);
  expect_equal();
}

TEST_F(CopyData, MovesASmallFileInOneReadAndOneWrite) {
  make("size=4000 fill=1");

  ASSERT_EQ(error_of(move(Sharing::content)), "");

  EXPECT_EQ(data_.moved(), Moved::by_read_write);
  EXPECT_EQ(kernel_.trace(""), "pread pwrite ");
  expect_equal();
}

TEST_F(CopyData, ReadsAndWritesWhereNothingElseIsPossible) {
  make(kLarge);
  kernel_.on(Op::ficlone).fails(EXDEV);
  kernel_.on(Op::copy_file_range).fails(EXDEV);

  ASSERT_EQ(error_of(move()), "");

  EXPECT_EQ(data_.moved(), Moved::by_read_write);
  EXPECT_EQ(data_.bytes_written(), 1000000U);
  expect_equal();
}

TEST_F(CopyData, ReportsNoSpaceInsteadOfTryingTheNextMethod) {
  make(kLarge);
  for (const int code : {ENOSPC, EDQUOT, EIO}) {
    for (const Op op : {Op::ficlone, Op::copy_file_range}) {
      kernel_.on(Op::ficlone).fails(EXDEV);
      kernel_.on(op).fails(code);
      const std::size_t read = kernel_.count(Op::pread);

      const auto moved = move();

      EXPECT_EQ(code_of(moved), code) << to_string(op);
      EXPECT_EQ(kernel_.count(Op::pread), read) << to_string(op);
    }
    abilities_.no_clone = false;
  }
}

TEST_F(CopyData, TriesTheNextMethodForEveryErrorThatSaysSo) {
  make(kLarge);
  for (const int code :
       {EXDEV, EOPNOTSUPP, ENOSYS, EINVAL, EPERM, ETXTBSY, EBADF}) {
    kernel_.on(Op::ficlone).fails(code);
    kernel_.on(Op::copy_file_range).fails(code);
    abilities_.no_clone = false;
    abilities_.no_range = false;

    ASSERT_EQ(error_of(move()), "") << code;

    EXPECT_EQ(data_.moved(), Moved::by_read_write) << code;
    expect_equal();
  }
}

TEST_F(CopyData, ReadsOnWhereARangeCopyGaveUpHalfWay) {
  make(kLarge);
  kernel_.on(Op::copy_file_range).gives_at_most(300'000);
  kernel_.on(Op::copy_file_range).from(3).fails(EOPNOTSUPP);

  ASSERT_EQ(error_of(move()), "");

  EXPECT_EQ(kernel_.count(Op::copy_file_range), 3U);
  EXPECT_EQ(data_.bytes_written(), 1000000U);
  expect_equal();
}

TEST_F(CopyData, GoesOnAfterShortRangeCopies) {
  make(kLarge);
  kernel_.on(Op::copy_file_range).gives_at_most(77'777);

  ASSERT_EQ(error_of(move()), "");

  EXPECT_EQ(data_.moved(), Moved::by_range);
  expect_equal();
}

TEST_F(CopyData, GoesOnAfterShortReadsAndWrites) {
  for (const char* file : {kSmall, kLarge}) {
    make(file);
    kernel_.on(Op::copy_file_range).fails(EXDEV);
    kernel_.on(Op::pread).gives_at_most(3001);
    kernel_.on(Op::pwrite).gives_at_most(1013);

    ASSERT_EQ(error_of(move()), "");

    EXPECT_EQ(data_.bytes_written(), std::uint64_t(stat_of(source()).st_size));
    expect_equal();
    ASSERT_EQ(::unlink(source().c_str()), 0);
  }
}

TEST_F(CopyData, GoesOnAfterAnInterruption) {
  for (const char* file : {"size=4000 fill=1", kLarge}) {
    make(file);
    kernel_.on(Op::copy_file_range).call(1).fails(EINTR);
    ASSERT_EQ(error_of(move(Sharing::content)), "");
    expect_equal();

    kernel_.on(Op::copy_file_range).fails(EXDEV);
    kernel_.on(Op::pread).call(1).fails(EINTR);
    kernel_.on(Op::pwrite).call(1).fails(EINTR);
    ASSERT_EQ(error_of(move(Sharing::content)), "");
    expect_equal();
    ASSERT_EQ(::unlink(source().c_str()), 0);
  }
}

TEST_F(CopyData, DoesNotSpinOnAWriteOfNothing) {
  for (const char* file : {kSmall, kLarge}) {
    make(file);
    kernel_.on(Op::copy_file_range).fails(EXDEV);
    kernel_.on(Op::pwrite).returns(0);

    const auto moved = move();

    EXPECT_EQ(error_of(moved),
              "write: nothing was written: Input/output error (EIO)");
    ASSERT_EQ(::unlink(source().c_str()), 0);
  }
}

TEST_F(CopyData, SaysWhichCallFailed) {
  make(kLarge);
  kernel_.on(Op::copy_file_range).fails(EXDEV);
  kernel_.on(Op::pread).call(2).fails(EIO);
  EXPECT_EQ(error_of(move()), "read: Input/output error (EIO)");

  kernel_.on(Op::pread).gives_at_most(1000);
  kernel_.on(Op::pwrite).fails(ENOSPC);
  EXPECT_EQ(error_of(move()), "write: No space left on device (ENOSPC)");
}

TEST_F(CopyData, TurnsToOthersAfterSixteenMebibytes) {
  make("size=40000000 fill=1");

  ASSERT_EQ(error_of(move()), "");

  EXPECT_EQ(steps_, 3);
  expect_equal();
}

TEST_F(CopyData, AsksEveryFileForAReflinkThatIsDemanded) {
  make(kSmall);
  abilities_.no_clone = true;
  kernel_.on(Op::ficlone).fails(EXDEV);

  EXPECT_EQ(error_of(move(Sharing::reflink)),
            "ioctl(FICLONE): Invalid cross-device link (EXDEV)");
  EXPECT_EQ(kernel_.count(Op::ficlone), 1U);
}

TEST_F(CopyData, ReportsAFlushThatFailed) {
  make(kSmall);
  copy::Abilities xfs(FsKind::xfs);
  kernel_.on(Op::syncfs).fails(EIO);
  copy::FilePair files;
  files.stat = stat_of(source());
  data_.begin(kernel_, files, xfs, Sharing::automatic, buffer_);

  EXPECT_EQ(error_of(data_.step()), "syncfs: Input/output error (EIO)");
}

}  // namespace
}  // namespace lamina::test
