#include "archive/diff.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

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
using test::listing;

// Owners as they are for whoever runs the test.
std::string own() {
  return " owner=" + std::to_string(::geteuid()) + ":" +
         std::to_string(::getegid());
}

class WriteDiff : public test::Diffing {
 protected:
  // The error of a diff, and what was written until then.
  std::string error_of(const DiffOptions& options = {}) {
    auto report = diff_to(tar_, options);
    return report ? "" : report.error().message();
  }
  std::string tar_;
};

TEST_F(WriteDiff, OfEqualTreesIs1024ZeroBytes) {
  make_trees("file a mtime=1 text=x", "file a mtime=1 text=x");

  std::string tar;
  auto report = diff_to(tar);

  EXPECT_EQ(tar, std::string(1024, '\0'));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->entries, 0U);
  EXPECT_EQ(report->bytes_out, 1024U);
  EXPECT_EQ(report->diff_id->text(),
            "sha256:"
            "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef");
}

// containerd's "ParentInclusion" and "UpdateDirectoryPermission".
TEST_F(WriteDiff, NamesTheDirectoriesAboveAChangeAsTheyAre) {
  make_trees(R"(
    dir  d       mtime=1
    dir  d/e     mtime=2
    dir  d/e/f   mtime=3
    file d/other mtime=3 text=x
  )",
             R"(
    dir  d       mtime=1
    dir  d/e     mtime=2
    dir  d/e/f   mtime=3 mode=0777
    file d/other mtime=3 text=x
  )");

  EXPECT_EQ(listed(), "0 dir d mode=755" + own() +
                          " mtime=1\n"
                          "1 dir d/e mode=755" +
                          own() +
                          " mtime=2\n"
                          "2 dir d/e/f mode=777" +
                          own() + " mtime=3\n");
}

// Not under "WhiteoutIncludesParents" and "WhiteoutParentRemoval" alone: those
// of one directory stand before what else is in it (OCI, layer.md).
TEST_F(WriteDiff, SaysWhatIsGoneByExplicitWhiteoutsFirstAmongSiblings) {
  make_trees(R"(
    dir  d     mtime=1
    file d/b   mtime=1
    file d/m   mtime=1
    dir  gone  mtime=1
    file gone/deep/f mtime=1
  )",
             R"(
    dir  d     mtime=1
    file d/a   mtime=5
    file d/m   mtime=1
  )");

  EXPECT_EQ(listed(),
            "0 file .wh.gone mode=000 owner=0:0 mtime=0 size=0\n"
            "1 dir d mode=755" +
                own() +
                " mtime=1\n"
                "2 file d/.wh.b mode=000 owner=0:0 mtime=0 size=0\n"
                "3 file d/a mode=644" +
                own() + " mtime=5 size=0\n");
}

TEST_F(WriteDiff, GivesAWhiteoutNothingOfTheHostOrTheClock) {
  make_trees("file a mtime=1", "");

  const std::string tar = diff();

  EXPECT_EQ(tar.size(), 512U + 1024U) << "one header without a body";
  EXPECT_EQ(tar.substr(100, 48), std::string("0000000\0"
                                             "0000000\0"
                                             "0000000\0"
                                             "00000000000\0"
                                             "00000000000\0",
                                             48))
      << "mode, owners, size, time";
}

TEST_F(WriteDiff, ReplacesAnotherKindWithoutAWhiteout) {
  make_trees(R"(
    file    a  mtime=1 text=x
    dir     b  mtime=1
    file    b/f mtime=1
    symlink c  -> a mtime=1
  )",
             R"(
    dir     a  mtime=1
    file    a/f mtime=1
    symlink b  -> c mtime=1
    fifo    c  mtime=1
  )");

  EXPECT_EQ(listed(), "0 dir a mode=755" + own() +
                          " mtime=1\n"
                          "1 file a/f mode=644" +
                          own() +
                          " mtime=1 size=0\n"
                          "2 symlink b -> c mode=777" +
                          own() +
                          " mtime=1\n"
                          "3 fifo c mode=644" +
                          own() + " mtime=1\n");
}

