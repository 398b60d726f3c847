// Entries that are one file are found by what they are, not by how they are
// written, and the last one wins whole.
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>

#include "copy/case_folding.h"
#include "tests/copy/batching.h"
#include "tests/support/program.h"

namespace lamina::test {
namespace {

using Indexes = std::vector<size_t>;

constexpr unsigned kWidths[] = {1, 2, 8};

class WriteBatchAliases : public Batching {
 protected:
  // Writes at every width into a root that is `before`, and expects `file` to
  // hold `text` and just these entries to be superseded.
  void expect_wins(const Entries& entries, const std::string& before,
                   const std::string& file, const std::string& text,
                   const Indexes& superseded) {
    for (const unsigned width : kWidths) {
      make_tree(root(), before);
      const auto report = write(entries, width);
      ASSERT_TRUE(report) << error_of(report);
      EXPECT_EQ(read_file(root(file)), text) << "width " << width;
      EXPECT_EQ(report->superseded, superseded) << "width " << width;
      EXPECT_EQ(report->files + superseded.size(), entries.list().size());
      remove_all_at(temp().fd(), "root");
    }
  }
};

TEST_F(WriteBatchAliases, AreFoundByName) {
  Entries entries;
  entries.add("b", "0").add("a/../b", "1").add("./b", "2").add("c", "3");
  entries.add(".//b", "4").add("x/y/../../b", "5");

  expect_wins(entries, "dir .\n", "b", "5", {0, 1, 2, 4});
}

TEST_F(WriteBatchAliases, AreFoundInSubdirectories) {
  Entries entries;
  entries.add("d/e//f", "0").add("d/./e/f", "1").add("d/x/../e/f", "2");

  expect_wins(entries, "dir .\n", "d/e/f", "2", {0, 1});
}

TEST_F(WriteBatchAliases, AreFoundThroughASymlinkedDirectory) {
  Entries last_through_link;
  last_through_link.add("real/f", "0").add("real/g", "1").add("link/f", "2");
  Entries first_through_link;
  first_through_link.add("link/f", "0").add("link/g", "1").add("real/f", "2");
  Entries in_turn;
  in_turn.add("real/f", "0").add("link/f", "1").add("real/f", "2");
  in_turn.add("other/../link/f", "3").add("again/f", "4").add("real/f", "5");
  in_turn.add("link/f", "6");
  const std::string before =
      "dir real\nsymlink link -> real\nsymlink again -> ./link/.\n";

  expect_wins(last_through_link, before, "real/f", "2", {0});
  expect_wins(first_through_link, before, "real/f", "2", {0});
  expect_wins(in_turn, before, "real/f", "6", {0, 1, 2, 3, 4, 5});
}

TEST_F(WriteBatchAliases, AreFoundThroughALinkToADirectoryThatIsMade) {
  Entries entries;
  entries.add("real/d/f", "0").add("link/d/f", "1").add("link/d/g", "2");

  expect_wins(entries, "symlink link -> real\n", "real/d/f", "1", {0});
}

TEST_F(WriteBatchAliases, AreFoundThroughAMountOfTheSameDirectory) {
  make_tree(root(), "dir real\ndir bound\n");
  if (::mount(root("real").c_str(), root("bound").c_str(), nullptr, MS_BIND,
              nullptr) != 0)
    GTEST_SKIP() << "cannot mount here";
  Entries entries;
  entries.add("real/f", "0").add("bound/f", "1").add("bound/d/g", "2");
  entries.add("real/d/g", "3");

  const auto report = write(entries);

  ASSERT_TRUE(report) << error_of(report);
  EXPECT_EQ(read_file(root("real/f")), "1");
  EXPECT_EQ(read_file(root("real/d/g")), "3");
  EXPECT_EQ(report->superseded, (Indexes{0, 2}));
}

TEST_F(WriteBatchAliases, OfAFileAndADirectoryAreFoundThroughALink) {
  const std::string before = "dir real\nsymlink link -> real\n";
  Entries file_first;
  file_first.add("real/f", "0").add("link/f/g", "1");
  Entries directory_first;
  directory_first.add("link/f/g", "0").add("real/f", "1");

  for (const unsigned width : kWidths) {
    for (int round = 0; round < 20; ++round) {
      make_tree(root(), before);
      EXPECT_EQ(error_of(write(file_first, width)).substr(0, 23),
                "1: write on 'link/f/g':");
      EXPECT_EQ(read_file(root("real/f")), "0");
      remove_all_at(temp().fd(), "root");

      make_tree(root(), before);
      EXPECT_EQ(error_of(write(directory_first, width)).substr(0, 21),
                "1: write on 'real/f':");
      EXPECT_EQ(read_file(root("real/f/g")), "0");
      remove_all_at(temp().fd(), "root");
    }
  }
}

TEST_F(WriteBatchAliases, OfOneFileAmongManyAreWholeEveryTime) {
  const std::string one(300'000, '1');
  const std::string two(300'000, '2');
  const char* names[] = {"d/f", "./d/f", "d//f", "link/f", "x/../link/f"};
  for (int round = 0; round < 1000; ++round) {
    make_tree(root(), "dir d\nsymlink link -> d\n");
    Entries entries;
    entries.add(names[round % 5], one);
    for (int i = 0; i < 70; ++i)
      entries.add("d/g" + std::to_string(i), "x");
    entries.add(names[(round / 5) % 5], two);

    const auto report = write(entries, 4);

    ASSERT_TRUE(report) << error_of(report);
    ASSERT_TRUE(read_file(root("d/f")) == two) << "round " << round;
    ASSERT_EQ(report->superseded, Indexes{0});
    remove_all_at(temp().fd(), "root");
  }
}

TEST_F(WriteBatchAliases, GiveWayOnlyToWhatIsWritten) {
  Entries entries;
  entries.add("a", "0").add("b", "1").add("a", "2").add("c", "3");
  for (const unsigned width : kWidths) {
    // "b" fails, so nothing above it need be written; "a" is below.
    kernel().on(Op::create, "root/b").fails(EACCES);

    const auto failed = write(entries, width);

    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().index, 1U);
    const std::string a = read_file(root("a"));
    EXPECT_TRUE(a == "0" || a == "2") << a;
    EXPECT_EQ(failed.error().done.superseded,
              a == "2" ? Indexes{0} : Indexes{});
    remove_all_at(temp().fd(), "root");
  }
}

TEST_F(WriteBatchAliases, AreWrittenThemselvesWhenTheLastOneFails) {
  Entries entries;
  entries.add("a", "0").add("a", "1").from("a", temp().path("gone"));
  for (const unsigned width : kWidths) {
    const auto failed = write(entries, width);

    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().index, 2U) << error_of(failed);
    EXPECT_EQ(read_file(root("a")), "1");
    EXPECT_EQ(failed.error().done.superseded, Indexes{0});
    EXPECT_EQ(failed.error().done.files, 1U);
    remove_all_at(temp().fd(), "root");
  }
}

// An ext4 directory with chattr +F, or the reason why there is none here.
class FoldingDirectory {
 public:
  explicit FoldingDirectory(const TempDir& temp)
      : point_(temp.path("folding")) {
    const std::string image = temp.path("image");
    make_tree(point_, "dir .\n");
    if (!has_program("mkfs.ext4")) {
      why_not_ = "no directory folds case here";
      return;
    }
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"truncate", "-s", "64M", image},
          {"mkfs.ext4", "-q", "-F", "-O", "casefold", image},
          {"mount", "-o", "loop", image, point_},
          {"mkdir", point_ + "/root"},
          {"chattr", "+F", point_ + "/root"}}) {
      const Ran ran = run_program(command);
      if (ran.status != 0) {
        why_not_ = "no directory folds case here";
        return;
      }
    }
  }
  FoldingDirectory(const FoldingDirectory&) = delete;
  FoldingDirectory& operator=(const FoldingDirectory&) = delete;
  ~FoldingDirectory() { ::umount2(point_.c_str(), MNT_DETACH); }

  const std::string& why_not() const { return why_not_; }
  std::string path(const std::string& name = "") const {
    return point_ + "/root" + (name.empty() ? "" : "/" + name);
  }

 private:
  std::string point_;
  std::string why_not_;
};

