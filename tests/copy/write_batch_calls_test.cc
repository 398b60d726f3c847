// How many system calls a batch makes: it asks for nothing that it does not
// need to know.
#include <cerrno>

#include "tests/copy/batching.h"

namespace lamina::test {
namespace {

class WriteBatchCalls : public Batching {
 private:
  // One that takes nothing from the default modes: else each needs a chmod.
  UmaskScope umask_{022};
};

Entries files_in_directories(int files, int directories) {
  Entries entries;
  for (int i = 0; i < files; ++i) {
    entries.add(
        "top/d" + std::to_string(i % directories) + "/f" + std::to_string(i),
        "text");
  }
  return entries;
}

TEST_F(WriteBatchCalls, AreThreeForANewFile) {
  Entries entries;
  entries.add("a", "1");

  ASSERT_TRUE(write(entries, 1));

  EXPECT_EQ(kernel().trace("root/a"), "create pwrite close ");
}

TEST_F(WriteBatchCalls, AreTwoForAnEmptyFile) {
  Entries entries;
  entries.add("a", "");

  ASSERT_TRUE(write(entries, 1));

  EXPECT_EQ(kernel().trace("root/a"), "create close ");
}

TEST_F(WriteBatchCalls, AreFiveForAFileThatIsReplaced) {
  make_tree(root(), "file a text=old\n");
  Entries entries;
  entries.add("a", "1");

  ASSERT_TRUE(write(entries, 1));

  EXPECT_EQ(kernel().trace("root/a"), "create renameat2 ");
  EXPECT_EQ(kernel().count(Op::create), 2U);
  EXPECT_EQ(kernel().count(Op::fstatat) + kernel().count(Op::unlinkat), 0U);
}

TEST_F(WriteBatchCalls, MakeADirectoryAndOpenIt) {
  ASSERT_TRUE(write(files_in_directories(300, 3), 1));

  EXPECT_EQ(kernel().trace("root/top"), "mkdirat openat ");
  EXPECT_EQ(kernel().trace("root/top/d0"), "mkdirat openat ");
}

TEST_F(WriteBatchCalls, MakeEachDirectoryOnceAtEveryWidth) {
  for (const unsigned width : {1U, 2U, 8U}) {
    FaultyKernel counted;
    copy::BatchOptions options;
    options.kernel = &counted;
    options.workers = width;

    const auto report = copy::write_batch(
        root(), files_in_directories(2000, 50).list(), options);

    ASSERT_TRUE(report) << error_of(report);
    EXPECT_EQ(report->directories, 51U);
    // And the root.
    EXPECT_EQ(counted.count(Op::mkdirat), 52U);
    EXPECT_EQ(counted.count(Op::create), 2000U);
    EXPECT_EQ(counted.count(Op::pwrite), 2000U);
    EXPECT_EQ(counted.count(Op::fstatat), 0U);
    EXPECT_EQ(counted.count(Op::fstat), 1U);
    remove_all_at(temp().fd(), "root");
  }
}

TEST_F(WriteBatchCalls, SetNoModeThatTheCreationGave) {
  Entries entries;
  entries.add("a", "1").add("b", "2", 0755).add("c", "3", 0444).add("d/e", "4");

  ASSERT_TRUE(write(entries, 1));

  EXPECT_EQ(kernel().count(Op::fchmod), 0U);
}

TEST_F(WriteBatchCalls, SetEachModeOnceWhereTheUmaskCutIt) {
  const UmaskScope umask(077);
  Entries entries;
  entries.add("a", "1").add("d/e", "2").add("b", "3", 0600);

  ASSERT_TRUE(write(entries, 1));

  EXPECT_EQ(kernel().trace("root/a"), "create pwrite fchmod close ");
  EXPECT_EQ(kernel().trace("root/b"), "create pwrite close ");
  EXPECT_EQ(kernel().trace("root/d"), "mkdirat openat fchmod ");
}

TEST_F(WriteBatchCalls, AreNoneForAnEntryThatIsSuperseded) {
  Entries entries;
  for (int i = 0; i < 100; ++i)
    entries.add(i % 2 == 0 ? "a" : "./a", std::to_string(i));

  ASSERT_TRUE(write(entries));

  EXPECT_EQ(kernel().trace("root/a"), "create pwrite close ");
}

TEST_F(WriteBatchCalls, StartNoThreadAtWidthOne) {
  copy::BatchOptions options;
  options.workers = 1;
  const size_t before = thread_count();
  size_t during = 0;
  FaultyKernel counted;
  options.kernel = &counted;
  counted.on(Op::create).call(500).first([&] { during = thread_count(); });

  ASSERT_TRUE(copy::write_batch(root(), files_in_directories(1000, 10).list(),
                                options));

  EXPECT_EQ(during, before);
}

}  // namespace
}  // namespace lamina::test