// containerd's "HardlinkUpdatedParent" and "HardlinkParentInclusion".
TEST_F(WriteDiff, TakesUnchangedNamesOfAChangedInodeAlongWithTheirParents) {
  constexpr const char* kLower = R"(
    dir  p     mtime=1
    file p/one link=1 mtime=2 text=x
    dir  q     mtime=1
    file q/two link=1
  )";
  make_trees(kLower, kLower);
  ASSERT_EQ(::link(upper("p/one").c_str(), upper("new").c_str()), 0);
  ASSERT_EQ(::link(upper("p/one").c_str(), upper("z").c_str()), 0);

  EXPECT_EQ(listed(), "0 file new mode=644" + own() +
                          " mtime=2 size=1 body=x\n"
                          "1 dir p mode=755" +
                          own() +
                          " mtime=1\n"
                          "2 link p/one -> new mode=644" +
                          own() +
                          " mtime=2\n"
                          "3 dir q mode=755" +
                          own() +
                          " mtime=1\n"
                          "4 link q/two -> new mode=644" +
                          own() +
                          " mtime=2\n"
                          "5 link z -> new mode=644" +
                          own() + " mtime=2\n");
}

TEST_F(WriteDiff, KeepsHardLinksOfEveryKind) {
  make_trees("", R"(
    symlink a -> x link=1 mtime=1
    symlink b link=1
    fifo    c link=2 mtime=1
    fifo    d link=2
  )");

  const std::string seen = listed();

  EXPECT_NE(seen.find("1 link b -> a"), std::string::npos) << seen;
  EXPECT_NE(seen.find("3 link d -> c"), std::string::npos) << seen;
}

// containerd's "IgnoreSockets".
TEST_F(WriteDiff, LeavesSocketsOutAndCountsThem) {
  make_trees(R"(
    file was  mtime=1
    socket s  mtime=1
  )",
             R"(
    socket was  mtime=1
    socket s    mtime=2
    socket new  mtime=1
    file   a    mtime=1
  )");

  std::string tar;
  auto report = diff_to(tar);

  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(listing(tar),
            "0 file a mode=644" + own() +
                " mtime=1 size=0\n"
                "1 file .wh.was mode=000 owner=0:0 mtime=0 size=0\n");
  EXPECT_EQ(report->sockets, 3U);
}

TEST_F(WriteDiff, WritesHolesAsZeros) {
  make_trees("", "file sparse size=1048576 data=524288+5 mtime=1");
  FaultyKernel kernel;
  std::string tar;

  auto report = diff_to(tar, {.changes = {.kernel = &kernel}});

  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(tar.size(), 512U + 1048576U + 1024U);
  test::Diffing::apply(tar, temp().path("made"));
  EXPECT_EQ(
      lamina::test::dump_tree(
          temp().path("made"),
          {.holes = lamina::test::Shown::no, .root = lamina::test::Shown::no}),
      lamina::test::dump_tree(upper(), {.holes = lamina::test::Shown::no,
                                        .root = lamina::test::Shown::no}));
  EXPECT_LE(kernel.count(Op::pread), 2U) << "holes are not read";
}

TEST_F(WriteDiff, TellsWhatItWrote) {
  make_trees("file gone mtime=1", R"(
    dir     d    mtime=1
    file    d/f  link=1 mtime=1 text=12345
    file    d/g  link=1
    symlink d/s  -> f mtime=1
    fifo    d/p  mtime=1
  )");
  std::string tar;
  std::atomic<uint64_t> counted = 0;

  auto report = diff_to(tar, {.bytes_out = &counted});

  ASSERT_TRUE(report);
  EXPECT_EQ(report->entries, 6U);
  EXPECT_EQ(report->directories, 1U);
  EXPECT_EQ(report->files, 1U);
  EXPECT_EQ(report->hard_links, 1U);
  EXPECT_EQ(report->symlinks, 1U);
  EXPECT_EQ(report->specials, 1U);
  EXPECT_EQ(report->whiteouts, 1U);
  EXPECT_EQ(report->bytes, 5U);
  EXPECT_EQ(report->bytes_out, tar.size());
  EXPECT_EQ(counted, tar.size());
}

TEST_F(WriteDiff, RefusesWhatALayerCannotHold) {
  make_trees("", "file d/.wh.x mtime=1");
  EXPECT_EQ(error_of(),
            "diff on 'd/.wh.x': a name in a layer cannot begin with .wh.: "
            "Invalid argument (EINVAL)");

  lamina::test::remove_all_at(AT_FDCWD, upper());
  make_tree(lower(), "file d/.wh.y mtime=1");
  make_tree(upper(), "dir d");
  EXPECT_NE(error_of().find("'d/.wh.y'"), std::string::npos);

  lamina::test::make_chain(lamina::test::open_directory(upper()).get(), 1100,
                           "c");
  EXPECT_NE(error_of(), "");
}

