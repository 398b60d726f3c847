#include "archive/apply.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/archive/applying.h"
#include "tests/support/fixtures.h"

namespace lamina::archive::test {
namespace {

using lamina::test::make_tree;

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

struct stat stat_of(const std::string& path) {
  struct stat stat {};
  EXPECT_EQ(::lstat(path.c_str(), &stat), 0) << path;
  return stat;
}

class Apply : public Applying {};

TEST_F(Apply, MakesWhatTheLayerNames) {
  const auto report = apply(directory("d", 0750) + file("d/f", "hello", 04755) +
                            hard_link("d/g", "d/f") + symlink("s", "d/f"));

  ASSERT_EQ(error_of(report), "");
  EXPECT_EQ(report->entries, 4U);
  EXPECT_EQ(read_file(root("d/g")), "hello");
  EXPECT_EQ(stat_of(root("d/f")).st_ino, stat_of(root("d/g")).st_ino);
  EXPECT_EQ(stat_of(root("d/f")).st_mode & 07777, 04755U);
  EXPECT_EQ(stat_of(root("d")).st_mode & 07777, 0750U);
  // Set after its children were made.
  EXPECT_EQ(stat_of(root("d")).st_mtim.tv_sec, 1700000000);
}

TEST_F(Apply, GivesTheSameTreeAtAnyNumberOfWorkers) {
  std::string members = directory(".");
  for (int i = 0; i < 500; ++i) {
    const std::string dir = "d" + std::to_string(i % 7);
    members += file(dir + "/f" + std::to_string(i),
                    std::string(static_cast<size_t>(i) * 17, 'x'));
    const int other = i / 2;
    members +=
        hard_link("l" + std::to_string(i), "d" + std::to_string(other % 7) +
                                               "/f" + std::to_string(other));
  }
  std::string first;
  for (const unsigned workers : {1U, 2U, 4U}) {
    ApplyOptions options;
    options.workers = workers;
    options.chunk_entries = workers * 3;

    ASSERT_EQ(error_of(apply(members, options)), "");

    const std::string tree = dump();
    EXPECT_TRUE(first.empty() || first == tree) << workers;
    first = tree;
    lamina::test::remove_all_at(temp_.fd(), "root");
  }
}

TEST_F(Apply, ReplacesInsteadOfWritingThroughAName) {
  ASSERT_EQ(error_of(apply(file("f", "old") + hard_link("g", "f"))), "");

  ASSERT_EQ(error_of(apply(file("f", "new"))), "");

  EXPECT_EQ(read_file(root("g")), "old");
  EXPECT_EQ(read_file(root("f")), "new");
}

TEST_F(Apply, TakesTheLastOfTwoEntriesWhole) {
  ASSERT_EQ(error_of(apply(file("f", std::string(5000, 'a')) + file("f", "b") +
                           directory("d") + file("d/x", "x") +
                           file("d", "now a file"))),
            "");

  EXPECT_EQ(read_file(root("f")), "b");
  EXPECT_EQ(read_file(root("d")), "now a file");
}

TEST_F(Apply, RemovesWhatAWhiteoutHides) {
  make_tree(root(), "dir d\nfile d/a text=1\nfile d/b text=2\nfile f text=3\n");

  const auto report = apply(file(".wh.f", "") + file("d/.wh..wh..opq", "") +
                            file("d/c", "kept"));

  ASSERT_EQ(error_of(report), "");
  EXPECT_EQ(report->whiteouts, 2U);
  EXPECT_FALSE(exists("f"));
  EXPECT_FALSE(exists("d/a"));
  EXPECT_EQ(read_file(root("d/c")), "kept");
}

TEST_F(Apply, KeepsWhatTheLayerItselfWroteFromItsWhiteouts) {
  make_tree(root(), "dir d\nfile d/lower text=1\nfile f text=lower\n");

  ASSERT_EQ(error_of(apply(file("f", "upper") + file(".wh.f", "") +
                           file("d/x/new", "new") + file(".wh.d", ""))),
            "");

  EXPECT_EQ(read_file(root("f")), "upper");
  EXPECT_EQ(read_file(root("d/x/new")), "new");
  EXPECT_FALSE(exists("d/lower"));
}

TEST_F(Apply, RefusesWhiteoutsWithoutAName) {
  for (const char* name : {".wh.", ".wh..", ".wh...", "d/.wh..."}) {
    EXPECT_NE(error_of(apply(file(name, ""))), "") << name;
  }
}

TEST_F(Apply, WritesOverlayMarks) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "overlay marks need root";
  }
  ApplyOptions options;
  options.whiteouts = Whiteouts::overlay;

  ASSERT_EQ(error_of(apply(
                file(".wh.gone", "") + directory("d") +
                    file("d/.wh.early", "") + file("d/.wh..wh..opq", "") +
                    file("d/.wh.late", "") + file(".wh.e", "") + directory("e"),
                options)),
            "");

