// Sources that are not what their size says: holes, files made up when read,
// files that change.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "tests/copy/data_fixture.h"

namespace lamina::test {
namespace {

using copy::Moved;

class CopyDataFrom : public MovedData {
 protected:
  // Makes all bytes go by read and write.
  void refuse_ranges() { kernel_.on(Op::copy_file_range).fails(EXDEV); }

  // How many bytes lie in the target, by its blocks.
  std::uint64_t stored() const {
    return static_cast<std::uint64_t>(stat_of(target()).st_blocks) * 512;
  }
};

constexpr char kIslands[] =
    "size=10000000 data=65536+65536,1048576+131072,9000000+1000";

TEST_F(CopyDataFrom, AFileWithHolesKeepsThem) {
  make(kIslands);
  for (const bool ranges : {true, false}) {
    if (!ranges)
      refuse_ranges();

    ASSERT_EQ(error_of(move()), "");

    expect_equal();
    EXPECT_EQ(stat_of(target()).st_blocks, stat_of(source()).st_blocks);
    EXPECT_LT(data_.bytes_written(), 300'000U);
  }
}

TEST_F(CopyDataFrom, AFileThatIsAllHoleMovesNothing) {
  make("size=3000000000");

  ASSERT_EQ(error_of(move()), "");

  EXPECT_EQ(stat_of(target()).st_size, 3000000000);
  EXPECT_EQ(stored(), 0U);
  EXPECT_EQ(data_.moved(), Moved::nothing);
}

TEST_F(CopyDataFrom, ASmallFileThatIsAllHoleMovesNothing) {
  make("size=4000");

  ASSERT_EQ(error_of(move()), "");

  EXPECT_EQ(stored(), 0U);
  expect_equal();
}

TEST_F(CopyDataFrom, AFileThatEndsInAHoleKeepsItsSize) {
  make("size=300000 data=0+4096");

  ASSERT_EQ(error_of(move()), "");

  expect_equal();
  EXPECT_EQ(data_.bytes_written(), 4096U);
}

TEST_F(CopyDataFrom, AFileSystemThatKnowsNoHolesIsReadWhole) {
  make(kIslands);
  kernel_.on(Op::lseek).fails(EINVAL);

  ASSERT_EQ(error_of(move()), "");

  expect_equal();
}

TEST_F(CopyDataFrom, AFaultInAskingForHolesIsReported) {
  make(kIslands);
  for (std::size_t k = 1; k <= 3; ++k) {
    kernel_.on(Op::lseek).call(k).fails(EIO);

    EXPECT_EQ(code_of(move()), EIO) << k;
  }
}

TEST_F(CopyDataFrom, ProcfsIsCopiedThoughItsSizeIsNothing) {
  const Descriptor in(::open("/proc/version", O_RDONLY | O_CLOEXEC));
  const Descriptor out(
      ::open(target().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  copy::FilePair files;
  files.source = in.get();
  files.target = out.get();
  ASSERT_EQ(::fstat(in.get(), &files.stat), 0);
  ASSERT_EQ(files.stat.st_size, 0);
  copy::Abilities procfs(FsKind::pseudo);

  data_.begin(kernel_, files, procfs, copy::Sharing::automatic, buffer_);
  ASSERT_TRUE(data_.step().value());

  EXPECT_EQ(read_file(target()), read_file("/proc/version"));
  EXPECT_NE(read_file(target()), "");
}

TEST_F(CopyDataFrom, ARangeCopyThatGivesNothingIsSettledByReading) {
  make("size=1000000 fill=1");
  kernel_.on(Op::copy_file_range).returns(0);

  ASSERT_EQ(error_of(move()), "");

  EXPECT_EQ(kernel_.count(Op::copy_file_range), 1U);
  expect_equal();
}

constexpr char kShrank[] =
    "copy: the source shrank while it was copied: Stale file handle (ESTALE)";
constexpr char kGrew[] =
    "copy: the source grew while it was copied: Stale file handle (ESTALE)";

TEST_F(CopyDataFrom, ASourceThatShrinksEnds) {
  for (const char* size : {"4000", "5000", "1000000", "20000000"}) {
    for (const Op op : {Op::copy_file_range, Op::pread}) {
      make(std::string("fill=1 size=") + size);
      if (op == Op::pread)
        refuse_ranges();
      kernel_.on(Op::pread).gives_at_most(1000);
      for (const Op first : {Op::copy_file_range, Op::pread})
        kernel_.on(first).first(
            [&] { ASSERT_EQ(::truncate(source().c_str(), 1500), 0); });

      EXPECT_EQ(error_of(move()), kShrank) << size;
      ASSERT_EQ(::unlink(source().c_str()), 0);
    }
  }
}

TEST_F(CopyDataFrom, ASourceThatShrinksIntoAHoleEnds) {
  make(kIslands);
  kernel_.on(Op::copy_file_range).call(1).first([&] {
    ASSERT_EQ(::truncate(source().c_str(), 70'000), 0);
  });

  EXPECT_EQ(error_of(move()), kShrank);
}

TEST_F(CopyDataFrom, ASourceThatGrowsEnds) {
  for (const char* size : {"4000", "1000000"}) {
    make(std::string("fill=1 size=") + size);
    const off_t grown = stat_of(source()).st_size + 1;
    for (const Op first : {Op::copy_file_range, Op::pread})
      kernel_.on(first).call(1).first(
          [&] { ASSERT_EQ(::truncate(source().c_str(), grown), 0); });

    EXPECT_EQ(error_of(move()), kGrew) << size;
    ASSERT_EQ(::unlink(source().c_str()), 0);
  }
}

TEST_F(CopyDataFrom, ASourceThatIsWrittenToIsNoticed) {
  make("fill=1 size=1000000");
  kernel_.on(Op::copy_file_range).call(1).first([&] {
    const Descriptor fd(::open(source().c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(::pwrite(fd.get(), "x", 1, 0), 1);
  });

  EXPECT_EQ(error_of(move()),
            "copy: the source was written to while it was copied: Stale file "
            "handle (ESTALE)");
}

}  // namespace
}  // namespace lamina::test
