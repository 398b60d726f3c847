#include "archive/changes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "copy/dir_copy.h"
#include "gtest/gtest.h"
#include "tests/archive/diffing.h"
#include "tests/support/faulty_kernel.h"

namespace lamina::archive {
namespace {

using lamina::test::FaultyKernel;
using lamina::test::make_tree;
using lamina::test::Op;
using test::ChangeLog;

constexpr const char* kTree = R"(
  dir     .          mtime=1000
  dir     etc        mtime=1001
  file    etc/hosts  mtime=1002 text=localhost
  file    etc/motd   mtime=1003 text=hello
  dir     usr        mtime=1004
  dir     usr/bin    mtime=1005
  file    usr/bin/a  mtime=1006 mode=0755 text=tool
  symlink usr/lib    -> bin mtime=1007
  fifo    usr/pipe   mtime=1008
)";

// LOWER is kTree, and so is UPPER until the test changes it.
class FindChanges : public test::Diffing {
 protected:
  void SetUp() override { make_trees(kTree, kTree); }

  static void set_mtime(const std::string& path, time_t sec, long nsec = 0) {
    const timespec times[2] = {{0, UTIME_OMIT}, {sec, nsec}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW),
              0);
  }

  // Makes UPPER of these lines instead.
  void make_upper(std::string_view text) {
    lamina::test::remove_all_at(AT_FDCWD, upper());
    make_tree(upper(), text);
  }
};

TEST_F(FindChanges, FindsNothingInEqualTrees) {
  EXPECT_EQ(changes(), "");
}

TEST_F(FindChanges, NamesEveryDirectoryAboveAChangeButTheRoot) {
  ::chmod(upper("usr/bin/a").c_str(), 0700);

  EXPECT_EQ(changes(), "C usr\nC usr/bin\nC usr/bin/a\n");
}

TEST_F(FindChanges, NamesADirectoryOnceHoweverMuchIsInIt) {
  ::chmod(upper("etc/hosts").c_str(), 0600);
  ::chmod(upper("etc/motd").c_str(), 0600);
  ::chmod(upper("etc").c_str(), 0700);

  EXPECT_EQ(changes(), "C etc\nC etc/hosts\nC etc/motd\n");
}

TEST_F(FindChanges, NamesTheTopOfWhatIsGoneAlone) {
  lamina::test::remove_all_at(AT_FDCWD, upper("usr"));

  EXPECT_EQ(changes(), "D usr\n");
}

TEST_F(FindChanges, NamesAllThatIsNew) {
  make_tree(upper(), R"(
    dir  opt      mtime=2000
    dir  opt/x    mtime=2000
    file opt/x/f  mtime=2000
  )");

  EXPECT_EQ(changes(), "A opt\nA opt/x\nA opt/x/f\n");
}

TEST_F(FindChanges, GoesInTheOrderOfBytesADirectoryBeforeItsChildren) {
  make_tree(upper(), R"(
    file a.b     mtime=2000
    file a/z     mtime=2000
    file a-b     mtime=2000
    file B       mtime=2000
    file \xff    mtime=2000
    file a/\x01  mtime=2000
  )");

  EXPECT_EQ(changes(), "A B\nA a\nA a/\x01\nA a/z\nA a-b\nA a.b\nA \xff\n");
}

TEST_F(FindChanges, PutsDeletionsFirstWhereThatIsAsked) {
  ::unlink(upper("etc/motd").c_str());
  make_tree(upper(), "file etc/a mtime=2000");
  set_mtime(upper("etc"), 1001);

  EXPECT_EQ(changes(),
            "C etc\n"
            "A etc/a\n"
            "D etc/motd\n");
  EXPECT_EQ(changes({}, Deletions::first),
            "C etc\n"
            "D etc/motd\n"
            "A etc/a\n");
}

TEST_F(FindChanges, SeesAnotherKindInPlaceOfTheOld) {
  ::unlink(upper("etc/motd").c_str());
  ::symlink("hosts", upper("etc/motd").c_str());
  lamina::test::remove_all_at(AT_FDCWD, upper("usr/bin"));
  make_tree(upper(), "file usr/bin mtime=1005");
  ::unlink(upper("usr/pipe").c_str());
  make_tree(upper(), "file usr/pipe/f mtime=1005");

  EXPECT_EQ(changes(),
            "C etc\nC etc/motd\nC usr\nC usr/bin\nC usr/pipe\nA usr/pipe/f\n");
}

TEST_F(FindChanges, SeesTheSmallestDifferenceOfEachKind) {
  const std::string file = upper("usr/bin/a");
  const std::string seen = "C usr\nC usr/bin\nC usr/bin/a\n";
  auto write = [&](const char* text) {
    make_tree(upper(), "file usr/bin/tmp mtime=1006 mode=0755 text=" +
                           std::string(text));
    ::rename(upper("usr/bin/tmp").c_str(), file.c_str());
    set_mtime(upper("usr/bin"), 1005);
    set_mtime(upper("usr"), 1004);
  };

  write("tooL");
  EXPECT_EQ(changes(), seen) << "one byte, the same size and time";
  write("tools");
  EXPECT_EQ(changes(), seen) << "one byte more";
  write("tool");
  EXPECT_EQ(changes(), "") << "the same bytes in another inode";
  set_mtime(file, 1006, 1);
  EXPECT_EQ(changes(), seen) << "one nanosecond";
  set_mtime(file, 1006);
  ::chmod(file.c_str(), 04755);
  EXPECT_EQ(changes(), seen) << "a set-id bit";
}

