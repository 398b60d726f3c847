// What a batch writes, and what it does with what is there. Aliases, failures,
// parents and system calls have files of their own.
#include "copy/write_batch.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "base/path.h"
#include "base/worker_pool.h"
#include "tests/copy/batching.h"
#include "tests/support/mounts.h"

namespace lamina::test {
namespace {

constexpr DumpOptions kPlain = {.owners = Shown::no,
                                .mtimes = Shown::no,
                                .holes = Shown::no,
                                .xattrs = Shown::no};

class WriteBatch : public Batching {
 protected:
  mode_t mode_of(const std::string& name) {
    return stat_of(root(name)).st_mode & 07777;
  }
};

TEST_F(WriteBatch, WritesEveryFileAndMakesItsParents) {
  Entries entries;
  entries.add("a", "1").add("d/e/f/b", "22").add("d/c", "").add("d/e/g", "3");

  const auto report = write(entries);

  ASSERT_TRUE(report) << error_of(report);
  EXPECT_EQ(dump_tree(root(), kPlain),
            "dir . mode=0755\n"
            "file a mode=0644 size=1 text=1\n"
            "dir d mode=0755\n"
            "file d/c mode=0644 size=0 text=\n"
            "dir d/e mode=0755\n"
            "dir d/e/f mode=0755\n"
            "file d/e/f/b mode=0644 size=2 text=22\n"
            "file d/e/g mode=0644 size=1 text=3\n");
  EXPECT_EQ(report->files, 4U);
  EXPECT_EQ(report->directories, 3U);
  EXPECT_EQ(report->bytes, 4U);
  EXPECT_EQ(report->replaced, 0U);
  EXPECT_EQ(report->superseded, std::vector<size_t>());
}

TEST_F(WriteBatch, OfNothingMakesTheRoot) {
  ASSERT_TRUE(write(Entries()));

  EXPECT_EQ(dump_tree(root(), kPlain), "dir . mode=0755\n");
}

TEST_F(WriteBatch, GivesTheVeryModeWhateverTheUmask) {
  for (const mode_t mask : {0U, 022U, 077U, 0777U}) {
    const UmaskScope umask(mask);
    for (const unsigned workers : {1U, 4U}) {
      Entries entries;
      for (int i = 0; i < 200; ++i)
        entries.add("d/plain" + std::to_string(i), "x");
      entries.add("none", "x", 0).add("all", "x", 0777).add("ro", "x", 0444);
      entries.add("suid", "x", 04755).add("sgid", "x", 02711);
      entries.add("sticky", "x", 01600);

      const auto report = write(entries, workers);

      ASSERT_TRUE(report) << error_of(report);
      EXPECT_EQ(mode_of("none"), 0U);
      EXPECT_EQ(mode_of("all"), 0777U);
      EXPECT_EQ(mode_of("ro"), 0444U);
      EXPECT_EQ(mode_of("suid"), 04755U);
      EXPECT_EQ(mode_of("sgid"), 02711U);
      EXPECT_EQ(mode_of("sticky"), 01600U);
      EXPECT_EQ(mode_of("d"), 0755U);
      EXPECT_EQ(mode_of(""), 0755U);
      for (int i = 0; i < 200; ++i)
        ASSERT_EQ(mode_of("d/plain" + std::to_string(i)), 0644U);
      remove_all_at(temp().fd(), "root");
    }
  }
}

TEST_F(WriteBatch, GivesTheVeryModeBelowADefaultAcl) {
  make_tree(
      root(),
      "dir d" +
          std::string(
              " xattr:system.posix_acl_default="
              "\\x02\\x00\\x00\\x00\\x01\\x00\\x07\\x00\\xff\\xff\\xff\\xff"
              "\\x04\\x00\\x00\\x00\\xff\\xff\\xff\\xff"
              "\\x20\\x00\\x00\\x00\\xff\\xff\\xff\\xff"));
  Entries entries;
  entries.add("d/a", "1").add("d/b", "2", 0755).add("d/e/c", "3");

  const auto report = write(entries);

  ASSERT_TRUE(report) << error_of(report);
  EXPECT_EQ(mode_of("d/a"), 0644U);
  EXPECT_EQ(mode_of("d/b"), 0755U);
  EXPECT_EQ(mode_of("d/e"), 0755U);
  EXPECT_EQ(mode_of("d/e/c"), 0644U);
}

TEST_F(WriteBatch, LeavesTheGroupBitOfADirectoryToItsChildren) {
  const UmaskScope umask(077);
  make_tree(root(), "dir d mode=2755 owner=0:7\n");
  Entries entries;
  entries.add("d/e/a", "1");

  ASSERT_TRUE(write(entries));

  EXPECT_EQ(mode_of("d/e"), 02755U);
  EXPECT_EQ(stat_of(root("d/e/a")).st_gid, 7U);
}

TEST_F(WriteBatch, ReplacesWhatStandsThereByANewInode) {
  make_tree(root(),
            "file hard link=1 text=blob\n"
            "file ro mode=0400 text=old\n"
            "symlink sym -> target\n"
            "symlink dangling -> nowhere\n"
            "fifo pipe\n"
            "file target text=stays\n");
  make_tree(temp().path("store"), "dir .\n");
  ASSERT_EQ(::link(root("hard").c_str(), temp().path("store/blob").c_str()), 0);
  Entries entries;
  for (const char* name : {"hard", "ro", "sym", "dangling", "pipe"})
    entries.add(name, "new");

  const auto report = write(entries);

  ASSERT_TRUE(report) << error_of(report);
  EXPECT_EQ(report->replaced, 5U);
  EXPECT_EQ(read_file(temp().path("store/blob")), "blob");
  EXPECT_EQ(stat_of(temp().path("store/blob")).st_nlink, 1U);
  EXPECT_FALSE(exists(root("nowhere")));
  EXPECT_EQ(dump_tree(root(), kPlain),
            "dir . mode=0755\n"
            "file dangling mode=0644 size=3 text=new\n"
            "file hard mode=0644 size=3 text=new\n"
            "file pipe mode=0644 size=3 text=new\n"
            "file ro mode=0644 size=3 text=new\n"
            "file sym mode=0644 size=3 text=new\n"
            "file target mode=0644 size=5 text=stays\n");
}

TEST_F(WriteBatch, NeverWritesToAFileThatIsOpen) {
  make_tree(root(), "file a text=old\n");
  const Descriptor reader(::open(root("a").c_str(), O_RDONLY | O_CLOEXEC));
  Entries entries;
  entries.add("a", "new");

  ASSERT_TRUE(write(entries));

  char bytes[8] = {};
  EXPECT_EQ(::pread(reader.get(), bytes, sizeof bytes, 0), 3);
  EXPECT_STREQ(bytes, "old");
}

TEST_F(WriteBatch, ShowsTheOldFileUntilTheNewOneIsWhole) {
  make_tree(root(), "file a text=old\n");
  std::string seen;
  kernel().on(Op::renameat2).first([&] { seen = read_file(root("a")); });
  Entries entries;
  entries.add("a", std::string(1'000'000, 'n'));

  ASSERT_TRUE(write(entries));

  EXPECT_EQ(seen, "old");
  EXPECT_EQ(stat_of(root("a")).st_size, 1'000'000);
}

TEST_F(WriteBatch, FailsWhereADirectoryIsInTheWay) {
  make_tree(root(), "dir b\ndir c\nfile c/x text=1\n");
  for (const char* name : {"b", "c"}) {
    Entries entries;
    entries.add("a", "1").add(name, "2");

    EXPECT_EQ(error_of(write(entries)), "1: rename on '" + std::string(name) +
                                            "': Is a directory (EISDIR)");
    EXPECT_EQ(read_file(root("a")), "1");
    EXPECT_EQ(temporaries(), std::vector<std::string>());
  }
}

TEST_F(WriteBatch, FailsWhereAFileIsInTheWayOfADirectory) {
  make_tree(root(), "file b text=old\n");
  Entries entries;
  entries.add("a", "1").add("b/c", "2");

  EXPECT_EQ(error_of(write(entries)),
            "1: resolve on 'b/c': a parent is not a directory: Not a directory "
            "(ENOTDIR)");
  EXPECT_EQ(read_file(root("b")), "old");
}

TEST_F(WriteBatch, TakesContentFromAFile) {
  make_tree(temp().path("from"),
            "file small text=hello\nfile empty\nfile big size=3000000 fill=1\n"
            "symlink link -> small\n");
  Entries entries;
  for (const char* name : {"small", "empty", "big", "link"})
    entries.from(std::string("d/") + name, temp().path("from/") + name);

  const auto report = write(entries);

  ASSERT_TRUE(report) << error_of(report);
  EXPECT_EQ(report->bytes, 3'000'010U);
  for (const char* name : {"small", "empty", "big", "link"}) {
    EXPECT_EQ(read_file(root(std::string("d/") + name)),
              read_file(temp().path("from/") + name));
  }
  EXPECT_TRUE(S_ISREG(stat_of(root("d/link")).st_mode));
}

TEST_F(WriteBatch, MakesNoFileForASourceThatIsNone) {
  make_tree(temp().path("from"), "dir dir\nfifo fifo\nfile file text=1\n");
  const std::string from = temp().path("from/");
  for (const auto& [name, why] :
       {std::pair{"gone", "No such file or directory (ENOENT)"},
        {"dir", "it is not a regular file: Invalid argument (EINVAL)"},
        {"fifo", "it is not a regular file: Invalid argument (EINVAL)"},
        {"file/x", "Not a directory (ENOTDIR)"}}) {
    Entries entries;
    entries.add("a", "1").from("b", from + name);

    EXPECT_EQ(error_of(write(entries)),
              "1: open on '" + from + name + "': " + why);
    EXPECT_FALSE(exists(root("b")));
  }
}

TEST_F(WriteBatch, LeavesTheRootAsItWasWhenANameIsBad) {
  const std::string long_name(256, 'n');
  const std::string good = "b";
  for (const std::string& bad :
       {std::string(), std::string("n\0l", 3), std::string("/abs"),
        std::string("../up"), std::string("a/../../up"), std::string("."),
        std::string("x/.."), std::string("trail/"), long_name,
        "d/" + long_name + "/e"}) {
    Entries entries;
    entries.add("a", "1").add("d/e", "2").add(bad, "3").add("/later", "4");

    const auto absent = write(entries);

    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().index, 2U) << error_of(absent);
    EXPECT_FALSE(exists(root()));

    make_tree(root(), "file a text=old\n");
    const std::string before = dump_tree(root());
    EXPECT_EQ(error_of(write(entries)), error_of(absent));
    EXPECT_EQ(dump_tree(root()), before);
    EXPECT_EQ(kernel().count(Op::create), 0U);
    EXPECT_EQ(kernel().count(Op::mkdirat), 0U);
    remove_all_at(temp().fd(), "root");
  }
}

TEST_F(WriteBatch, LeavesTheRootAsItWasWhenAModeIsBad) {
  Entries entries;
  entries.add("a", "1").add("b", "2", 010000);

  EXPECT_EQ(error_of(write(entries)).substr(0, 16), "1: write on 'b':");
  EXPECT_FALSE(exists(root()));
}

// The entry that makes the list impossible is the one named: all before it
// could be written.
TEST_F(WriteBatch, RefusesANameThatIsAFileAndADirectory) {
  Entries file_first;
  file_first.add("a", "1").add("x/y", "2").add("x/y/z", "3");
  Entries directory_first;
  directory_first.add("x/y/z/w", "1").add("b", "2").add("./x//y", "3");

  EXPECT_EQ(error_of(write(file_first)),
            "2: write on 'x/y/z': a directory on its way is an earlier entry: "
            "Not a directory (ENOTDIR)");
  EXPECT_EQ(error_of(write(directory_first)),
            "2: write on './x//y': an earlier entry lies below it: Is a "
            "directory (EISDIR)");
  EXPECT_FALSE(exists(root()));
}

TEST_F(WriteBatch, GoesAsDeepAsNamesDo) {
  std::string deep;
  for (int i = 0; i < 3000; ++i)
    deep += "directory/";
  Entries entries;
  entries.add(deep + "a", "1").add(deep + "../b", "2");

  const auto report = write(entries);

  ASSERT_TRUE(report) << error_of(report);
  EXPECT_EQ(report->directories, 3000U);
}

TEST_F(WriteBatch, StopsWhenAsked) {
  Entries entries;
  for (int i = 0; i < 500; ++i)
    entries.add("f" + std::to_string(i), "x");
  std::stop_source stop;
  kernel().on(Op::create).call(100).first([&] { stop.request_stop(); });
  copy::BatchOptions options;
  options.kernel = &kernel();
  options.stop = stop.get_token();
  for (const unsigned workers : {1U, 4U}) {
    options.workers = workers;

    const auto stopped = copy::write_batch(root(), entries.list(), options);

    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().index, std::nullopt);
    EXPECT_EQ(stopped.error().error.code, ECANCELED);
    EXPECT_EQ(stopped.error().error.subject, root());
    EXPECT_LT(stopped.error().done.files, 500U);
  }
  EXPECT_LT(kernel().count(Op::create), 110U);
}

