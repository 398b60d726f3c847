#include "archive/source.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include "base/kernel.h"
#include "gtest/gtest.h"

namespace lamina::archive {
namespace {

struct Pipe {
  Pipe() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    out.reset(ends[0]);
    in.reset(ends[1]);
  }
  Fd out;
  Fd in;
};

std::string read_all(Source& source) {
  std::string text;
  std::byte piece[7];
  while (true) {
    auto got = source.read_some(piece);
    if (!got) {
      return got.error().message();
    }
    if (*got == 0) {
      return text;
    }
    text += text_of(Bytes(piece).first(*got));
  }
}

TEST(FdSource, ReadsAPipeToItsEndAndWaitsForIt) {
  Pipe pipe;
  FdSource source(real_kernel(), pipe.out, "stdin");
  std::thread sender([&] {
    for (const char* part : {"first ", "second ", "third"}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      std::string text(part);
      EXPECT_EQ(::write(pipe.in.get(), text.data(), text.size()),
                static_cast<ssize_t>(text.size()));
    }
    pipe.in.reset();
  });

  EXPECT_EQ(read_all(source), "first second third");

  sender.join();
}

TEST(FdSource, ReadsARegularFileFromWhereItStands) {
  Fd file(::open(P_tmpdir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  ASSERT_TRUE(file.valid());
  ASSERT_EQ(::write(file.get(), "0123456789abcdef", 16), 16);
  ASSERT_EQ(::lseek(file.get(), 4, SEEK_SET), 4);
  FdSource source(real_kernel(), file, "layer.tar");

  EXPECT_EQ(read_all(source), "456789abcdef");
  EXPECT_EQ(read_all(source), "");
}

TEST(FdSource, NamesItsSubjectInErrors) {
  Fd directory(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  FdSource source(real_kernel(), directory, "layer.tar");

  EXPECT_EQ(read_all(source), "read on 'layer.tar': Is a directory (EISDIR)");
}

TEST(FdSource, AWaitEndsWhenItIsCancelled) {
  Pipe pipe;
  FdSource source(real_kernel(), pipe.out, "stdin");
  std::thread impatient([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    source.cancel();
  });

  std::byte piece[16];
  auto got = source.read_some(piece);

  impatient.join();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ECANCELED);
  EXPECT_FALSE(source.read_some(piece)) << "cancelled once, cancelled for good";
}

TEST(MemorySource, GivesItsBytesWithoutCopyingOrPieceByPiece) {
  const std::string text = "0123456789abcdef";
  MemorySource source(bytes_of(text));

  ASSERT_TRUE(source.whole());
  EXPECT_EQ(source.whole()->data(), bytes_of(text).data());
  EXPECT_EQ(read_all(source), text);
}

TEST(MemorySource, MayBeEmpty) {
  MemorySource source({});

  EXPECT_EQ(read_all(source), "");
}

TEST(CallbackSource, AsksItsFunction) {
  int calls = 0;
  CallbackSource source([&](MutableBytes buffer) -> Result<size_t> {
    if (++calls > 3) {
      return size_t{0};
    }
    buffer[0] = std::byte{'x'};
    return size_t{1};
  });

  EXPECT_EQ(read_all(source), "xxx");
  EXPECT_FALSE(source.whole());
}

}  // namespace
}  // namespace lamina::archive
