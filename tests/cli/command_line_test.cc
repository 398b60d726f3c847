// Arguments to exit codes, without a process in between.
#include "cli/command_line.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/version.h"
#include "tests/support/tree.h"

namespace lamina::cli {
namespace {

struct Ran {
  int code;
  std::string out;
  std::string err;
};

Ran run(const std::vector<std::string>& arguments) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  CommandLine line;
  int code = line.run(arguments);
  return {code, testing::internal::GetCapturedStdout(),
          testing::internal::GetCapturedStderr()};
}

bool is_one_line(const std::string& text) {
  return !text.empty() && text.find('\n') == text.size() - 1;
}

TEST(CommandLine, PrintsVersionAndHelpOnStandardOutput) {
  Ran version_run = run({"--version"});
  EXPECT_EQ(version_run.code, kDone);
  EXPECT_EQ(version_run.out, "lamina " + std::string(version()) + "\n");

  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--help"},
        {"copy", "--help"},
        {"apply", "--help"},
        {"unpack", "--help"},
        {"remove", "--help"},
        {"lock", "--help"},
        {"unlock", "--help"},
        {"probe", "--help"}}) {
    Ran help = run(words);
    EXPECT_EQ(help.code, kDone);
    EXPECT_NE(help.out.find("Usage: lamina"), std::string::npos) << help.out;
    EXPECT_EQ(help.err, "");
  }
}

TEST(CommandLine, RefusesWrongUsageInOneLine) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{},
        {"frobnicate"},
        {"copy"},
        {"copy", "a"},
        {"copy", "a", "b", "c"},
        {"copy", "--no-such", "a", "b"},
        {"copy", "-r", "a", "b"},
        {"copy", "--mode", "a", "b"},
        {"copy", "--mode", "auto", "--mode", "content", "a", "b"},
        {"copy", "", "b"},
        {"apply"},
        {"apply", "a"},
        {"apply", "a", ""},
        {"apply", "a", "b", "c"},
        {"apply", "--whiteouts", "some", "a", "b"},
        {"apply", "--expect-diff-id", "md5:0", "a", "b"},
        {"unpack"},
        {"unpack", "a"},
        {"unpack", "--platform", "linux", "a", "b"},
        {"unpack", "--strip", "1", "a", "b"},
        {"remove"},
        {"remove", ""},
        {"lock"},
        {"lock", "a", "b"},
        {"unlock", ""},
        {"probe"},
        {"probe", "a", "b"},
        {"copy", "\x1b[2J\n", "b", "c\n"}}) {
    Ran refused = run(words);
    EXPECT_EQ(refused.code, kWrongUsage)
        << testing::PrintToString(words) << refused.err;
    EXPECT_EQ(refused.out, "");
    EXPECT_TRUE(is_one_line(refused.err)) << refused.err;
    EXPECT_EQ(refused.err.find('\x1b'), std::string::npos);
  }
}

TEST(CommandLine, SaysWhatFailedInOneLine) {
  const test::TempDir temp;

  Ran failed = run({"copy", temp.path("no\nwhere"), temp.path("dst")});

  EXPECT_EQ(failed.code, kFailed);
  EXPECT_EQ(failed.err, "lamina: open on '" + temp.path("no") +
                            "\\nwhere': No such file or directory (ENOENT)\n");
}

TEST(CommandLine, CopiesVerifiesLocksAndRemoves) {
  const test::TempDir temp;
  test::make_tree(temp.path("src"), "file a/b text=x mode=0644");
  const std::string dst = temp.path("dst");

  Ran copied = run({"copy", "--verify", "--json", temp.path("src"), dst});
  EXPECT_EQ(copied.code, kDone) << copied.err;
  EXPECT_NE(copied.out.find("\"verified\":2"), std::string::npos);
  EXPECT_EQ(run({"lock", dst}).code, kDone);
  EXPECT_EQ(run({"unlock", dst}).code, kDone);
  EXPECT_EQ(run({"remove", dst + "/", temp.path("src")}).code, kDone);

  test::DumpOptions options;
  options.root = test::Shown::no;
  EXPECT_EQ(test::dump_tree(temp.path(), options), "");
}

TEST(CommandLine, RemovesATreeWithBracketsAndNotAList) {
  const test::TempDir temp;
  test::make_tree(temp.path(), "dir [a,b]\ndir a\ndir b");
  const test::Descriptor before(
      ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::chdir(temp.path().c_str()), 0);

  Ran removed = run({"remove", "[a,b]"});

  ASSERT_EQ(::fchdir(before.get()), 0);
  EXPECT_EQ(removed.code, kDone) << removed.err;
  test::DumpOptions options;
  options.root = options.owners = options.mtimes = test::Shown::no;
  EXPECT_EQ(test::dump_tree(temp.path(), options),
            "dir a mode=0755\ndir b mode=0755\n");
}

TEST(CommandLine, RefusesToRemoveWhatHasNoNameOfItsOwn) {
  const test::TempDir temp;
  test::make_tree(temp.path("t"), "file a/b");
  for (const char* path : {"t/.", "t/a/.."}) {
    Ran refused = run({"remove", temp.path(path)});
    EXPECT_EQ(refused.code, kFailed) << path;
    EXPECT_TRUE(is_one_line(refused.err)) << refused.err;
  }
  EXPECT_EQ(run({"remove", temp.path("t/a/b")}).code, kDone);
}

}  // namespace
}  // namespace lamina::cli
