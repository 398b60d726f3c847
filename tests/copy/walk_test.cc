// The walk itself: order, splitting, what is entered and left when.
#include "copy/walk.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/worker_pool.h"
#include "tests/copy/copying.h"

namespace lamina::test {
namespace {

using copy::Dir;
using copy::Entry;
using copy::OpenDirs;
using copy::Side;
using copy::Trees;
using copy::Visit;
using copy::Visitor;
using copy::Walk;

// What all visitors of a walk saw.
struct Notes {
  std::mutex mutex;
  std::vector<std::string> lines;  // "enter a", "visit a/f", "leave a"
  std::string fail_at;             // This line fails.
  std::string skip;                // This directory is not entered.
  std::atomic<int> forks{0};
  std::atomic<int> open_turns{0};

  Result<void> add(const std::string& line) {
    const std::lock_guard lock(mutex);
    lines.push_back(line);
    if (line == fail_at)
      return fail(make_error(EACCES, "test", ""));
    return {};
  }
  std::size_t at(const std::string& line) const {
    return static_cast<std::size_t>(
        std::find(lines.begin(), lines.end(), line) - lines.begin());
  }
};

class NotingVisitor final : public Visitor {
 public:
  explicit NotingVisitor(Notes& notes)
      : notes_(notes) {}

  std::unique_ptr<Visitor> fork() override {
    ++notes_.forks;
    return std::make_unique<NotingVisitor>(notes_);
  }
  void begin_turn(const Worker& /*worker*/) override { ++notes_.open_turns; }
  void end_turn() override { --notes_.open_turns; }

  Result<bool> enter(Dir& dir, int parent, int /*target*/,
                     OpenDirs& open) override {
    TRY(notes_.add("enter " + dir.path()));
    if (dir.path() == notes_.skip)
      return false;
    Fd fd(::openat(parent, dir.name().c_str(),
                   O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid() || ::fstat(fd.get(), &dir.stat) != 0)
      return fail(last_error("openat", ""));
    open.put(dir, Side::source, std::move(fd));
    return true;
  }
  Result<Visit> visit(const Entry& entry) override {
    TRY(notes_.add("visit " + entry.path()));
    again_ = entry.listed.name_view().starts_with("large") ? 3 : 0;
    return again_ > 0 ? Visit::again : Visit::done;
  }
  Result<Visit> resume(const Entry& entry) override {
    TRY(notes_.add("resume " + entry.path()));
    return --again_ > 0 ? Visit::again : Visit::done;
  }
  Result<void> leave(Dir& dir, OpenDirs& /*open*/) override {
    return notes_.add("leave " + dir.path());
  }

 private:
  Notes& notes_;
  int again_ = 0;
};

class WalkOf : public Copying {
 protected:
  WalkOf()
      : Copying("/dev/shm") {}

