#include "copy/compare.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <functional>

#include <gtest/gtest.h>

#include "base/kernel.h"
#include "base/path.h"
#include "copy/dir_copy.h"
#include "tests/support/faulty_kernel.h"
#include "tests/support/fixtures.h"
#include "tests/support/mounts.h"
#include "tests/support/tree.h"

namespace lamina::copy {
namespace {

using test::FaultyKernel;
using test::make_tree;
using test::Op;
using test::TempDir;

constexpr const char* kTree = R"(
  dir     .          mode=0755 mtime=1000.000000001
  dir     bin        mode=0755
  file    bin/tool   mode=0755 text=hello
  file    bin/one    link=1 mode=0644 text=shared
  file    bin/two    link=1
  file    empty      mode=0644
  symlink link       -> bin/tool
  fifo    pipe       mode=0600
  file    sparse     size=8388608 data=0+65536
)";

// What is said of a copy of kTree after `change` was made to it: the first
// difference, or "equal".
class CompareTrees : public testing::Test {
 protected:
  void SetUp() override {
    make_tree(temp_.path("src"), kTree);
    auto copied = dir_copy(temp_.path("src"), temp_.path("dst"), options_);
    ASSERT_TRUE(copied) << copied.error().message();
  }

  std::string path(const std::string& name) const {
    return temp_.path("dst/" + name);
  }

  Result<Comparison> compare(Links links = Links::exact) {
    auto source = open_directory(real_kernel(), temp_.path("src"));
    auto copy = open_directory(real_kernel(), temp_.path("dst"));
    return compare_trees(*source, *copy, options_, links);
  }

  std::string said(Links links = Links::exact) {
    auto compared = compare(links);
    if (!compared) {
      return compared.error().message();
    }
    if (compared->differences == 0) {
      return "equal";
    }
    std::string out;
    for (const Difference& difference : compared->first) {
      out += (out.empty() ? "" : "; ") + difference.message();
    }
    return out;
  }

  // The times of a file as its source has them, after a change.
  void restore_times(const std::string& name) {
    struct stat stat {};
    ASSERT_EQ(::lstat(temp_.path("src/" + name).c_str(), &stat), 0);
    const timespec times[2] = {stat.st_atim, stat.st_mtim};
    ASSERT_EQ(
        ::utimensat(AT_FDCWD, path(name).c_str(), times, AT_SYMLINK_NOFOLLOW),
        0);
  }

