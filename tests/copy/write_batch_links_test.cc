// Parents that are symlinks: followed inside the root, refused where they lead
// out.
#include <cerrno>

#include "tests/copy/batching.h"

namespace lamina::test {
namespace {

class WriteBatchLinks : public Batching {
 protected:
  void SetUp() override {
    make_tree(temp().path("outside"), "file f text=stays\ndir d\n");
    before_ = dump_tree(temp().path("outside"));
  }
  void TearDown() override {
    EXPECT_EQ(dump_tree(temp().path("outside")), before_);
  }

  // What a batch says whose third entry lies below `link`.
  std::string refusal(const std::string& tree) {
    make_tree(root(), tree);
    Entries entries;
    entries.add("a", "1").add("d/b", "2").add("link/f", "3").add("link/g", "4");
    entries.add("link/h/i", "5").add("z", "6");
    const std::string said = error_of(write(entries));
    EXPECT_EQ(read_file(root("a")), "1");
    EXPECT_EQ(read_file(root("d/b")), "2");
    remove_all_at(temp().fd(), "root");
    return said;
  }

 private:
  std::string before_;
};

constexpr const char* kLeadsOut =
    "2: resolve on 'link/f': a parent is a symbolic link that leads out of the "
    "root: Invalid cross-device link (EXDEV)";

TEST_F(WriteBatchLinks, AreFollowedInsideTheRoot) {
  make_tree(root(),
            "dir real/deep\n"
            "symlink link -> real\n"
            "symlink real/up -> ../other\n"
            "dir other\n"
            "symlink twice -> ./link/deep/../up//\n"
            "symlink here -> .\n");
  Entries entries;
  entries.add("link/a", "1").add("real/up/b", "2").add("twice/c", "3");
  entries.add("here/here/d", "4").add("link/new/e", "5");

  const auto report = write(entries);

  ASSERT_TRUE(report) << error_of(report);
  EXPECT_EQ(read_file(root("real/a")), "1");
  EXPECT_EQ(read_file(root("other/b")), "2");
  EXPECT_EQ(read_file(root("other/c")), "3");
  EXPECT_EQ(read_file(root("d")), "4");
  EXPECT_EQ(read_file(root("real/new/e")), "5");
}

TEST_F(WriteBatchLinks, ThatLeadOutAreRefused) {
  EXPECT_EQ(refusal("symlink link -> ../outside\n"), kLeadsOut);
  EXPECT_EQ(refusal("symlink link -> " + temp().path("outside") + "\n"),
            kLeadsOut);
  EXPECT_EQ(refusal("symlink link -> ..\n"), kLeadsOut);
  EXPECT_EQ(refusal("symlink link -> /\n"), kLeadsOut);
  EXPECT_EQ(refusal("dir d\nsymlink link -> d/../../outside/d\n"), kLeadsOut);
  EXPECT_EQ(refusal("symlink link -> two\nsymlink two -> ../outside\n"),
            kLeadsOut);
  // Also where they come back: what lies outside may be anyone's.
  EXPECT_EQ(refusal("dir d\nsymlink link -> ../root/d\n"), kLeadsOut);
}

TEST_F(WriteBatchLinks, ToNothingAreRefused) {
  EXPECT_EQ(refusal("symlink link -> gone\n"),
            "2: resolve on 'link/f': a parent is a dangling symbolic link: No "
            "such file or directory (ENOENT)");
}

TEST_F(WriteBatchLinks, ToAFileAreRefused) {
  EXPECT_EQ(refusal("file x text=x\nsymlink link -> x\n"),
            "2: resolve on 'link/f': a parent is not a directory: Not a "
            "directory (ENOTDIR)");
}

TEST_F(WriteBatchLinks, ThatNeverEndAreRefused) {
  EXPECT_EQ(refusal("symlink link -> link\n"),
            "2: resolve on 'link/f': Too many levels of symbolic links "
            "(ELOOP)");
  EXPECT_EQ(refusal("symlink link -> two/x\nsymlink two -> link\n"),
            "2: resolve on 'link/f': Too many levels of symbolic links "
            "(ELOOP)");
}

TEST_F(WriteBatchLinks, SwappedInForADirectoryLeadNowhere) {
  // Between its making and its opening.
  kernel().on(Op::openat, "root/d").first([&] {
    remove_all_at(open_directory(root()).get(), "d");
    make_tree(root(), "symlink d -> ../outside\n");
  });
  Entries entries;
  entries.add("d/f", "1");

  const auto report = write(entries, 1);

  EXPECT_FALSE(report);
}

TEST_F(WriteBatchLinks, AtTheNameItselfAreReplaced) {
  make_tree(root(), "symlink f -> ../outside/f\nsymlink g -> ../outside/new\n");
  Entries entries;
  entries.add("f", "1").add("g", "2");

  const auto report = write(entries);

  ASSERT_TRUE(report) << error_of(report);
  EXPECT_EQ(read_file(root("f")), "1");
  EXPECT_EQ(read_file(root("g")), "2");
}

}  // namespace
}  // namespace lamina::test