TEST_F(WriteBatch, NamesNoEntryWhenTheRootCannotBeOpened) {
  Entries entries;
  entries.add("a", "1");
  copy::BatchOptions options;

  EXPECT_EQ(
      error_of(copy::write_batch(root("no/such"), entries.list())),
      "none: open on '" + root("no") + "': No such file or directory (ENOENT)");
  write_file(root(), "file");
  EXPECT_EQ(error_of(write(entries)),
            "none: open on '" + root() + "': Not a directory (ENOTDIR)");
}

TEST_F(WriteBatch, WritesAsAnOrdinaryUser) {
  if (!may_become_other_users())
    GTEST_SKIP() << "needs root";
  ASSERT_EQ(::chmod(temp().path().c_str(), 0777), 0);
  const UmaskScope umask(077);

  const std::string said = as_ordinary_user([&] {
    Entries entries;
    entries.add("a", "1").add("d/b", "2", 0755).add("./a", "3", 04711);
    const auto report = copy::write_batch(root(), entries.list());
    return error_of(report);
  });

  EXPECT_EQ(said, "");
  EXPECT_EQ(read_file(root("a")), "3");
  EXPECT_EQ(mode_of("a"), 04711U);
  EXPECT_EQ(mode_of("d/b"), 0755U);
  EXPECT_EQ(stat_of(root("d/b")).st_uid, kNobody);
}