  void write(const std::string& name, const std::string& bytes, off_t at) {
    const test::Descriptor fd(::open(path(name).c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(::pwrite(fd.get(), bytes.data(), bytes.size(), at),
              static_cast<ssize_t>(bytes.size()));
    restore_times(name);
  }

  TempDir temp_;
  Options options_;
};

TEST_F(CompareTrees, FindsACopyEqual) {
  auto compared = compare();

  ASSERT_TRUE(compared) << compared.error().message();
  EXPECT_EQ(compared->differences, 0U);
  EXPECT_EQ(compared->entries, 8U);
}

TEST_F(CompareTrees, FindsAnotherMode) {
  ::chmod(path("bin/tool").c_str(), 0750);

  EXPECT_EQ(said(), "'bin/tool': mode 0750, not 0755");
}

TEST_F(CompareTrees, FindsAnotherModeOfTheRoot) {
  ::chmod(temp_.path("dst").c_str(), 01777);

  EXPECT_EQ(said(), "'.': mode 1777, not 0755");
}

TEST_F(CompareTrees, FindsAnotherTimeByOneNanosecond) {
  const timespec times[2] = {{0, UTIME_OMIT}, {1000, 2}};
  ::utimensat(AT_FDCWD, temp_.path("dst").c_str(), times, 0);

  EXPECT_EQ(said(), "'.': modified at 1000.000000002, not 1000.000000001");
}

TEST_F(CompareTrees, FindsAnotherOwner) {
  if (::lchown(path("link").c_str(), 5, 6) != 0) {
    GTEST_SKIP() << "cannot give files away";
  }

  EXPECT_EQ(said(), "'link': owner 5:6, not 0:0");

  options_.owner = Owner::none;
  EXPECT_EQ(said(), "equal");
}

TEST_F(CompareTrees, FindsAnotherByte) {
  write("bin/tool", "y", 4);

  EXPECT_EQ(said(), "'bin/tool': bytes differ from 4 on");
}

TEST_F(CompareTrees, FindsAByteInAHole) {
  write("sparse", "x", 5000000);

  EXPECT_EQ(said(), "'sparse': bytes differ from 5000000 on");
}

TEST_F(CompareTrees, FindsAnotherSize) {
  ASSERT_EQ(::truncate(path("empty").c_str(), 1), 0);
  restore_times("empty");

  EXPECT_EQ(said(), "'empty': size 1, not 0");
}

TEST_F(CompareTrees, FindsAFilledHole) {
  write("sparse", std::string(8388608 - 65536, '\0'), 65536);
  const test::Descriptor fd(
      ::open(path("sparse").c_str(), O_RDONLY | O_CLOEXEC));
  if (::lseek(fd.get(), 0, SEEK_HOLE) != 8388608) {
    GTEST_SKIP() << "this file system makes holes of zeros";
  }

  EXPECT_EQ(said(), "'sparse': a hole at 65536 was filled");
}

TEST_F(CompareTrees, FindsAMissingName) {
  ASSERT_EQ(::unlink(path("pipe").c_str()), 0);
  restore_times("");

  EXPECT_EQ(said(), "'pipe': is missing");

  options_.loss = Loss::forgiven;
  EXPECT_EQ(said(), "equal");
}

TEST_F(CompareTrees, FindsAMissingDirectory) {
  test::remove_all_at(AT_FDCWD, path("bin"));
  restore_times("");

  EXPECT_EQ(said(), "'bin': is missing");
}

TEST_F(CompareTrees, FindsANameTooMuchBesideAMissingOne) {
  ASSERT_EQ(::rename(path("bin/tool").c_str(), path("bin/zool").c_str()), 0);
  restore_times("bin");

  EXPECT_EQ(said(), "'bin/tool': is missing; 'bin/zool': is only in the copy");
}

TEST_F(CompareTrees, FindsAnotherKind) {
  ASSERT_EQ(::unlink(path("empty").c_str()), 0);
  ASSERT_EQ(::mkfifo(path("empty").c_str(), 0644), 0);
  test::remove_all_at(AT_FDCWD, path("bin"));
  ASSERT_EQ(::symlink("/", path("bin").c_str()), 0);
  restore_times("");

  EXPECT_EQ(said(),
            "'bin': is not a directory; "
            "'empty': is a fifo, not a regular file");
}

TEST_F(CompareTrees, FindsAnotherTarget) {
  ASSERT_EQ(::unlink(path("link").c_str()), 0);
  ASSERT_EQ(::symlink("bin/\ntool", path("link").c_str()), 0);
  restore_times("link");
  restore_times("");

  EXPECT_EQ(said(), "'link': points to bin/\\ntool, not bin/tool");
}

TEST_F(CompareTrees, FindsASplitInode) {
  ASSERT_EQ(::unlink(path("bin/two").c_str()), 0);
  const test::Descriptor fd(
      ::open(path("bin/two").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  write("bin/two", "shared", 0);
  restore_times("bin");

  auto compared = compare();
  ASSERT_TRUE(compared) << compared.error().message();
  ASSERT_EQ(compared->differences, 1U) << said();
  EXPECT_EQ(compared->first.front().text, "is not linked with its other names");
  EXPECT_EQ(said(Links::may_split), "equal");
}

TEST_F(CompareTrees, FindsJoinedInodes) {
  make_tree(temp_.path("src"),
            "file a text=x mode=0644 mtime=5.000000000\n"
            "file b text=x mode=0644 mtime=5.000000000");
  ASSERT_EQ(::link(temp_.path("src/a").c_str(), path("a").c_str()), 0);
  make_tree(temp_.path("dst"), "file a2 text=x mode=0644 mtime=5.000000000");
  ASSERT_EQ(::unlink(path("a").c_str()), 0);
  ASSERT_EQ(::rename(path("a2").c_str(), path("a").c_str()), 0);
  ASSERT_EQ(::link(path("a").c_str(), path("b").c_str()), 0);
  restore_times("");

  auto compared = compare();
  ASSERT_TRUE(compared) << compared.error().message();
  ASSERT_EQ(compared->differences, 1U) << said();
  EXPECT_EQ(compared->first.front().text,
            "is linked with a name it should not be");
}

TEST_F(CompareTrees, FindsAttributesLostChangedAndAdded) {
  const std::string source = temp_.path("src/bin/tool");
  if (!test::holds_user_xattrs(temp_.path())) {
    GTEST_SKIP() << "no user attributes here";
  }
  ::setxattr(source.c_str(), "user.a", "1", 1, 0);
  ::setxattr(source.c_str(), "user.b", "1", 1, 0);
  ::setxattr(path("bin/tool").c_str(), "user.b", "2", 1, 0);
  ::setxattr(path("bin/tool").c_str(), "user.c", "3", 1, 0);

  EXPECT_EQ(said(),
            "'bin/tool': attribute user.a is missing; "
            "'bin/tool': attribute user.b differs; "
            "'bin/tool': attribute user.c was not there");

  ::removexattr(path("bin/tool").c_str(), "user.b");
  ::removexattr(path("bin/tool").c_str(), "user.c");
  options_.loss = Loss::forgiven;
  EXPECT_EQ(said(), "equal");
  options_.loss = Loss::refused;
  options_.xattrs = Xattrs::none;
  EXPECT_EQ(said(), "equal");
}

TEST_F(CompareTrees, ExpectsMappedOwners) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "not root";
  }
  options_.owner = Owner::mapped;
  options_.uid_map = *IdMap::parse("0:100000:10");

  EXPECT_EQ(said().substr(0, 28), "'.': owner 0:0, not 100000:0");

  ASSERT_TRUE(dir_copy(temp_.path("src"), temp_.path("mapped"), options_));
  auto source = open_directory(real_kernel(), temp_.path("src"));
  auto copy = open_directory(real_kernel(), temp_.path("mapped"));
  auto compared = compare_trees(*source, *copy, options_);
  ASSERT_TRUE(compared) << compared.error().message();
  EXPECT_EQ(compared->differences, 0U);
}

TEST_F(CompareTrees, ExpectsTheLabelThatWasGiven) {
  options_.label = "system_u:object_r:x:s0";

  auto compared = compare();

  ASSERT_TRUE(compared) << compared.error().message();
  EXPECT_EQ(compared->differences, 8U);  // Nine names, two of one inode.
  EXPECT_EQ(compared->first.front().message(),
            "'.': attribute security.selinux is missing");
}

TEST_F(CompareTrees, KeepsTheFirstTenInWalkOrderAtEveryWidth) {
  std::string text;
  for (int i = 0; i < 400; ++i) {
    text += "file d" + std::to_string(i % 5) + "/" + std::to_string(i + 1000) +
            "\n";
  }
  make_tree(temp_.path("src"), text);
  make_tree(temp_.path("dst"), "dir d0\ndir d1\ndir d2\ndir d3\ndir d4");
  options_.workers = 1;
  auto narrow = compare();
  options_.workers = 4;
  auto wide = compare();

  ASSERT_TRUE(narrow && wide);
  EXPECT_GE(narrow->differences, 400U);
  EXPECT_EQ(narrow->differences, wide->differences);
  EXPECT_EQ(narrow->first, wide->first);
  EXPECT_EQ(narrow->first.size(), Comparison::kShown);
}

TEST_F(CompareTrees, ReportsAnErrorThatHidesWhatThereIs) {
  FaultyKernel kernel;
  kernel.on(Op::pread, "dst/bin/tool").fails(EIO);
  options_.kernel = &kernel;

  EXPECT_EQ(said(), "pread on 'bin/tool': Input/output error (EIO)");
}

TEST_F(CompareTrees, SaysThatAFileChangedWhileItWasRead) {
  FaultyKernel kernel;
  kernel.on(Op::pread, "src/bin/tool").returns(0);
  options_.kernel = &kernel;

  auto compared = compare();

  ASSERT_FALSE(compared);
  EXPECT_EQ(compared.error().code, ESTALE);
}

TEST_F(CompareTrees, StopsWhenAsked) {
  std::stop_source source;
  source.request_stop();
  options_.stop = source.get_token();

  auto compared = compare();

  ASSERT_FALSE(compared);
  EXPECT_EQ(compared.error().code, ECANCELED);
}

TEST_F(CompareTrees, LeavesNoDescriptorOpenAndNoTimeOfAccessChanged) {
  const auto before = test::open_descriptors();
  struct stat first {};
  struct stat second {};
  ::stat(path("bin/tool").c_str(), &first);

  ASSERT_TRUE(compare());

  ::stat(path("bin/tool").c_str(), &second);
  EXPECT_EQ(test::open_descriptors(), before);
  EXPECT_EQ(first.st_atim.tv_nsec, second.st_atim.tv_nsec);
}

class CompareOnEach : public test::OnEachFileSystem {};

TEST_P(CompareOnEach, FindsRandomTreesEqualInEachMode) {
  const std::uint64_t seed = test::seed_from_environment(71);
  SCOPED_TRACE("LAMINA_SEED=" + std::to_string(seed));
  make_tree(path("src"), test::random_tree(seed, 300));
  for (Sharing sharing :
       {Sharing::automatic, Sharing::hardlink, Sharing::content}) {
    Options options;
    options.sharing = sharing;
    const std::string to = path("to-" + std::string(to_string(sharing)));
    auto copied = dir_copy(path("src"), to, options);
    ASSERT_TRUE(copied) << copied.error().message();

    auto source = open_directory(real_kernel(), path("src"));
    auto copy = open_directory(real_kernel(), to);
    auto compared = compare_trees(*source, *copy, options);

    ASSERT_TRUE(compared) << compared.error().message();
    EXPECT_EQ(compared->differences, 0U) << compared->first.front().message();
  }
}

LAMINA_ON_EACH_FILE_SYSTEM(CompareOnEach);

TEST(CompareTreesOfProc, TakesNoSizeOfAMadeUpFileForGranted) {
  const TempDir temp;
  auto source = open_directory(real_kernel(), "/proc/sys/kernel/random");
  auto copied = dir_copy("/proc/sys/kernel/random", temp.path("dst"));
  if (!copied) {
    GTEST_SKIP() << "cannot be copied here: " << copied.error().message();
  }

  auto copy = open_directory(real_kernel(), temp.path("dst"));
  auto compared = compare_trees(*source, *copy);

  ASSERT_TRUE(compared) << compared.error().message();
  for (const Difference& difference : compared->first) {
    EXPECT_EQ(difference.text.find("size"), std::string::npos)
        << difference.message();
  }
}

}  // namespace
}  // namespace lamina::copy