  EXPECT_TRUE(S_ISCHR(stat_of(root("gone")).st_mode));
  EXPECT_FALSE(exists("d/early"));
  EXPECT_FALSE(exists("d/late"));
  for (const char* name : {"d", "e"}) {
    EXPECT_NE(
        lamina::test::dump_tree(root(name)).find("trusted.overlay.opaque=y"),
        std::string::npos)
        << name;
  }
}

TEST_F(Apply, ResolvesParentsInsideTheRoot) {
  make_tree(temp_.path(), "dir outside\n");

  ASSERT_EQ(error_of(apply(directory("usr/lib") + symlink("lib", "/usr/lib") +
                           symlink("up", "../../../usr") + file("lib/a", "1") +
                           file("up/lib/b", "2"))),
            "");

  EXPECT_EQ(read_file(root("usr/lib/a")), "1");
  EXPECT_EQ(read_file(root("usr/lib/b")), "2");
}

TEST_F(Apply, LeavesNothingOfAFailedLayer) {
  const std::string members =
      directory("d") + file("d/f", "x") + hard_link("h", "missing");

  EXPECT_NE(error_of(apply(members)), "");
  EXPECT_NE(::access(root().c_str(), F_OK), 0);

  ASSERT_EQ(::mkdir(root().c_str(), 0711), 0);
  const std::string before = dump();
  EXPECT_NE(error_of(apply(members)), "");
  EXPECT_EQ(dump(), before);
}

TEST_F(Apply, SaysHowMuchOfALayerStaysInARootThatHeldSomething) {
  make_tree(root(), "file there text=1\n");

  const std::string error =
      error_of(apply(file("f", "x") + hard_link("h", "missing")));

  EXPECT_NE(error.find("'h'"), std::string::npos) << error;
  EXPECT_NE(error.find("2 entries were applied and stay"), std::string::npos)
      << error;
  EXPECT_EQ(read_file(root("f")), "x");
}

TEST_F(Apply, ReportsTheFirstErrorInTheArchivesOrder) {
  std::string members;
  for (int i = 0; i < 200; ++i) {
    members += file("f" + std::to_string(i), "body");
  }
  members += hard_link("bad1", "missing") + hard_link("bad2", "missing");
  for (const unsigned workers : {1U, 2U, 4U, 8U}) {
    ApplyOptions options;
    options.workers = workers;

    EXPECT_NE(error_of(apply(members, options)).find("'bad1'"),
              std::string::npos);
  }
}

TEST_F(Apply, RefusesEveryTruncationOfALayer) {
  const std::string tar = directory("d") + file("d/f", "some bytes") +
                          symlink("s", "d/f") + end_marker();
  const size_t whole = tar.size() - end_marker().size();
  for (size_t size = 1; size < whole; size += 37) {
    if (size % 512 == 0) {
      continue;  // The end of an entry is an end.
    }
    EXPECT_NE(error_of(apply_raw(tar.substr(0, size))), "") << size;
    EXPECT_FALSE(::access(root().c_str(), F_OK) == 0) << size;
  }
}

TEST_F(Apply, DemandsTheDigest) {
  const std::string members = file("f", "x");
  const auto report = apply(members);
  ASSERT_EQ(error_of(report), "");
  lamina::test::remove_all_at(temp_.fd(), "root");
  ApplyOptions options;

  options.expect_diff_id = report->diff_id;
  EXPECT_EQ(error_of(apply(members, options)), "");

  lamina::test::remove_all_at(temp_.fd(), "root");
  options.expect_diff_id->value[0] ^= 1;
  EXPECT_NE(error_of(apply(members, options)).find("diffID"),
            std::string::npos);
  EXPECT_NE(::access(root().c_str(), F_OK), 0);
}

TEST_F(Apply, MakesImpliedParentsWithTheEntrysTimes) {
  lamina::test::UmaskScope umask(077);

  ASSERT_EQ(error_of(apply(file("a/b/f", "x", 0666))), "");

  EXPECT_EQ(stat_of(root("a/b")).st_mode & 07777, 0755U);
  EXPECT_EQ(stat_of(root("a")).st_mtim.tv_sec, 1700000000);
  EXPECT_EQ(stat_of(root("a/b/f")).st_mode & 07777, 0666U);
}

TEST_F(Apply, KeepsTheTimesOfADirectoryItOnlyPassesThrough) {
  make_tree(root(), "dir . mtime=5\ndir d mtime=77\nfile d/old text=1\n");

  ASSERT_EQ(error_of(apply(file("d/new", "x"))), "");

  EXPECT_EQ(stat_of(root("d")).st_mtim.tv_sec, 77);
  EXPECT_EQ(stat_of(root()).st_mtim.tv_sec, 5);
}

