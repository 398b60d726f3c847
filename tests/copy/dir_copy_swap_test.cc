// Something else is put in place while a copy is under way. It ends, and
// nothing outside is read or changed.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "tests/copy/copying.h"
#include "tests/support/fixtures.h"

namespace lamina::test {
namespace {

using copy::Options;

// Beside the source and the destination lies "outside", which no copy may
// touch.
class DirCopySwap : public FaultyCopying {
 protected:
  DirCopySwap()
      : FaultyCopying("/dev/shm") {
    make_tree(outside(),
              "file secret text=secret\ndir d\nfile d/f text=secret\n");
    outside_ = dump_tree(outside());
  }

  std::string outside(const std::string& name = "") const {
    return temp().path("outside") + (name.empty() ? "" : "/" + name);
  }

  // Puts what `make` makes at `path`, in place of what is there.
  static void replace(const std::string& path,
                      const std::function<int(const char*)>& make) {
    if (::rename(path.c_str(), (path + ".before").c_str()) != 0)
      throw_errno("rename", path);
    if (make(path.c_str()) != 0)
      throw_errno("replace", path);
  }
  static auto by_link_to(const std::string& target) {
    return
        [target](const char* path) { return ::symlink(target.c_str(), path); };
  }
  static auto by_node(mode_t mode, dev_t device = 0) {
    return [=](const char* path) { return ::mknod(path, mode, device); };
  }

  void expect_outside_untouched() { EXPECT_EQ(dump_tree(outside()), outside_); }

  // The file src/f is swapped just before it is opened.
  std::string error_when_file_becomes(
      const std::function<int(const char*)>& make) {
    make_source("file f text=mine\n");
    kernel().on(Op::openat, "src/f").call(1).first([=, this] {
      replace(src("f"), make);
    });
    const auto report = copy(options());
    EXPECT_FALSE(exists(dst()));
    expect_outside_untouched();
    return error_of(report);
  }