TEST_F(WriteDiff, LeavesOutAttributesThatATarCannotSayWhereThatIsForgiven) {
  make_trees("", "file f mtime=1");
  if (::lsetxattr(upper("f").c_str(), "user.empty", "", 0, 0) != 0) {
    GTEST_SKIP() << "no user attributes here";
  }
  ::lsetxattr(upper("f").c_str(), "user.a=b", "1", 1, 0);
  ::lsetxattr(upper("f").c_str(), "user.kept", "1", 1, 0);
  EXPECT_NE(error_of().find("'f': a tar cannot hold the attribute user."),
            std::string::npos)
      << error_of();
  std::string tar;

  auto report = diff_to(tar, {.loss = copy::Loss::forgiven});

  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->dropped_xattrs, 2U);
  EXPECT_NE(report->first_dropped.find("user.a=b"), std::string::npos);
  EXPECT_NE(listing(tar).find("user.kept"), std::string::npos);
}

TEST_F(WriteDiff, HidesNamesAsLongAsAFileSystemHasThem) {
  const std::string name(255, 'n');
  make_trees("file " + name + " mtime=1\nfile kept mtime=1",
             "file kept mtime=1");

  const std::string tar = diff();

  EXPECT_EQ(listing(tar),
            "0 file .wh." + name + " mode=000 owner=0:0 mtime=0 size=0\n");
  test::Diffing::apply(tar, lower());
  EXPECT_EQ(changes(), "");
}

// What a failed diff has written is an archive to no reader.
class SpoiledDiff : public WriteDiff {
 protected:
  void SetUp() override {
    make_trees("", R"(
      file a mtime=1 text=first
      file b mtime=1 size=1000 fill=1
      file c mtime=1 size=300000 fill=2
    )");
  }
  void expect_spoiled() const {
    const std::string seen = listing(tar_);
    EXPECT_NE(seen.find("\nread tar on "), std::string::npos) << seen;
  }
};

TEST_F(SpoiledDiff, WhenAFileShrinks) {
  FaultyKernel kernel;
  kernel.on(Op::pread, "c").call(2).first([&] {
    ASSERT_EQ(::truncate(upper("c").c_str(), 10), 0);
  });

  EXPECT_EQ(error_of({.changes = {.kernel = &kernel}}),
            "read on 'c': it changed while it was read: Stale file handle "
            "(ESTALE)");
  expect_spoiled();
}

TEST_F(SpoiledDiff, WhenAFileGrowsOrIsWrittenTo) {
  for (const char* name : {"b", "c"}) {
    SCOPED_TRACE(name);
    FaultyKernel kernel;
    kernel.on(Op::pread, name).call(1).first([&] {
      Fd fd(::open(upper(name).c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
      ASSERT_EQ(::write(fd.get(), "x", 1), 1);
    });

    EXPECT_NE(error_of({.changes = {.kernel = &kernel}})
                  .find("it changed while it was read"),
              std::string::npos);
    expect_spoiled();
  }
}

TEST_F(SpoiledDiff, WhenAFileIsReplacedOrCannotBeRead) {
  FaultyKernel broken;
  broken.on(Op::pread, "b").fails(EIO);
  EXPECT_EQ(error_of({.changes = {.kernel = &broken}}),
            "pread on 'b': Input/output error (EIO)");
  expect_spoiled();

  FaultyKernel refused;
  refused.on(Op::openat, "b").fails(EACCES);
  EXPECT_EQ(error_of({.changes = {.kernel = &refused}}),
            "openat on 'b': Permission denied (EACCES)");
  expect_spoiled();

  FaultyKernel swapped;
  swapped.on(Op::openat, "b").first([&] {
    ::unlink(upper("b").c_str());
    ::symlink("a", upper("b").c_str());
  });
  EXPECT_NE(error_of({.changes = {.kernel = &swapped}}).find("on 'b'"),
            std::string::npos);
  expect_spoiled();
}

TEST_F(SpoiledDiff, WhenItIsStopped) {
  std::stop_source source;
  FaultyKernel kernel;
  kernel.on(Op::openat, "b").first([&] { source.request_stop(); });

  std::string error =
      error_of({.changes = {.stop = source.get_token(), .kernel = &kernel}});

  EXPECT_NE(error.find("ECANCELED"), std::string::npos) << error;
  expect_spoiled();
}

TEST_F(SpoiledDiff, HandsOnTheErrorOfItsSink) {
  size_t calls = 0;
  auto report =
      write_diff(open(lower()), open(upper()), [&](Bytes) -> Result<void> {
        ++calls;
        return fail(make_error(ENOSPC, "write", "out"));
      });

  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message(),
            "write on 'out': No space left on device (ENOSPC)");
  EXPECT_EQ(calls, 1U) << "a sink that failed is left alone";
}

}  // namespace
}  // namespace lamina::archive
