// A copy holds all that its source holds: on every file system, at any width,
// in every mode.
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/copy/copying.h"
#include "tests/support/fixtures.h"
#include "tests/support/mounts.h"

namespace lamina::test {
namespace {

using copy::Options;
using copy::Sharing;

constexpr std::size_t kEntries = 250;
constexpr DumpOptions kAll = {.atimes = Shown::yes};

bool shares_extents(FileSystem kind) {
  return kind == FileSystem::xfs || kind == FileSystem::btrfs;
}

RandomTreeOptions all_that(const std::string& directory) {
  RandomTreeOptions options = kEverything;
  if (!holds_user_xattrs(directory))
    options.user_xattrs = RandomTreeOptions::May::no;
  return options;
}

class DirCopyOn : public OnEachFileSystem {
  MountOptions mount_options() const override {
    return {.bytes = kSmallestImage};
  }

 protected:
  std::vector<Sharing> modes() const {
    std::vector<Sharing> modes = {Sharing::automatic, Sharing::content,
                                  Sharing::hardlink};
    if (shares_extents(GetParam()))
      modes.push_back(Sharing::reflink);
    return modes;
  }

  // Copies and compares with how the source was before: whoever reads a symlink
  // changes its time of access, a copier too.
  void expect_kept(const Options& options) {
    const std::string want = dump_tree(path("src"), kAll);

    const auto report = copy::dir_copy(path("src"), path("dst"), options);

    ASSERT_EQ(error_of(report), "");
    EXPECT_EQ(dump_difference(want, dump_tree(path("dst"), kAll)), "");
    remove_all_at(open_directory(path(".")).get(), "dst");
  }
};

TEST_P(DirCopyOn, KeepsEverythingAtAnyWidthAndInAnyMode) {
  const std::uint64_t seeds = std::getenv("LAMINA_FULL") == nullptr ? 1 : 20;
  const std::uint64_t first = seed_from_environment(11);
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    make_tree(path("src"), random_tree(seed, kEntries, all_that(path("."))));
    for (const Sharing mode : modes()) {
      for (const unsigned width : {1U, 2U, 4U}) {
        SCOPED_TRACE("LAMINA_SEED=" + std::to_string(seed) + " width " +
                     std::to_string(width) + " mode " +
                     std::string(copy::to_string(mode)));
        Options options;
        options.sharing = mode;
        options.workers = width;
        expect_kept(options);
      }
    }
    remove_all_at(open_directory(path(".")).get(), "src");
  }
}

TEST_P(DirCopyOn, LeavesTheSourceAsItWas) {
  make_tree(path("src"),
            random_tree(seed_from_environment(12), 100, all_that(path("."))));
  const std::string before = dump_tree(path("src"));

  ASSERT_EQ(error_of(copy::dir_copy(path("src"), path("dst"))), "");

  EXPECT_EQ(dump_difference(before, dump_tree(path("src"))), "");
}

TEST_P(DirCopyOn, LeavesTimesOfAccessAlone) {
  // Older than the time of change, so that a plain read would move it.
  make_tree(path("src"),
            "dir . atime=1.000000001\n"
            "dir d atime=2.000000002\n"
            "file d/large size=700000 fill=1 atime=3.000000003\n"
            "file d/small text=x atime=4.000000004\n");
  const std::string before = dump_tree(path("src"), kAll);
  Options options;
  options.sharing = Sharing::content;

  ASSERT_EQ(error_of(copy::dir_copy(path("src"), path("dst"), options)), "");

  EXPECT_EQ(dump_difference(before, dump_tree(path("src"), kAll)), "");
  expect_same(path("src"), path("dst"), kAll);
}

TEST_P(DirCopyOn, IsExactWhateverTheUmask) {
  make_tree(path("src"),
            random_tree(seed_from_environment(13), 100, all_that(path("."))));
  for (const mode_t mask :
       {mode_t{0}, mode_t{022}, mode_t{077}, mode_t{0777}}) {
    for (const unsigned width : {1U, 4U}) {
      SCOPED_TRACE("umask " + std::to_string(mask) + " width " +
                   std::to_string(width));
      const UmaskScope scope(mask);
      Options options;
      options.workers = width;
      expect_kept(options);
    }
  }
}

LAMINA_ON_EACH_FILE_SYSTEM(DirCopyOn);

// From one file system to another, where nothing can be shared.
using Pair = std::pair<FileSystem, FileSystem>;

class DirCopyBetween : public testing::TestWithParam<Pair> {};

TEST_P(DirCopyBetween, KeepsEverything) {
  for (const FileSystem kind : {GetParam().first, GetParam().second}) {
    if (const std::string& reason = why_not(kind); !reason.empty())
      GTEST_SKIP() << reason;
  }
  const Mount from(GetParam().first);
  const Mount to(GetParam().second);
  RandomTreeOptions holds = all_that(from.path());
  if (!holds_user_xattrs(to.path()))
    holds.user_xattrs = RandomTreeOptions::May::no;
  make_tree(from.path("src"),
            random_tree(seed_from_environment(14), 200, holds));
  const std::string want = dump_tree(from.path("src"), kAll);

  const auto report = copy::dir_copy(from.path("src"), to.path("dst"));

  ASSERT_EQ(error_of(report), "");
  EXPECT_EQ(dump_difference(want, dump_tree(to.path("dst"), kAll)), "");
  EXPECT_EQ(report->reflinked, 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Two, DirCopyBetween,
    testing::Values(Pair{FileSystem::xfs, FileSystem::tmpfs},
                    Pair{FileSystem::tmpfs, FileSystem::ext4},
                    Pair{FileSystem::ext4, FileSystem::btrfs},
                    Pair{FileSystem::btrfs, FileSystem::xfs},
                    Pair{FileSystem::overlay, FileSystem::xfs}),
    [](const testing::TestParamInfo<Pair>& at) {
      return to_string(at.param.first) + "_to_" + to_string(at.param.second);
    });

}  // namespace
}  // namespace lamina::test