TEST_F(WriteBatch, SaysWhenAGroupBitCannotBeGiven) {
  if (!may_become_other_users())
    GTEST_SKIP() << "needs root";
  ASSERT_EQ(::chmod(temp().path().c_str(), 0777), 0);
  make_tree(root(), "dir . mode=2777 owner=0:7\n");

  const std::string said = as_ordinary_user([&] {
    Entries entries;
    entries.add("a", "1").add("b", "2", 02755);
    return error_of(copy::write_batch(root(), entries.list()));
  });

  EXPECT_EQ(said.substr(0, 16), "1: chmod on 'b':");
  EXPECT_FALSE(exists(root("b")));
}

TEST_F(WriteBatch, OfManyCallersAtOnceIsWholeFileByFile) {
  std::vector<std::thread> threads;
  for (char c : {'a', 'b', 'c', 'd'}) {
    threads.emplace_back([this, c] {
      Entries entries;
      for (int i = 0; i < 200; ++i)
        entries.add("d/f" + std::to_string(i), std::string(5000, c));
      const auto report = copy::write_batch(root(), entries.list());
      EXPECT_TRUE(report) << error_of(report);
    });
  }
  for (std::thread& thread : threads)
    thread.join();

  for (int i = 0; i < 200; ++i) {
    const std::string text = read_file(root("d/f" + std::to_string(i)));
    ASSERT_EQ(text, std::string(5000, text.at(0)));
  }
  EXPECT_EQ(temporaries(), std::vector<std::string>());
}