  Result<void> walk(unsigned width, std::stop_token stop = {}) {
    WorkerPool pool(real_kernel());
    Walk walk({real_kernel(), pool, Trees::source_only, 1, width, stop});
    auto root = std::make_shared<Dir>(nullptr, "");
    Fd fd(::open(src().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_EQ(::fstat(fd.get(), &root->stat), 0);
    walk.open().put(*root, Side::source, std::move(fd));
    return walk.run(std::move(root), std::make_unique<NotingVisitor>(notes_));
  }

  Notes notes_;
};

TEST_F(WalkOf, AnEmptyTreeLeavesItsRoot) {
  make_source("dir .\n");

  ASSERT_EQ(error_of(walk(1)), "");

  EXPECT_EQ(notes_.lines, std::vector<std::string>{"leave "});
}

TEST_F(WalkOf, ATreeMeetsEachEntryOnceAtEveryWidth) {
  std::string text;
  std::multiset<std::string> want = {"leave "};
  for (int d = 0; d < 20; ++d) {
    const std::string dir = "d" + std::to_string(d) + (d % 3 == 0 ? "/e" : "");
    for (int f = 0; f < 15; ++f) {
      const std::string file = dir + "/f" + std::to_string(f);
      text += "symlink " + file + " -> x\n";
      want.insert("visit " + file);
    }
    want.insert({"enter " + dir, "leave " + dir});
    if (d % 3 == 0) {
      const std::string top = dir.substr(0, dir.size() - 2);
      want.insert({"enter " + top, "leave " + top});
    }
  }
  make_source(text);
  for (const unsigned width : {1U, 2U, 4U, 8U}) {
    notes_.lines.clear();

    ASSERT_EQ(error_of(walk(width)), "");

    EXPECT_EQ(
        std::multiset<std::string>(notes_.lines.begin(), notes_.lines.end()),
        want)
        << width;
    EXPECT_EQ(notes_.open_turns, 0);
  }
}

TEST_F(WalkOf, ADirectoryIsEnteredBeforeAndLeftAfterWhatIsInIt) {
  make_source("fifo a/b/c/f\nfifo a/b/f\nfifo a/f\ndir a/d\n");
  for (const unsigned width : {1U, 4U}) {
    notes_.lines.clear();

    ASSERT_EQ(error_of(walk(width)), "");

    for (const char* dir : {"a", "a/b", "a/b/c", "a/d"}) {
      const std::size_t enter = notes_.at(std::string("enter ") + dir);
      const std::size_t leave = notes_.at(std::string("leave ") + dir);
      EXPECT_LT(enter, leave);
      for (std::size_t i = 0; i < notes_.lines.size(); ++i) {
        if (notes_.lines[i].find(std::string(" ") + dir + "/") !=
            std::string::npos) {
          EXPECT_TRUE(i > enter && i < leave) << notes_.lines[i];
        }
      }
    }
    EXPECT_EQ(notes_.lines.back(), "leave ");
  }
}

TEST_F(WalkOf, ALargeDirectoryIsSharedAmongThreads) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += "symlink s" + std::to_string(i) + " -> x\n";
  make_source(text);

  ASSERT_EQ(error_of(walk(4)), "");

  EXPECT_GT(notes_.forks, 0);
  EXPECT_EQ(notes_.lines.size(), 1001U);
}

TEST_F(WalkOf, ALargeFileIsResumedUntilItIsDone) {
  make_source("fifo large1\nfifo small\nfifo d/large2\n");
  for (const unsigned width : {1U, 4U}) {
    notes_.lines.clear();

    ASSERT_EQ(error_of(walk(width)), "");

    for (const char* line : {"resume large1", "resume d/large2"})
      EXPECT_EQ(std::count(notes_.lines.begin(), notes_.lines.end(), line), 3)
          << line;
  }
}

TEST_F(WalkOf, ADirectoryThatIsNotEnteredIsNotLeft) {
  make_source("fifo a/f\nfifo b/f\n");
  notes_.skip = "a";

  ASSERT_EQ(error_of(walk(1)), "");

  EXPECT_EQ(notes_.at("visit a/f"), notes_.lines.size());
  EXPECT_EQ(notes_.at("leave a"), notes_.lines.size());
  EXPECT_LT(notes_.at("leave b"), notes_.lines.size());
}

TEST_F(WalkOf, AnErrorStopsWhatComesAfterAndNothingBefore) {
  make_source("fifo a/f\nfifo b/f\nfifo c/f\n");
  for (const unsigned width : {1U, 4U}) {
    notes_.lines.clear();
    notes_.fail_at = "enter b";

    EXPECT_EQ(error_of(walk(width)), "test on 'b': Permission denied (EACCES)");

    EXPECT_LT(notes_.at("leave a"), notes_.lines.size());
    EXPECT_EQ(notes_.at("leave b"), notes_.lines.size());
    EXPECT_EQ(notes_.at("leave "), notes_.lines.size()) << "the root";
  }
}

TEST_F(WalkOf, AStoppedTreeIsNotWalkedOn) {
  make_source("fifo a/f\n");
  std::stop_source stop;
  stop.request_stop();

  EXPECT_EQ(code_of(walk(2, stop.get_token())), ECANCELED);

  EXPECT_TRUE(notes_.lines.empty());
}

}  // namespace
}  // namespace lamina::test