 private:
  std::string outside_;
};

TEST_F(DirCopySwap, OfAFileForAFifoDoesNotHang) {
  EXPECT_EQ(error_when_file_becomes(by_node(S_IFIFO | 0644)),
            "openat on 'f': it was replaced by something that is not a regular "
            "file while it was copied: Stale file handle (ESTALE)");
}

TEST_F(DirCopySwap, OfAFileForASocketIsNoticed) {
  EXPECT_EQ(error_when_file_becomes(by_node(S_IFSOCK | 0644)),
            "openat on 'f': it was replaced by a socket or device while it was "
            "copied: Stale file handle (ESTALE)");
}

TEST_F(DirCopySwap, OfAFileForAnEndlessDeviceIsNoticed) {
  if (!may_become_other_users())
    GTEST_SKIP() << "needs root";

  const std::string error =
      error_when_file_becomes(by_node(S_IFCHR | 0644, makedev(1, 5)));

  EXPECT_NE(error.find("it was replaced by something that is not a regular"),
            std::string::npos)
      << error;
}

TEST_F(DirCopySwap, OfAFileForASymlinkDoesNotFollowIt) {
  EXPECT_EQ(error_when_file_becomes(by_link_to(outside("secret"))),
            "openat on 'f': it was replaced by a symbolic link while it was "
            "copied: Stale file handle (ESTALE)");
}

TEST_F(DirCopySwap, OfAFileForAnotherIsNoticed) {
  EXPECT_EQ(error_when_file_becomes(by_node(S_IFREG | 0644)),
            "openat on 'f': it was replaced by another file while it was "
            "copied: Stale file handle (ESTALE)");
}

TEST_F(DirCopySwap, OfAFileForADirectoryIsNoticed) {
  const std::string error = error_when_file_becomes(
      [](const char* path) { return ::mkdir(path, 0755); });

  EXPECT_NE(error.find("not a regular file"), std::string::npos) << error;
}

TEST_F(DirCopySwap, OfASourceDirectoryForALinkEntersNothing) {
  make_source("file d/f text=mine\nfile g text=mine\n");
  kernel().on(Op::openat, "src/d").first([&] {
    replace(src("d"), by_link_to(outside()));
  });

  const auto report = copy(options());

  EXPECT_EQ(error_of(report).substr(0, 15), "openat on 'd': ");
  EXPECT_FALSE(exists(dst()));
  expect_outside_untouched();
}

TEST_F(DirCopySwap, OfASourceDirectoryThatIsOpenChangesNothing) {
  make_source("file d/f text=mine\n");
  kernel().on(Op::openat, "src/d/f").first([&] {
    replace(src("d"), by_link_to(outside("d")));
  });

  const auto report = copy(options());

  ASSERT_EQ(error_of(report), "");
  EXPECT_EQ(read_file(dst("d/f")), "mine");
}

TEST_F(DirCopySwap, OfANewDirectoryForALinkWritesNothingThere) {
  make_source("file d/f text=mine\n");
  kernel().on(Op::openat, "dst/d").first([&] {
    replace(dst("d"), by_link_to(outside()));
  });

  const auto report = copy(options());

  EXPECT_EQ(error_of(report).substr(0, 15), "openat on 'd': ");
  EXPECT_FALSE(exists(dst()));
  expect_outside_untouched();
}

TEST_F(DirCopySwap, OfAFilledDirectoryForALinkWritesNothingThere) {
  make_source("file d/f text=mine mode=0640\n");
  kernel().on(Op::create, "dst/d/f").first([&] {
    replace(dst("d"), by_link_to(outside("d")));
  });

  ASSERT_EQ(error_of(copy(options())), "");

  expect_outside_untouched();
}

TEST_F(DirCopySwap, OfANewFileForALinkWritesNothingThere) {
  make_source("file f text=mine mode=0640\nfifo p mode=0640\n");
  for (const std::string name : {"f", "p"}) {
    kernel().on(Op::futimens, "dst/" + name).first([=, this] {
      replace(dst(name), by_link_to(outside("secret")));
    });
    kernel().on(Op::utimensat, "dst/" + name).first([=, this] {
      replace(dst(name), by_link_to(outside("secret")));
    });
  }

  ASSERT_EQ(error_of(copy(options())), "");

  expect_outside_untouched();
}

TEST_F(DirCopySwap, OfTheDestinationItselfWritesNothingThere) {
  make_source("file d/f text=mine\nfile g text=mine\n");
  kernel().on(Op::mkdirat, "dst/d").first([&] {
    replace(dst(), by_link_to(outside()));
  });

  (void)copy(options());

  expect_outside_untouched();
}

TEST_F(DirCopySwap, OfAFileThatIsGoneNamesIt) {
  make_source("file f text=mine\n");
  kernel().on(Op::openat, "src/f").first([&] {
    ASSERT_EQ(::unlink(src("f").c_str()), 0);
  });

  EXPECT_EQ(error_of(copy(options())),
            "openat on 'f': No such file or directory (ENOENT)");
}

// A racer swaps a directory for a link to outside and back, as fast as it can.
TEST_F(DirCopySwap, ByARacerLetsNothingOfTheOutsideIn) {
  make_source("file a/d/f text=mine\nfile b/d/f text=mine\n");
  ASSERT_EQ(::symlink(outside("d").c_str(), temp().path("link").c_str()), 0);
  std::atomic<bool> done{false};
  std::thread racer([&] {
    const std::string one = src("a/d");
    const std::string two = temp().path("link");
    while (!done) {
      ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, two.c_str(),
                  RENAME_EXCHANGE);
    }
  });

  for (int round = 0; round < 100; ++round) {
    Options options;
    options.workers = 1 + static_cast<unsigned>(round % 4);
    if (copy(options)) {
      if (S_ISDIR(stat_of(dst("a/d")).st_mode)) {
        EXPECT_EQ(read_file(dst("a/d/f")), "mine");
      }
      remove_all_at(temp().fd(), "dst");
    }
    EXPECT_FALSE(exists(dst()));
  }

  done = true;
  racer.join();
  expect_outside_untouched();
}

}  // namespace
}  // namespace lamina::test