class WriteBatchOn : public OnEachFileSystem {};

TEST_P(WriteBatchOn, WritesAndReplacesAtEveryWidth) {
  for (const unsigned workers : {1U, 2U, 8U}) {
    Entries entries;
    for (int i = 0; i < 600; ++i) {
      entries.add("d" + std::to_string(i % 9) + "/f" + std::to_string(i),
                  std::to_string(i + static_cast<int>(workers)));
    }
    copy::BatchOptions options;
    options.workers = workers;

    const auto report =
        copy::write_batch(path("root"), entries.list(), options);

    ASSERT_TRUE(report) << error_of(report);
    for (int i = 0; i < 600; ++i) {
      ASSERT_EQ(read_file(path("root/d" + std::to_string(i % 9) + "/f" +
                               std::to_string(i))),
                std::to_string(i + static_cast<int>(workers)));
    }
  }
}

TEST_P(WriteBatchOn, ReflinksFromFilesWhereThatCanBe) {
  make_tree(path("from"), "file a size=100000 fill=1\n");
  Entries entries;
  entries.from("b", path("from/a"));

  const auto report = copy::write_batch(path("root"), entries.list());

  ASSERT_TRUE(report) << error_of(report);
  const bool reflinks =
      GetParam() == FileSystem::xfs || GetParam() == FileSystem::btrfs;
  EXPECT_EQ(report->reflinked, reflinks ? 1U : 0U);
  EXPECT_EQ(read_file(path("root/b")), read_file(path("from/a")));
}

LAMINA_ON_EACH_FILE_SYSTEM(WriteBatchOn);

}  // namespace
}  // namespace lamina::test