TEST_F(Apply, StripsLeadingComponents) {
  ApplyOptions options;
  options.strip = 1;
  options.whiteouts = Whiteouts::none;

  const auto report =
      apply(directory("package") + file("package/.wh.name", "x") +
                hard_link("package/g", "package/.wh.name"),
            options);

  ASSERT_EQ(error_of(report), "");
  EXPECT_EQ(report->skipped, 1U);
  EXPECT_EQ(read_file(root("g")), "x");
}

TEST_F(Apply, StopsWhenAsked) {
  std::stop_source stop;
  stop.request_stop();
  ApplyOptions options;
  options.stop = stop.get_token();

  EXPECT_NE(error_of(apply(file("f", "x"), options)).find("ECANCELED"),
            std::string::npos);
  EXPECT_NE(::access(root().c_str(), F_OK), 0);
}

TEST_F(Apply, DropsAttributesThatAreNotALayersToSet) {
  const auto report =
      apply(pax_member({{"SCHILY.xattr.security.selinux", "label"},
                        {"SCHILY.xattr.trusted.overlay.redirect", "/x"},
                        {"SCHILY.xattr.user.overlay.opaque", "y"},
                        {"SCHILY.xattr.user.note", "kept"}}) +
            file("f", "x"));

  ASSERT_EQ(error_of(report), "");
  EXPECT_EQ(report->dropped_xattrs, 3U);
  EXPECT_NE(dump().find("user.note=kept"), std::string::npos) << dump();
  EXPECT_EQ(dump().find("overlay"), std::string::npos) << dump();
}

// Fewer files than a chunk takes, each in a slab of its own: they must not hold
// every slab while the chunk waits to be filled.
TEST_F(Apply, EndsWhenSmallFilesLieFarApart) {
  std::string links;
  for (int i = 0; i < 2100; ++i) {
    links += symlink("s" + std::to_string(i), "t");
  }
  std::string members;
  for (int i = 0; i < 40; ++i) {
    members += file("f" + std::to_string(i), "abc") + links;
  }

  members += end_marker();
  size_t at = 0;
  // Not from memory, where slices would need no slab.
  CallbackSource source([&](MutableBytes out) -> Result<size_t> {
    const size_t n = std::min(out.size(), members.size() - at);
    std::memcpy(out.data(), members.data() + at, n);
    at += n;
    return n;
  });
  auto place = open_parent(real_kernel(), root());
  ASSERT_TRUE(place);

  const auto report = apply_layer(source, *place);

  ASSERT_EQ(error_of(report), "");
  EXPECT_EQ(report->files, 40U);
}

TEST_F(Apply, StreamsAFileLargerThanASlab) {
  std::string body(3 * SlabRing::kSlabBytes + 12345, '\0');
  for (size_t i = 0; i < body.size(); ++i) {
    body[i] = static_cast<char>(i * 31 >> 8);
  }

  ASSERT_EQ(error_of(apply(file("big", body) + file("small", "s"))), "");

  EXPECT_EQ(read_file(root("big")), body);
  EXPECT_EQ(read_file(root("small")), "s");
}

TEST_F(Apply, TakesNothingFromTheDirectoriesOfLowerLayers) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "groups of others need root";
  }
  // Default: owner rwx, user 7 rwx, group r-x, mask rwx, others r-x.
  constexpr char kAcl[] =
      "\2\0\0\0"
      "\1\0\7\0\xFF\xFF\xFF\xFF"
      "\2\0\7\0\7\0\0\0"
      "\4\0\5\0\xFF\xFF\xFF\xFF"
      "\x10\0\7\0\xFF\xFF\xFF\xFF"
      "\x20\0\5\0\xFF\xFF\xFF\xFF";
  const std::string members =
      directory("d/named", 0755) + file("d/named/f", "x") +
      file("d/implied/f", "x") + file("d/f", "x") + symlink("d/l", "f") +
      member({.name = "d/fifo", .type = '6', .mode = 0640}) +
      member({.name = "d/device", .type = '3', .mode = 0604});
  lamina::test::make_tree(root(), "dir . mtime=2\ndir d mtime=1");
  ASSERT_TRUE(apply(members));
  const std::string want = dump();
  lamina::test::remove_all_at(temp_.fd(), "root");
  lamina::test::make_tree(root(), "dir . mtime=2\ndir d mtime=1");
  ASSERT_EQ(::chown(root("d").c_str(), 0, 50), 0);
  ASSERT_EQ(::chmod(root("d").c_str(), 02755), 0);
  if (::setxattr(root("d").c_str(), "system.posix_acl_default", kAcl,
                 sizeof kAcl - 1, 0) != 0) {
    GTEST_SKIP() << "no ACLs here";
  }
  ASSERT_TRUE(apply(members));

  ASSERT_EQ(::removexattr(root("d").c_str(), "system.posix_acl_default"), 0);
  ASSERT_EQ(::chown(root("d").c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(root("d").c_str(), 0755), 0);
  EXPECT_EQ(dump(), want);
}

}  // namespace
}  // namespace lamina::archive::test