TEST_F(WriteBatchAliases, AreFoundWhereADirectoryFoldsCase) {
  const FoldingDirectory folding(temp());
  if (!folding.why_not().empty())
    GTEST_SKIP() << folding.why_not();
  Entries entries;
  entries.add("Edit.js", "upper").add("edit.js", "lower");
  entries.add("caf\u00e9.js", "composed").add("cafe\u0301.js", "decomposed");
  entries.add("D/x", "1").add("d/X", "2").add("other", "3");
  for (const unsigned width : kWidths) {
    copy::BatchOptions options;
    options.workers = width;

    const auto report =
        copy::write_batch(folding.path(), entries.list(), options);

    ASSERT_TRUE(report) << error_of(report);
    EXPECT_EQ(read_file(folding.path("EDIT.JS")), "lower");
    EXPECT_EQ(read_file(folding.path("caf\u00e9.js")), "decomposed");
    EXPECT_EQ(read_file(folding.path("d/x")), "2");
    EXPECT_EQ(report->superseded, (Indexes{0, 2, 4}));
    EXPECT_EQ(report->files, 4U);
  }
}

// The same without such a file system: a name that is there already, and turns
// out to be the inode of an entry written before.
TEST_F(WriteBatchAliases, AreFoundByInodeWhereCaseMayFold) {
  kernel().on(Op::fstatfs).shows([](struct statfs& fs) { fs.f_type = 0x1234; });
  kernel().on(Op::create, "root/edit.js").first([&] {
    [[maybe_unused]] int linked =
        ::link(root("Edit.js").c_str(), root("edit.js").c_str());
  });
  Entries entries;
  entries.add("Edit.js", "0").add("b", "1").add("edit.js", "2");
  entries.add("./edit.js", "3").add("c", "4");
  for (const unsigned width : kWidths) {
    const auto report = write(entries, width);

    ASSERT_TRUE(report) << error_of(report);
    EXPECT_EQ(read_file(root("edit.js")), "3");
    EXPECT_EQ(report->superseded, (Indexes{0, 2}));
    EXPECT_EQ(report->files, 3U);
    remove_all_at(temp().fd(), "root");
  }
}

TEST_F(WriteBatchAliases, MayFoldWhereNobodyKnows) {
  make_tree(root(), "dir .\n");
  const Fd dir(::open(root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));

  EXPECT_TRUE(copy::may_fold_case(dir, FsKind::other));
  EXPECT_FALSE(copy::may_fold_case(dir, FsKind::tmpfs));
  EXPECT_FALSE(copy::may_fold_case(dir, FsKind::xfs));
  EXPECT_TRUE(copy::may_fold_case(Fd(), FsKind::ext4));
}

}  // namespace
}  // namespace lamina::test