TEST_F(FindChanges, SeesTargetsOfSymlinksAndTimesOfDirectories) {
  ::unlink(upper("usr/lib").c_str());
  ::symlink("bim", upper("usr/lib").c_str());
  set_mtime(upper("usr/lib"), 1007);
  set_mtime(upper("usr"), 1004);
  EXPECT_EQ(changes(), "C usr\nC usr/lib\n");

  make_upper(kTree);
  set_mtime(upper("usr/bin"), 1005, 7);
  EXPECT_EQ(changes(), "C usr\nC usr/bin\n");
}

TEST_F(FindChanges, SeesAttributesOfImagesAlone) {
  if (::lsetxattr(upper("etc/motd").c_str(), "user.a", "1", 1, 0) != 0) {
    GTEST_SKIP() << "no user attributes here";
  }
  EXPECT_EQ(changes(), "C etc\nC etc/motd\n");
  EXPECT_EQ(changes({.xattrs = copy::Xattrs::none}), "");

  ::lsetxattr(lower("etc/motd").c_str(), "user.a", "1", 1, 0);
  ::lsetxattr(upper("etc").c_str(), "user.overlay.x", "1", 1, 0);
  EXPECT_EQ(changes(), "");
  ::lsetxattr(lower("etc/motd").c_str(), "user.a", "2", 1, 0);
  EXPECT_EQ(changes(), "C etc\nC etc/motd\n");
}

TEST_F(FindChanges, MayTakeAWholeSecondForAnyTimeWithinIt) {
  set_mtime(upper("etc/motd"), 1003, 500);
  set_mtime(upper("etc/hosts"), 1002, 700);
  set_mtime(lower("etc/hosts"), 1002, 800);
  set_mtime(upper("usr/bin/a"), 1007);

  EXPECT_EQ(changes({.times = Times::whole_seconds}),
            "C etc\nC etc/hosts\nC usr\nC usr/bin\nC usr/bin/a\n");
}

TEST_F(FindChanges, TakesHolesForZeros) {
  make_tree(lower(), "file sparse size=3145728 data=0+4096 mtime=5");
  make_tree(upper(), "file sparse size=3145728 data=0+4096 mtime=5");
  const int fd = ::open(upper("sparse").c_str(), O_RDWR | O_CLOEXEC);
  const std::string zeros(2 << 20, '\0');
  ASSERT_EQ(::pwrite(fd, zeros.data(), zeros.size(), 1 << 20),
            static_cast<ssize_t>(zeros.size()));
  ::close(fd);
  set_mtime(upper("sparse"), 5);

  EXPECT_EQ(changes(), "");
}

TEST_F(FindChanges, DoesNotEnterADirectoryThatIsTheSameInBoth) {
  FaultyKernel kernel;
  ChangeLog log;
  auto found =
      find_changes(open(lower()), open(lower()), log, {.kernel = &kernel});

  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(log.text(), "");
  EXPECT_EQ(kernel.count(Op::getdents), 0U);
}

// What a layer that shares its files by hard links costs: no file is opened,
// read, or asked for its attributes.
TEST_F(FindChanges, ReadsNoFileThatBothTreesShare) {
  lamina::test::remove_all_at(AT_FDCWD, upper());
  make_tree(lower(), "file etc/big mtime=9 size=300000 fill=3");
  copy::Options shared;
  shared.sharing = copy::Sharing::hardlink;
  auto copied = copy::dir_copy(lower(), upper(), shared);
  ASSERT_TRUE(copied) << copied.error().message();
  make_tree(upper(), "file etc/new mtime=9 text=new");
  FaultyKernel kernel;

  EXPECT_EQ(changes({.kernel = &kernel}), "C etc\nA etc/new\n");

  EXPECT_EQ(kernel.count(Op::pread), 0U);
  EXPECT_EQ(kernel.count(Op::read), 0U);
  for (const char* name : {"etc/hosts", "etc/big", "usr/bin/a"}) {
    EXPECT_EQ(kernel.trace(name), "fstatat fstatat ") << name;
  }
}

TEST_F(FindChanges, GoesAsDeepAsTheTreesAre) {
  constexpr size_t kDepth = 300;
  auto deepen = [](const std::string& tree, const char* bottom_file) {
    auto bottom = lamina::test::make_chain(
        lamina::test::open_directory(tree).get(), kDepth);
    make_tree(bottom.get(), bottom_file);
  };
  deepen(lower(), "file f mtime=7");
  deepen(upper(), "file f mtime=8");

  const std::string found = changes();

  EXPECT_EQ(static_cast<size_t>(std::count(found.begin(), found.end(), '\n')),
            kDepth + 1);
}

TEST_F(FindChanges, FailsWhenATreeCannotBeReadOrChanges) {
  FaultyKernel broken;
  broken.on(Op::getdents, "lower/etc").fails(EIO);
  EXPECT_EQ(changes({.kernel = &broken}),
            "error: getdents64 on 'etc': Input/output error (EIO)\n");

  FaultyKernel swapped;
  swapped.on(Op::openat, "upper/etc/motd").first([&] {
    make_tree(upper(), "file etc/other mtime=1003 text=hullo");
    ::rename(upper("etc/other").c_str(), upper("etc/motd").c_str());
  });
  std::string error = changes({.kernel = &swapped});
  EXPECT_NE(error.find("'etc/motd'"), std::string::npos) << error;
  EXPECT_NE(error.find("it changed while it was read"), std::string::npos)
      << error;
}

TEST_F(FindChanges, StopsWhenAsked) {
  std::stop_source source;
  source.request_stop();

  EXPECT_EQ(changes({.stop = source.get_token()}).substr(0, 12),
            "error: diff:");
}

}  // namespace
}  // namespace lamina::archive
