// Layers kept apart from those below: what a hard link and a parent without an
// entry of its own take from there.
#include <fcntl.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <memory>
#include <string>

#include "archive/lower_stack.h"
#include "tests/archive/applying.h"

namespace lamina::archive::test {
namespace {

using lamina::test::make_tree;

class ApplyLower : public Applying {
 protected:
  ApplyLower() { options_.whiteouts = Whiteouts::overlay; }

  // A layer, above those added before.
  void below(const std::string& name, const std::string& text) {
    make_tree(temp_.path(name), text);
    options_.lower.push_back(std::make_shared<const Fd>(
        ::open(temp_.path(name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  }
  std::string applied(const std::string& members) {
    return error_of(apply(members, options_));
  }
  ino_t inode(const std::string& name) const {
    struct stat stat {};
    EXPECT_EQ(::lstat(root(name).c_str(), &stat), 0) << name;
    return stat.st_ino;
  }
  std::string tree() const {
    lamina::test::DumpOptions options;
    options.root = lamina::test::Shown::no;
    return lamina::test::dump_tree(root(), options);
  }

  ApplyOptions options_;
};

TEST_F(ApplyLower, CopiesAFileUpForAHardLink) {
  below("base", R"(
    dir  d   mode=0750 mtime=5
    file d/f mode=4711 text=hello mtime=7 xattr:user.note=x)");

  ASSERT_EQ(applied(hard_link("d/g", "d/f") + hard_link("h", "d/f")), "");

  EXPECT_EQ(inode("d/f"), inode("d/g"));
  EXPECT_EQ(inode("d/f"), inode("h"));
  EXPECT_EQ(tree(),
            "dir d mode=0750 owner=0:0 mtime=5.000000000\n"
            "file d/f link=1 mode=4711 owner=0:0 size=5 text=hello "
            "mtime=7.000000000 xattr:user.note=x\n"
            "file d/g link=1\nfile h link=1\n");
  // The layer below was only read.
  EXPECT_EQ(lamina::test::dump_tree(temp_.path("base")).find("link="),
            std::string::npos);
}

TEST_F(ApplyLower, CopiesSymlinksAndFifosUpToo) {
  below("base", "symlink l -> nowhere mtime=7\nfifo p mode=0640 mtime=8");

  ASSERT_EQ(applied(hard_link("l2", "l") + hard_link("p2", "p")), "");

  EXPECT_EQ(tree(),
            "symlink l -> nowhere link=1 mode=0777 owner=0:0 "
            "mtime=7.000000000\nsymlink l2 link=1\n"
            "fifo p link=2 mode=0640 owner=0:0 mtime=8.000000000\n"
            "fifo p2 link=2\n");
}

TEST_F(ApplyLower, DoesSoInEveryFormThatKeepsLayersApart) {
  for (Whiteouts form :
       {Whiteouts::overlay, Whiteouts::keep, Whiteouts::none}) {
    options_ = ApplyOptions();
    options_.whiteouts = form;
    below("base", "file f text=x");
    ASSERT_EQ(applied(hard_link("g", "f")), "");
    EXPECT_EQ(inode("f"), inode("g"));
    for (const char* name : {"root", "base"}) {
      lamina::test::remove_all_at(temp_.fd(), name);
    }
  }
}

TEST_F(ApplyLower, TakesWhatTheUppermostLayerShows) {
  below("one", "file a text=one\nfile gone text=x\nfile d/old text=x");
  below("two", "file a text=two\nfile .wh.gone text=\ndir d");
  const std::string opaque = temp_.path("two") + "/d";
  ASSERT_EQ(::setxattr(opaque.c_str(), "user.overlay.opaque", "y", 1, 0), 0);

  ASSERT_EQ(applied(hard_link("b", "a")), "");
  EXPECT_NE(tree().find("text=two"), std::string::npos);
  for (const char* hidden : {"gone", "d/old", "never"}) {
    EXPECT_NE(applied(hard_link("x", hidden)).find("is missing"),
              std::string::npos)
        << hidden;
  }
}

TEST_F(ApplyLower, DoesNotBringBackWhatTheLayerItselfHides) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "overlay marks need root";
  }
  below("base", "file f text=x\nfile g text=y");

  EXPECT_NE(applied(file(".wh.f", "") + hard_link("h", "f")).find("missing"),
            std::string::npos);
  ASSERT_EQ(applied(hard_link("h", "g") + file(".wh.g", "")), "");

  struct stat stat {};
  ASSERT_EQ(::lstat(root("g").c_str(), &stat), 0);
  EXPECT_TRUE(S_ISCHR(stat.st_mode));
  EXPECT_NE(tree().find("file h mode=0644"), std::string::npos) << tree();
}

TEST_F(ApplyLower, FollowsSymlinksBelowInsteadOfHidingThem) {
  below("base", "dir usr/lib mode=0700 mtime=9\nsymlink lib -> usr/lib");

  ASSERT_EQ(applied(file("lib/new.so", "x")), "");

  EXPECT_FALSE(exists("lib"));
  EXPECT_TRUE(exists("usr/lib/new.so"));
  EXPECT_NE(tree().find("dir usr/lib mode=0700 owner=0:0 mtime=9.0"),
            std::string::npos)
      << tree();
}

TEST_F(ApplyLower, NeverLooksOutsideTheLayers) {
  make_tree(temp_.path("outside"), "file secret text=x");
  below("base", R"(
    symlink up   -> ../outside
    symlink abs  -> /outside
    symlink loop -> loop
    dir outside)");

  for (const char* name : {"up/secret", "abs/secret"}) {
    EXPECT_NE(applied(hard_link("x", name)).find("is missing"),
              std::string::npos)
        << name;
  }
  EXPECT_NE(applied(hard_link("x", "loop/y")).find("(ELOOP)"),
            std::string::npos);
}

}  // namespace
}  // namespace lamina::archive::test
