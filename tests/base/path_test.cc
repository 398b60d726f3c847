#include "base/path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "base/kernel.h"
#include "tests/copy/mount_at.h"
#include "tests/support/faulty_kernel.h"
#include "tests/support/mounts.h"
#include "tests/support/tree.h"

namespace lamina {
namespace {

using test::MountAt;
using test::TempDir;

class Paths : public testing::Test {
 protected:
  Paths() {
    test::make_tree(temp_.fd(),
                    "dir a/b/c\ndir other\nfile file text=x\n"
                    "symlink to_a -> a\nsymlink dangling -> nowhere\n");
  }

  // The identity of an open directory, as the path that finds it.
  static std::string path_of_fd(const Fd& fd) {
    return path_of(real_kernel(), fd).value();
  }

  Fd open(const std::string& name) const {
    return open_directory(real_kernel(), temp_.path(name)).value();
  }
  bool within(const std::string& inner, const std::string& outer) const {
    return lies_within(real_kernel(), open(inner), open(outer)).value();
  }

  TempDir temp_;
};

struct Split {
  std::string path;    // Below the temporary directory.
  std::string parent;  // Likewise.
  std::string name;
};

TEST_F(Paths, AreSplitIntoAnOpenParentAndAName) {
  const Split table[] = {
      {"a", "", "a"},
      {"a/b", "a", "b"},
      {"a/b/", "a", "b"},
      {"a/b///", "a", "b"},
      {"a//b", "a", "b"},
      {"a/new", "a", "new"},
      {"to_a/new", "a", "new"},
      {"to_a", "", "to_a"},
      {"dangling", "", "dangling"},
      {"a/../other/x", "other", "x"},
      {"a/.", "a", "."},
      {"a/..", "a", ".."},
  };
  for (const Split& row : table) {
    const std::string path = temp_.path(row.path);
    const auto place = open_parent(real_kernel(), path);

    ASSERT_TRUE(place) << place.error().message();
    EXPECT_EQ(path_of_fd(place->parent),
              row.parent.empty() ? temp_.path() : temp_.path(row.parent))
        << row.path;
    EXPECT_EQ(place->name, row.name) << row.path;
    EXPECT_EQ(place->shown, path);
  }
}

TEST_F(Paths, OfTheRootAndOfOneNameHaveAParentToo) {
  const auto root = open_parent(real_kernel(), "///");
  ASSERT_TRUE(root);
  EXPECT_EQ(path_of_fd(root->parent), "/");
  EXPECT_EQ(root->name, ".");

  const auto one = open_parent(real_kernel(), "/name");
  ASSERT_TRUE(one);
  EXPECT_EQ(path_of_fd(one->parent), "/");
  EXPECT_EQ(one->name, "name");

  const auto here = open_parent(real_kernel(), "name");
  ASSERT_TRUE(here);
  EXPECT_EQ(path_of_fd(here->parent),
            path_of_fd(open_directory(real_kernel(), ".").value()));
}

TEST_F(Paths, ThatCannotBeAreRefused) {
  using namespace std::string_view_literals;

  EXPECT_EQ(open_parent(real_kernel(), "").error().code, ENOENT);
  EXPECT_EQ(open_parent(real_kernel(), "/a\0b"sv).error().code, EINVAL);
  EXPECT_EQ(open_parent(real_kernel(), temp_.path("none/x")).error().code,
            ENOENT);
  EXPECT_EQ(open_parent(real_kernel(), temp_.path("file/x")).error().code,
            ENOTDIR);
  EXPECT_EQ(open_parent(real_kernel(), temp_.path("dangling/x")).error().code,
            ENOENT);
}

TEST_F(Paths, AreNamedWhenTheyCannotBeOpened) {
  const std::string path = temp_.path("file");

  EXPECT_EQ(open_directory(real_kernel(), path).error(),
            make_error(ENOTDIR, "open", path));
}

TEST_F(Paths, OfDirectoriesAreFollowedWhenAPersonGivesThem) {
  EXPECT_EQ(path_of_fd(open("to_a")), temp_.path("a"));
}

TEST_F(Paths, OfOpenDirectoriesAreAbsoluteAndWithoutLinks) {
  EXPECT_EQ(path_of_fd(open("to_a/b")), temp_.path("a/b"));
}

TEST_F(Paths, DeeperThanAPathCanSayAreAnError) {
  const test::Descriptor deep = test::make_chain(temp_.fd(), 2500);
  const Fd fd(::dup(deep.get()));

  EXPECT_EQ(path_of(real_kernel(), fd).error().code, ENAMETOOLONG);
}

TEST_F(Paths, LieWithinThemselvesAndWhatIsAbove) {
  EXPECT_TRUE(within("a", "a"));
  EXPECT_TRUE(within("a/b/c", "a"));
  EXPECT_TRUE(within("a/b/c", ""));
  EXPECT_FALSE(within("a", "a/b"));
  EXPECT_FALSE(within("other", "a"));
  EXPECT_TRUE(lies_within(real_kernel(), open("a"),
                          open_directory(real_kernel(), "/").value())
                  .value());
}

TEST_F(Paths, LieWithinWhateverNameTheyWereReachedBy) {
  EXPECT_TRUE(within("to_a/b", "a"));
  EXPECT_TRUE(within("a/b", "to_a"));
}

TEST_F(Paths, LieWithinThroughABindMount) {
  if (!test::why_not(test::FileSystem::tmpfs).empty())
    GTEST_SKIP() << test::why_not(test::FileSystem::tmpfs);
  const MountAt at = MountAt::bind(temp_.path("a"), temp_.path("other"));

  // The same directory by another way.
  EXPECT_TRUE(within("other", "a"));
  EXPECT_TRUE(within("other/b", "a"));
  EXPECT_TRUE(within("a/b", "other"));
}

TEST_F(Paths, LieWithinFromAnotherFileSystem) {
  if (!test::why_not(test::FileSystem::tmpfs).empty())
    GTEST_SKIP() << test::why_not(test::FileSystem::tmpfs);
  const MountAt at = MountAt::memory(temp_.path("a/b"));
  test::make_tree(temp_.path("a/b"), "dir x\n");

  EXPECT_TRUE(within("a/b/x", "a"));
  EXPECT_FALSE(within("a", "a/b"));
}

TEST_F(Paths, LieWithinAtAnyDepth) {
  const test::Descriptor deep = test::make_chain(temp_.fd(), 3000);
  const Fd fd(::dup(deep.get()));

  EXPECT_TRUE(lies_within(real_kernel(), fd, open("")).value());
  EXPECT_FALSE(lies_within(real_kernel(), fd, open("a")).value());
}

TEST_F(Paths, ThatCannotBeComparedAreAnError) {
  for (const test::Op op : {test::Op::fstat, test::Op::openat}) {
    test::FaultyKernel kernel;
    kernel.on(op).fails(EIO);

    EXPECT_EQ(lies_within(kernel, open("a"), open("other")).error().code, EIO);
  }
}

}  // namespace
}  // namespace lamina
