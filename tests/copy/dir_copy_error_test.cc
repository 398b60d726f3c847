// Of many failures one is reported, the same at every width: the first in walk
// order.
#include <cerrno>
#include <string>
#include <vector>

#include "copy/first_error.h"
#include "tests/copy/copying.h"

namespace lamina::test {
namespace {

using copy::Options;

constexpr unsigned kWidths[] = {1, 2, 4, 8};
constexpr int kRounds = 6;

// A failure to be injected, and how the copy is to tell it.
struct Planted {
  Op op;
  std::string name;  // In the source or in the destination.
  std::string message;
};

// 12 directories of 30 entries, nested two deep.
std::string wide_tree() {
  std::string text;
  for (int d = 0; d < 12; ++d) {
    const std::string dir =
        "d" + std::to_string(d % 4) + (d < 4 ? "" : "/e" + std::to_string(d));
    text += "dir " + dir + "\n";
    for (int f = 0; f < 30; ++f)
      text += "file " + dir + "/f" + std::to_string(f) + " text=x\n";
  }
  return text;
}

class DirCopyError : public Copying {
 protected:
  // Where the many rounds cost no disk.
  DirCopyError()
      : Copying("/dev/shm") {}

  // The message of a copy in which all of `plants` fail.
  std::string error_with(const std::vector<Planted>& plants, unsigned width) {
    FaultyKernel kernel;
    for (const Planted& plant : plants)
      kernel.on(plant.op, plant.name).fails(EACCES);
    Options options;
    options.kernel = &kernel;
    options.workers = width;
    const auto report = copy(options);
    EXPECT_FALSE(exists(dst()));
    return error_of(report);
  }

  void expect_at_every_width(const std::vector<Planted>& plants,
                             const std::string& want) {
    for (int round = 0; round < kRounds; ++round) {
      for (const unsigned width : kWidths) {
        ASSERT_EQ(error_with(plants, width), want)
            << "width " << width << " round " << round;
      }
    }
  }
};

std::string refused(const std::string& op, const std::string& name) {
  return op + " on '" + name + "': Permission denied (EACCES)";
}

TEST_F(DirCopyError, IsTheFirstInWalkOrderAtEveryWidth) {
  make_source(wide_tree());
  const std::vector<Planted> plants = {
      {Op::openat, "src/d1/f3", refused("openat", "d1/f3")},
      {Op::create, "dst/d1/f21", refused("openat", "d1/f21")},
      {Op::pread, "src/d1/e5/f7", refused("read", "d1/e5/f7")},
      {Op::pwrite, "dst/d3/f0", refused("write", "d3/f0")},
      {Op::futimens, "dst/d2/f29", refused("utimensat", "d2/f29")},
      {Op::mkdirat, "dst/d2/e6", refused("mkdirat", "d2/e6")},
      {Op::fstat, "src/d3/e11/f1", refused("fstat", "d3/e11/f1")},
  };

  // Byte order of names: "e5" before "f21" before "f3".
  expect_at_every_width(plants, refused("read", "d1/e5/f7"));
}

TEST_F(DirCopyError, OfADirectoryComesBeforeWhatLiesInIt) {
  make_source(wide_tree());

  expect_at_every_width({{Op::mkdirat, "dst/d0/e4", ""},
                         {Op::openat, "src/d0/f0", ""},
                         {Op::openat, "src/d1/f0", ""}},
                        refused("mkdirat", "d0/e4"));
}

TEST_F(DirCopyError, OfFinishingADirectoryComesAfterWhatLiesInIt) {
  make_source(wide_tree());

  expect_at_every_width(
      {{Op::futimens, "dst/d0", ""}, {Op::openat, "src/d0/f9", ""}},
      refused("openat", "d0/f9"));
  expect_at_every_width(
      {{Op::futimens, "dst/d0", ""}, {Op::openat, "src/d1/e5/f0", ""}},
      refused("utimensat", "d0"));
}

TEST_F(DirCopyError, OfListingADirectoryIsNamed) {
  make_source(wide_tree());

  expect_at_every_width({{Op::getdents, "src/d2", ""}},
                        refused("getdents64", "d2"));
}

TEST_F(DirCopyError, OfTheRootNamesItAsItWasGiven) {
  make_source("file a text=x\n");

  EXPECT_EQ(error_with({{Op::getdents, "src", ""}}, 1),
            refused("getdents64", src()));
  EXPECT_EQ(error_with({{Op::futimens, "dst", ""}}, 1),
            refused("utimensat", src()));
}

TEST_F(DirCopyError, IsTheFirstForEveryPairOfFailures) {
  make_source(
      "file a/b text=x\nfile a.b text=x\nfile a/b.c text=x\n"
      "file a/c/d text=x\nfile b text=x\n");
  const std::vector<std::string> names = {"a/b", "a.b", "a/b.c", "a/c/d", "b"};
  for (const std::string& one : names) {
    for (const std::string& two : names) {
      const bool before = copy::compare_in_walk_order(one, two) <= 0;
      const std::vector<Planted> plants = {{Op::openat, "src/" + one, ""},
                                           {Op::openat, "src/" + two, ""}};
      for (const unsigned width : {1U, 4U}) {
        EXPECT_EQ(error_with(plants, width),
                  refused("openat", before ? one : two))
            << one << " and " << two;
      }
    }
  }
}

TEST_F(DirCopyError, OfAResourceThatRanOutBeatsTheOrder) {
  make_source("file a text=x\nfile b text=x\n");
  // By whatever comes first in time, though "a" is first in order.
  for (const int code : {ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM}) {
    FaultyKernel kernel;
    kernel.on(Op::create).call(1).fails(code);
    kernel.on(Op::create).from(2).fails(EACCES);
    Options options;
    options.kernel = &kernel;
    options.workers = 1;

    EXPECT_EQ(code_of(copy(options)), code);
    EXPECT_EQ(kernel.count(Op::create), 1U) << "work went on";
    EXPECT_FALSE(exists(dst()));
  }
}

TEST_F(DirCopyError, EscapesWhatItsNameWouldDoToATerminal) {
  make_source("file odd\\x0a\\x1b[2J\\xff' text=x\n");
  FaultyKernel kernel;
  kernel.on(Op::pwrite).fails(EIO);
  Options options;
  options.kernel = &kernel;

  EXPECT_EQ(error_of(copy(options)),
            "write on 'odd\\n\\x1b[2J\\xff\\'': Input/output error (EIO)");
}

TEST_F(DirCopyError, DoesNotBeginWhatComesAfterIt) {
  make_source(
      "dir a\ndir b\ndir c\nfile c/f text=x\nfile b/f text=x\nfile a/f "
      "text=x\n");
  FaultyKernel kernel;
  kernel.on(Op::mkdirat, "dst/a").fails(EACCES);
  kernel.on(Op::mkdirat, "dst/b").fails(EACCES);
  kernel.on(Op::mkdirat, "dst/c").fails(EACCES);
  Options options;
  options.kernel = &kernel;
  options.workers = 1;

  EXPECT_EQ(error_of(copy(options)), refused("mkdirat", "a"));

  EXPECT_EQ(kernel.count(Op::create), 0U);
}

}  // namespace
}  // namespace lamina::test
