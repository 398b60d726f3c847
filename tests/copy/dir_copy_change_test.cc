// The source changes while it is copied: the copy ends, and says so.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ctime>
#include <thread>

#include "copy/walk.h"
#include "tests/copy/copying.h"

namespace lamina::test {
namespace {

using copy::Options;
using copy::Sharing;

void set_size(const std::string& path, off_t size) {
  if (::truncate(path.c_str(), size) != 0)
    throw_errno("truncate", path);
}

class DirCopyChange : public FaultyCopying {
 protected:
  DirCopyChange()
      : FaultyCopying("/dev/shm") {}

  // No clone, so that bytes are moved.
  Options content() {
    Options out = options();
    out.sharing = Sharing::content;
    return out;
  }

  // The error of a copy in which `change` happens before the first bytes move.
  std::string error_when(const std::function<void()>& change) {
    kernel().on(Op::pread).call(1).first(change);
    kernel().on(Op::copy_file_range).call(1).first(change);
    const auto report = copy(content());
    EXPECT_FALSE(exists(dst()));
    return error_of(report);
  }
};

constexpr char kShrank[] =
    "copy on 'f': the source shrank while it was copied: Stale file handle "
    "(ESTALE)";
constexpr char kGrew[] =
    "copy on 'f': the source grew while it was copied: Stale file handle "
    "(ESTALE)";

TEST_F(DirCopyChange, EndsWhenTheSourceShrinks) {
  for (const char* size : {"1000", "5000", "1000000"}) {
    make_source(std::string("file f fill=1 size=") + size);
    EXPECT_EQ(error_when([&] { set_size(src("f"), 10); }), kShrank) << size;
    remove_all_at(temp().fd(), "src");
  }
}

TEST_F(DirCopyChange, EndsWhenTheSourceIsEmptied) {
  for (const char* size : {"1000", "1000000"}) {
    make_source(std::string("file f fill=1 size=") + size);
    EXPECT_EQ(error_when([&] { set_size(src("f"), 0); }), kShrank) << size;
    remove_all_at(temp().fd(), "src");
  }
}

TEST_F(DirCopyChange, EndsWhenTheSourceGrows) {
  for (const char* size : {"1000", "1000000"}) {
    make_source(std::string("file f fill=1 size=") + size);
    EXPECT_EQ(error_when([&] { set_size(src("f"), 2'000'000); }), kGrew)
        << size;
    remove_all_at(temp().fd(), "src");
  }
}

TEST_F(DirCopyChange, NoticesThatALargeSourceWasWrittenTo) {
  make_source("file f fill=1 size=1000000\n");

  const std::string error = error_when([&] {
    const Descriptor fd(::open(src("f").c_str(), O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(::pwrite(fd.get(), "x", 1, 999'999), 1);
  });

  EXPECT_EQ(error,
            "copy on 'f': the source was written to while it was copied: Stale "
            "file handle (ESTALE)");
}

TEST_F(DirCopyChange, EndsWhileAWriterGoesOnForEver) {
  make_source("file f fill=1 size=300000\n");
  std::atomic<bool> done{false};
  std::thread writer([&] {
    const Descriptor fd(::open(src("f").c_str(), O_WRONLY | O_CLOEXEC));
    for (off_t at = 0; !done; at = (at + 1) % 1'000'000) {
      if (::pwrite(fd.get(), "x", 1, at) != 1 ||
          (at % 1000 == 0 && ::ftruncate(fd.get(), at) != 0)) {
        break;
      }
    }
  });

  for (int round = 0; round < 50; ++round) {
    const auto report = copy(content());
    if (report) {
      remove_all_at(temp().fd(), "dst");
    } else {
      EXPECT_EQ(report.error().code, ESTALE) << error_of(report);
    }
    EXPECT_FALSE(exists(dst()));
  }

  done = true;
  writer.join();
}

// A directory whose names are listed over and over, each time younger than the
// copy. The names in the destination are only pretended.
class DirCopyGrowth : public DirCopyChange {
 protected:
  static constexpr int kNames = 64;

  void SetUp() override {
    std::string text;
    for (int i = 0; i < kNames; ++i)
      text += "symlink s" + std::to_string(i) + " -> x\n";
    make_source(text);
    kernel().on(Op::symlinkat).returns(0);
    kernel().on(Op::utimensat).returns(0);
    kernel().on(Op::fstatat).shows([](struct stat& stat) {
      stat.st_ctim.tv_sec = std::time(nullptr) + 1000;
    });
  }

  Options bare() {
    Options out = options();
    out.xattrs = copy::Xattrs::none;
    return out;
  }
};

TEST_F(DirCopyGrowth, OfADirectoryWithoutEndIsAnError) {
  kernel().on(Op::getdents, "src").first([](int fd) {
    ::lseek(fd, 0, SEEK_SET);
    ::futimens(fd, nullptr);
  });

  const auto report = copy(bare());

  EXPECT_EQ(code_of(report), ESTALE);
  EXPECT_NE(
      error_of(report).find("the directory keeps growing while it is copied"),
      std::string::npos)
      << error_of(report);
  EXPECT_FALSE(exists(dst()));
}

TEST_F(DirCopyGrowth, IsNotConcludedFromYoungNamesInAQuietDirectory) {
  // As on a file server whose clock is ahead of ours.
  constexpr std::size_t kListings = copy::Walk::kNewcomers / kNames + 10;
  std::size_t listings = 0;
  kernel().on(Op::getdents, "src").first([&](int fd) {
    if (++listings <= kListings)
      ::lseek(fd, 0, SEEK_SET);
  });

  EXPECT_EQ(error_of(copy(bare())), "");

  EXPECT_GE(kernel().count(Op::symlinkat), copy::Walk::kNewcomers);
}

TEST_F(DirCopyChange, FindsNamesThatGoAwayMissing) {
  make_source("symlink s -> x\nfifo p\nfile f text=x\nfile d/f text=x\n");
  for (const std::string name : {"s", "p", "d"}) {
    FaultyKernel kernel;
    kernel.on(name == "d" ? Op::openat : Op::fstatat, "src/" + name).first([&] {
      remove_all_at(open_directory(src()).get(), name);
    });
    Options options;
    options.kernel = &kernel;

    EXPECT_EQ(code_of(copy(options)), ENOENT) << name;
    EXPECT_FALSE(exists(dst()));
    make_tree(src(), name == "d" ? "dir d" : "fifo " + name);
  }
}

}  // namespace
}  // namespace lamina::test
