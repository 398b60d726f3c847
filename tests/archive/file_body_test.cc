#include "archive/file_body.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "base/fd.h"
#include "base/kernel.h"
#include "gtest/gtest.h"
#include "tests/archive/tar_maker.h"
#include "tests/support/faulty_kernel.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tree.h"

namespace lamina::archive {
namespace {

using lamina::test::FaultyKernel;
using lamina::test::make_tree;
using lamina::test::Op;

class WriteFileBody : public ::testing::Test {
 protected:
  void make(const std::string& fields) {
    make_tree(temp_.path(), "file f " + fields);
    file_.reset(::open(temp_.path("f").c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(::fstat(file_.get(), &stat_), 0);
  }

  // The body as it was written, or the error.
  std::string written(std::stop_token stop = {}) {
    std::string tar;
    TarWriter writer([&tar](Bytes bytes) -> Result<void> {
      tar += text_of(bytes);
      return {};
    });
    TarEntry entry;
    entry.path = "f";
    entry.size = static_cast<uint64_t>(stat_.st_size);
    EXPECT_TRUE(writer.add(entry));
    auto done =
        FileBody(kernel_, std::move(stop)).write(file_.get(), stat_, writer);
    if (!done) {
      return done.error().message();
    }
    EXPECT_TRUE(writer.finish());
    return tar.substr(512, entry.size);
  }

  std::string content() const {
    std::string bytes(static_cast<size_t>(stat_.st_size), '\0');
    EXPECT_EQ(::pread(file_.get(), bytes.data(), bytes.size(), 0),
              stat_.st_size);
    return bytes;
  }

  lamina::test::TempDir temp_;
  FaultyKernel kernel_;
  Fd file_;
  struct stat stat_ {};
};

TEST_F(WriteFileBody, GivesEveryByteHoweverShortTheReads) {
  make("size=700001 fill=5");
  kernel_.on(Op::pread).gives_at_most(60'000);

  EXPECT_TRUE(written() == content());
}

TEST_F(WriteFileBody, GivesZerosForHolesAnywhere) {
  for (const char* data : {"0+4096", "524288+4096", "1044480+4096", "0+0",
                           "65536+4096,524288+70000"}) {
    SCOPED_TRACE(data);
    lamina::test::TempDir temp;
    make("size=1048576 data=" + std::string(data));

    EXPECT_TRUE(written() == content());
    ::unlink(temp_.path("f").c_str());
  }
}

// Streaming a huge sparse file costs no reading.
TEST_F(WriteFileBody, ReadsNoHole) {
  make("size=1073741824 data=536870912+4096");
  size_t written_bytes = 0;
  TarWriter writer([&](Bytes bytes) -> Result<void> {
    written_bytes += bytes.size();
    return {};
  });
  TarEntry entry;
  entry.path = "f";
  entry.size = static_cast<uint64_t>(stat_.st_size);
  ASSERT_TRUE(writer.add(entry));

  ASSERT_TRUE(FileBody(kernel_, {}).write(file_.get(), stat_, writer));

  EXPECT_GT(written_bytes, 1'073'000'000U);
  EXPECT_LE(kernel_.count(Op::pread), 2U);
}

TEST_F(WriteFileBody, DoesWithoutAFileSystemThatKnowsHoles) {
  make("size=1048576 data=524288+4096");
  kernel_.on(Op::lseek).fails(EINVAL);

  EXPECT_TRUE(written() == content());
}

TEST_F(WriteFileBody, GoesOnAfterAnInterruption) {
  make("text=hello");
  kernel_.on(Op::pread).call(1).fails(EINTR);

  EXPECT_EQ(written(), "hello");
}

TEST_F(WriteFileBody, FailsWhenTheFileChanges) {
  make("size=1000 fill=1");
  const std::string changed =
      "read: it changed while it was read: Stale file handle (ESTALE)";

  kernel_.on(Op::pread).call(1).returns(0);
  EXPECT_EQ(written(), changed) << "shrank";
  const timespec now[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
  ASSERT_EQ(::futimens(file_.get(), now), 0);
  EXPECT_EQ(written(), changed) << "was written to";
}

}  // namespace
}  // namespace lamina::archive
