// Labels for new inodes, through a Labeller that keeps books.
#include "copy/label.h"

#include <atomic>
#include <cerrno>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "tests/copy/copying.h"

namespace lamina::test {
namespace {

using copy::Labeller;
using copy::LabelScope;
using copy::Options;

constexpr char kLabel[] = "system_u:object_r:container_file_t:s0:c1,c2";

// Knows for each thread which context it has set.
class Books final : public Labeller {
 public:
  bool enabled() override { return enabled_; }

  int set_create_context(const char* context) override {
    const std::lock_guard lock(mutex_);
    if (context != nullptr && ++sets_ == failing_) {
      errno = EINVAL;
      return -1;
    }
    contexts_[std::this_thread::get_id()] = context == nullptr ? "" : context;
    return 0;
  }

  // The calling thread's, "" for the default.
  std::string current() {
    const std::lock_guard lock(mutex_);
    return contexts_[std::this_thread::get_id()];
  }
  // True when every thread is back to the default.
  bool balanced() {
    const std::lock_guard lock(mutex_);
    for (const auto& [thread, context] : contexts_) {
      if (!context.empty())
        return false;
    }
    return true;
  }
  int sets() {
    const std::lock_guard lock(mutex_);
    return sets_;
  }
  void fail(int nth) { failing_ = nth; }
  void disable() { enabled_ = false; }

 private:
  std::mutex mutex_;
  std::map<std::thread::id, std::string> contexts_;
  int sets_ = 0;
  int failing_ = 0;
  bool enabled_ = true;
};

TEST(LabelScope, SetsAndTakesBack) {
  Books books;
  {
    LabelScope scope;
    ASSERT_TRUE(scope.begin(books, kLabel));
    EXPECT_EQ(books.current(), kLabel);
  }

  EXPECT_TRUE(books.balanced());
}

TEST(LabelScope, EndsOnce) {
  Books books;
  LabelScope scope;
  ASSERT_TRUE(scope.begin(books, kLabel));
  scope.end();
  books.set_create_context("somebody else's");

  scope.end();

  EXPECT_EQ(books.current(), "somebody else's");
}

TEST(LabelScope, NamesTheLabelThatWasRefused) {
  Books books;
  books.fail(1);
  LabelScope scope;

  EXPECT_EQ(error_of(scope.begin(books, kLabel)),
            std::string("setfscreatecon on '") + kLabel +
                "': Invalid argument (EINVAL)");
}

class DirCopyLabel : public FaultyCopying {
 protected:
  DirCopyLabel()
      : FaultyCopying("/dev/shm") {}

  Options labelled(unsigned workers = 1) {
    Options out = options(workers);
    out.label = kLabel;
    out.labeller = &books_;
    return out;
  }

  Books books_;
};

constexpr char kEveryKind[] =
    "dir d\nfile d/f text=x\nsymlink d/s -> f\nfifo d/p\nfile g text=x\n";

TEST_F(DirCopyLabel, IsSetWheneverAnInodeIsMade) {
  make_source(kEveryKind);
  std::atomic<int> made{0};
  for (const Op op : {Op::mkdirat, Op::create, Op::symlinkat, Op::mknodat}) {
    kernel().on(op).first([&] {
      ++made;
      EXPECT_EQ(books_.current(), kLabel);
    });
  }
  for (const unsigned workers : {1U, 3U}) {
    made = 0;

    ASSERT_EQ(error_of(copy(labelled(workers))), "");

    EXPECT_EQ(made, 6);
    EXPECT_TRUE(books_.balanced());
    remove_all_at(temp().fd(), "dst");
  }
}

TEST_F(DirCopyLabel, IsTakenBackAfterEveryFailure) {
  make_source(kEveryKind);
  for (const unsigned workers : {1U, 3U}) {
    for (const Op op : {Op::mkdirat, Op::create, Op::symlinkat, Op::mknodat,
                        Op::openat, Op::futimens}) {
      for (std::size_t k = 1; k <= 3; ++k) {
        FaultyKernel kernel;
        kernel.on(op).call(k).fails(ENOSPC);
        Options options = labelled(workers);
        options.kernel = &kernel;

        if (copy(options))
          remove_all_at(temp().fd(), "dst");

        EXPECT_TRUE(books_.balanced()) << to_string(op) << " " << k;
      }
    }
  }
}

TEST_F(DirCopyLabel, ThatIsRefusedFailsTheCopy) {
  make_source(kEveryKind);
  for (int nth = 1; nth <= 2; ++nth) {
    Books books;
    books.fail(nth);
    Options options = labelled();
    options.labeller = &books;

    const auto report = copy(options);

    EXPECT_EQ(code_of(report), EINVAL) << nth;
    EXPECT_FALSE(exists(dst())) << nth;
    EXPECT_TRUE(books.balanced()) << nth;
  }
}

TEST_F(DirCopyLabel, WithoutSELinuxIsAnError) {
  make_source(kEveryKind);
  books_.disable();

  EXPECT_EQ(error_of(copy(labelled())),
            std::string("set label on '") + kLabel +
                "': SELinux is not enabled: Operation not supported "
                "(EOPNOTSUPP)");
  EXPECT_FALSE(exists(dst()));
}

TEST_F(DirCopyLabel, IsNotTouchedWhereNoneIsGiven) {
  make_source(kEveryKind);
  Options options = this->options();
  options.labeller = &books_;

  ASSERT_EQ(error_of(copy(options)), "");

  EXPECT_EQ(books_.sets(), 0);
}

TEST_F(DirCopyLabel, CannotBeGivenToHardLinks) {
  make_source(kEveryKind);
  Options options = labelled();
  options.sharing = copy::Sharing::hardlink;

  EXPECT_EQ(code_of(copy(options)), EINVAL);
}

}  // namespace
}  // namespace lamina::test
