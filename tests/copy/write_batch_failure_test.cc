// A batch that fails: the lowest entry is named, what is below it is whole, and
// nothing half-made is left.
#include <cerrno>

#include "tests/copy/batching.h"
#include "tests/support/mounts.h"

namespace lamina::test {
namespace {

constexpr unsigned kWidths[] = {1, 2, 8};
constexpr int kFiles = 300;

std::string name_of_file(int i) {
  return "d" + std::to_string(i % 5) + "/f" + std::to_string(i);
}

std::string text_of_file(int i) {
  return std::string(static_cast<size_t>(i) % 700 + 1, 't') + std::to_string(i);
}

Entries many_files() {
  Entries entries;
  for (int i = 0; i < kFiles; ++i)
    entries.add(name_of_file(i), text_of_file(i));
  return entries;
}

class WriteBatchFailure : public Batching {
 protected:
  // Every entry below `index` is whole, and none is half-made. `old`: the text
  // that may stand where an entry was not written.
  void expect_whole_below(size_t index, const std::string& old = "") {
    for (int i = 0; i < kFiles; ++i) {
      const std::string path = root(name_of_file(i));
      const std::string text = exists(path) ? read_file(path) : "";
      if (static_cast<size_t>(i) < index || text != old) {
        ASSERT_EQ(text, text_of_file(i)) << i;
      }
    }
    EXPECT_EQ(temporaries(), std::vector<std::string>());
  }
};

TEST_F(WriteBatchFailure, IsThatOfTheLowestEntryEveryTime) {
  const Entries entries = many_files();
  const std::vector<std::pair<Op, int>> plants = {
      {Op::create, 290}, {Op::pwrite, 150}, {Op::close, 77},
      {Op::create, 78},  {Op::pwrite, 299}, {Op::create, 163},
  };
  for (const auto& [op, index] : plants)
    kernel().on(op, "root/" + name_of_file(index)).fails(EIO);
  for (int round = 0; round < 20; ++round) {
    for (const unsigned width : kWidths) {
      const auto failed = write(entries, width);

      ASSERT_EQ(error_of(failed),
                "77: close on 'd2/f77': Input/output error (EIO)")
          << "width " << width;
      expect_whole_below(77);
      remove_all_at(temp().fd(), "root");
    }
  }
}

TEST_F(WriteBatchFailure, OfADirectoryIsThatOfTheLowestEntryInIt) {
  const Entries entries = many_files();
  kernel().on(Op::mkdirat, "root/d4").fails(EACCES);
  kernel().on(Op::create, "root/" + name_of_file(3)).fails(EIO);
  kernel().on(Op::create, "root/" + name_of_file(5)).fails(EIO);
  for (const unsigned width : kWidths) {
    EXPECT_EQ(error_of(write(entries, width)),
              "3: openat on 'd3/f3': Input/output error (EIO)");
    expect_whole_below(3);
    remove_all_at(temp().fd(), "root");
  }

  kernel().on(Op::mkdirat, "root/d2").fails(EACCES);
  for (const unsigned width : kWidths) {
    EXPECT_EQ(error_of(write(entries, width)),
              "2: mkdirat on 'd2/f2': Permission denied (EACCES)");
    expect_whole_below(2);
    remove_all_at(temp().fd(), "root");
  }
}

TEST_F(WriteBatchFailure, DoesNotBeginWhatComesAfterIt) {
  const Entries entries = many_files();
  kernel().on(Op::create, "root/" + name_of_file(0)).fails(EIO);

  EXPECT_FALSE(write(entries, 1));

  EXPECT_EQ(kernel().count(Op::create), 1U);
}

TEST_F(WriteBatchFailure, OfAResourceThatRanOutKeepsTheOrder) {
  const Entries entries = many_files();
  for (const int code : {ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM}) {
    kernel().on(Op::pwrite, "root/" + name_of_file(200)).fails(code);
    kernel().on(Op::pwrite, "root/" + name_of_file(100)).fails(code);
    for (const unsigned width : kWidths) {
      const auto failed = write(entries, width);

      ASSERT_FALSE(failed);
      EXPECT_EQ(failed.error().index, 100U);
      EXPECT_EQ(failed.error().error.code, code);
      expect_whole_below(100);
      remove_all_at(temp().fd(), "root");
    }
  }
}

TEST_F(WriteBatchFailure, OfAFullDiskLeavesWholeFilesAndNoOthers) {
  const std::string reason = why_not(FileSystem::tmpfs);
  if (!reason.empty())
    GTEST_SKIP() << reason;
  for (const unsigned width : kWidths) {
    const Mount mount(FileSystem::tmpfs, {.bytes = std::uint64_t{1} << 20U});
    Entries entries;
    const std::string text(20'000, 'x');
    for (int i = 0; i < 200; ++i)
      entries.add("f" + std::to_string(i), text);
    copy::BatchOptions options;
    options.workers = width;

    const auto failed =
        copy::write_batch(mount.path(), entries.list(), options);

    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().error.code, ENOSPC);
    ASSERT_TRUE(failed.error().index);
    for (size_t i = 0; i < 200; ++i) {
      const std::string path = mount.path("f" + std::to_string(i));
      if (i < *failed.error().index || exists(path)) {
        ASSERT_EQ(read_file(path), text) << i;
      }
    }
  }
}

TEST_F(WriteBatchFailure, HoldsForWritesThatAreShortOrInterrupted) {
  kernel().on(Op::pwrite).gives_at_most(100);
  kernel().on(Op::pwrite).call(5).fails(EINTR);

  const auto report = write(many_files(), 2);

  ASSERT_TRUE(report) << error_of(report);
  expect_whole_below(kFiles);
}

TEST_F(WriteBatchFailure, EndsWhenNothingIsEverWritten) {
  kernel().on(Op::pwrite).returns(0);

  EXPECT_EQ(error_of(write(many_files(), 2)),
            "0: write on 'd0/f0': nothing was written: Input/output error "
            "(EIO)");
  expect_whole_below(0);
}

// At each call in turn.
class WriteBatchFailureAt : public WriteBatchFailure,
                            public testing::WithParamInterface<Op> {
 protected:
  void SetUp() override {
    make_tree(temp().path("from"),
              "file 7 size=300000 fill=1\nfile 57 size=3000 fill=2\n");
  }

  // Fails the kth call into a root where some files stand already; false when
  // there is no kth call.
  bool write_with_fault(std::size_t k, int code, unsigned workers) {
    SCOPED_TRACE("call " + std::to_string(k) + " width " +
                 std::to_string(workers));
    make_tree(root(),
              "dir d0\nfile d0/f0 text=old\nfile d1/f6 text=old\n"
              "symlink d2 -> real\ndir real\nfile d3/target text=old\n"
              "symlink d3/f8 -> target\n");
    Entries entries;
    for (int i = 0; i < kFiles; ++i) {
      if (i % 50 == 7)
        entries.from("from" + std::to_string(i),
                     temp().path("from/" + std::to_string(i % 100)));
      else
        entries.add(name_of_file(i), text_of_file(i),
                    i % 50 == 1 ? std::optional<mode_t>(04755) : std::nullopt);
    }
    FaultyKernel kernel;
    kernel.on(GetParam()).call(k).fails(code);
    copy::BatchOptions options;
    options.kernel = &kernel;
    options.workers = workers;
    const auto open = open_descriptors();

    const auto result = copy::write_batch(root(), entries.list(), options);

    EXPECT_EQ(open_descriptors(), open);
    if (result) {
      expect_all(entries, entries.list().size());
    } else {
      ++failures_;
      EXPECT_EQ(result.error().error.code, code) << error_of(result);
      expect_all(entries, result.error().index.value_or(0));
    }
    EXPECT_EQ(temporaries(), std::vector<std::string>());
    const bool met = kernel.faults() > 0;
    remove_all_at(temp().fd(), "root");
    return met;
  }

  void expect_all(const Entries& entries, size_t below) {
    for (size_t i = 0; i < entries.list().size(); ++i) {
      const copy::BatchEntry& entry = entries.list()[i];
      const std::string path = root(std::string(entry.path));
      if (i >= below && !exists(path))
        continue;
      const std::string text = read_file(path);
      const auto* data = reinterpret_cast<const char*>(entry.data.data());
      const bool whole = entry.from.empty()
                             ? text == std::string(data, entry.data.size())
                             : text == read_file(std::string(entry.from));
      ASSERT_TRUE(whole || (i >= below && text == "old")) << entry.path;
    }
  }

  std::size_t failures_ = 0;
};

TEST_P(WriteBatchFailureAt, LeavesWholeFilesAndNoTemporaryName) {
  for (const unsigned workers : {1U, 4U}) {
    for (const int code : {EIO, ENOSPC}) {
      std::size_t k = 1;
      // Every call at first, then some of them.
      while (write_with_fault(k, code, workers))
        k += k < 12 ? 1 : 37;
    }
  }

  EXPECT_GT(failures_, 0U) << "no such call was ever made";
}

INSTANTIATE_TEST_SUITE_P(Of, WriteBatchFailureAt,
                         testing::Values(Op::openat, Op::create, Op::close,
                                         Op::fstat, Op::fstatfs, Op::mkdirat,
                                         Op::readlinkat, Op::pwrite, Op::pread,
                                         Op::copy_file_range, Op::fchmod,
                                         Op::renameat2),
                         [](const testing::TestParamInfo<Op>& at) {
                           return std::string(to_string(at.param));
                         });

}  // namespace
}  // namespace lamina::test
