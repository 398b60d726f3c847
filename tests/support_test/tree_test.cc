#include "tests/support/tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/support/tree_text.h"

namespace lamina::test {
namespace {

TEST(TreeText, EscapesEveryByteThatIsNotPlain) {
  EXPECT_EQ(escape(std::string_view("a b\n\\\xff\0", 7)),
            "a\\x20b\\x0a\\x5c\\xff\\x00");
  EXPECT_EQ(unescape("a\\x20b\\x0a\\x5c\\xff\\x00"),
            std::string("a b\n\\\xff\0", 7));
}

TEST(TreeText, ReadsBackWhatItWrote) {
  const std::string line =
      "file a\\x20b link=3 mode=4755 owner=1:4000000000 size=9 text=x "
      "data=0+4,5+4 mtime=-1.500000000 xattr:user.a\\x3db=c=d";

  EXPECT_EQ(format_node(parse_node(line)), line);
}

TEST(TreeText, RefusesWhatItDoesNotKnow) {
  for (const char* line : {"door a", "file", "file a mode", "file a mode=9",
                           "file a depth=1", "file a\\x0", "file a text=\\n",
                           "file a mtime=1.5", "file a owner=1"}) {
    EXPECT_THROW(parse_node(line), SupportError) << line;
  }
}

TEST(Tree, DumpsWhatTheTextSaid) {
  const TempDir temp;
  const std::string text =
      "dir . mode=0750 mtime=4.000000004\n"
      "file a link=1 mode=0600 size=5 text=hello mtime=-1.500000000\n"
      "dir b mode=1777 mtime=3.000000000\n"
      "file b/a link=1\n"
      "fifo b/pipe mode=0644 mtime=1.000000000\n"
      "socket b/socket mode=0640 mtime=1.000000000\n"
      "symlink b/to -> ../a\\x0a mode=0777 mtime=2.000000000\n"
      "file hole mode=0644 size=65536 digest=";

  make_tree(temp.path("t"), text.substr(0, text.rfind(" digest=")));

  DumpOptions options;
  options.owners = Shown::no;
  const std::string dump = dump_tree(temp.path("t"), options);
  EXPECT_EQ(dump.substr(0, text.size()), text);
}

TEST(Tree, MakesItsOwnDumpAgain) {
  const TempDir temp;
  make_tree(temp.path("a"), R"(
    file x/y/z     text=1 link=1
    symlink x/s    -> nowhere link=2
    symlink x/t    link=2
    file x/w       link=1
    dir  locked    mode=0000
    file odd\x0a\xff\x5c text=\x00\x01)");
  const std::string dump = dump_tree(temp.path("a"));

  make_tree(temp.path("b"), dump);

  EXPECT_EQ(dump_tree(temp.path("b")), dump);
}

TEST(Tree, ModesAreExactUnderAnyUmask) {
  const TempDir temp;
  const mode_t before = ::umask(077);
  make_tree(temp.path("a"), "file f mode=0666\ndir d mode=0777");
  ::umask(before);

  struct stat st {};
  ASSERT_EQ(::stat(temp.path("a/f").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777U, 0666U);
  ASSERT_EQ(::stat(temp.path("a/d").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777U, 0777U);
}

TEST(Tree, ShowsEachDifferenceThatMatters) {
  const TempDir temp;
  make_tree(temp.path("a"), "file f size=200000 fill=1\nfile g text=x");
  const std::string same = dump_tree(temp.path("a"));
  int number = 0;
  for (const char* other :
       {"file f size=200000 fill=2\nfile g text=x",
        "file f size=200000 data=0+65536\nfile g text=x",
        "file f size=200000 fill=1\nfile g text=y",
        "file f size=200000 fill=1\nfile g text=x mode=0600",
        "file f size=200000 fill=1\nfile g text=x mtime=1",
        "file f size=200000 fill=1 link=1\nfile g link=1",
        "file f size=200000 fill=1\nfifo g"}) {
    const std::string path = temp.path("other" + std::to_string(++number));

    make_tree(path, other);

    EXPECT_NE(dump_tree(path), same) << other;
    EXPECT_NE(dump_difference(same, dump_tree(path)), "") << other;
  }
}

TEST(Tree, CountsOnlyLinksInsideTheTree) {
  const TempDir temp;
  make_tree(temp.path("a"), "file f text=x");
  const std::string before = dump_tree(temp.path("a"));

  ASSERT_EQ(::link(temp.path("a/f").c_str(), temp.path("out").c_str()), 0);

  EXPECT_EQ(dump_tree(temp.path("a")), before);
}

TEST(Tree, StaysInsideItsRoot) {
  const TempDir temp;
  for (const char* path :
       {"../x", "/x", "a/../../x", "a//b", "a/.", "x\\x00"}) {
    EXPECT_THROW(make_tree(temp.path("a"), std::string("file ") + path),
                 SupportError)
        << path;
  }
}

TEST(Tree, NamesTheLineItCouldNotMake) {
  const TempDir temp;
  try {
    make_tree(temp.path("a"), "file a\nfile b bad=1");
    FAIL() << "made it";
  } catch (const SupportError& error) {
    EXPECT_EQ(std::string(error.what()), "line 2: unknown field 'bad'");
  }
}

TEST(Tree, GoesDeeperThanPathMax) {
  const TempDir temp;
  make_tree(temp.path("a"), "dir .");
  const Descriptor root = open_directory(temp.path("a"));
  constexpr std::size_t kDepth = 5000;
  make_tree(make_chain(root.get(), kDepth).get(), "file bottom text=here");

  const std::string dump = dump_tree(root.get());

  EXPECT_NE(dump.find("d/bottom mode=0644"), std::string::npos);
  EXPECT_EQ(std::count(dump.begin(), dump.end(), '\n'), kDepth + 2);
}

TEST(Tree, DumpDoesNotChangeTimesOfAccess) {
  const TempDir temp;
  make_tree(temp.path("a"), "file d/f text=x\nsymlink s -> t\n");
  DumpOptions options;
  options.atimes = Shown::yes;

  const std::string first = dump_tree(temp.path("a"), options);

  EXPECT_EQ(dump_tree(temp.path("a"), options), first);
}

TEST(RandomTree, IsTheSameForTheSameSeed) {
  EXPECT_EQ(random_tree(7, 300), random_tree(7, 300));
  EXPECT_NE(random_tree(7, 300), random_tree(8, 300));
}

TEST(RandomTree, CanBeMade) {
  const std::uint64_t seed = seed_from_environment(1);
  SCOPED_TRACE("LAMINA_SEED=" + std::to_string(seed));
  const TempDir temp;

  make_tree(temp.path("a"), random_tree(seed, 500));
  make_tree(temp.path("b"), random_tree(seed, 500));

  EXPECT_EQ(
      dump_difference(dump_tree(temp.path("a")), dump_tree(temp.path("b"))),
      "");
}

TEST(TempDir, RemovesWhateverIsInside) {
  std::string path;
  {
    const TempDir temp;
    path = temp.path();
    make_tree(temp.path("t"), "dir a/b/c mode=0000\nfile a/b/f mode=0000");
    make_chain(temp.fd(), 3000);
  }

  struct stat st {};
  EXPECT_NE(::lstat(path.c_str(), &st), 0);
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace lamina::test
