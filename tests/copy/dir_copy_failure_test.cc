// Whatever call fails: what was made is gone, nothing is leaked, the source is
// as it was.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "tests/copy/attribute_values.h"
#include "tests/copy/copying.h"
#include "tests/support/fixtures.h"

namespace lamina::test {
namespace {

using copy::Options;

constexpr DumpOptions kAll = {.atimes = Shown::yes};

// Each call that a copy of some_of_everything() makes.
constexpr Op kCalls[] = {
    Op::openat,     Op::create,     Op::close,     Op::fstat,
    Op::fstatat,    Op::fstatfs,    Op::getdents,  Op::readlinkat,
    Op::pread,      Op::pwrite,     Op::lseek,     Op::copy_file_range,
    Op::ficlone,    Op::ftruncate,  Op::mkdirat,   Op::symlinkat,
    Op::mknodat,    Op::linkat,     Op::fchown,    Op::fchownat,
    Op::fchmod,     Op::fchmodat,   Op::futimens,  Op::utimensat,
    Op::flistxattr, Op::fgetxattr,  Op::fsetxattr, Op::listxattrat,
    Op::getxattrat, Op::setxattrat,
};

std::string some_of_everything() {
  const std::string attribute = xattr_field("trusted.note", "kept");
  return "dir . mode=0711 owner=5:6" + attribute +
         "\ndir d mode=2750 owner=5:6" + attribute +
         "\nfile d/large size=200000 fill=1 owner=5:6" + attribute +
         "\nfile d/linked link=1 mode=4755 owner=5:6 text=x" + attribute +
         "\nfile linked link=1\nfile sparse size=1048576 "
         "data=0+4096,524288+4096"
         "\nsymlink s -> d owner=5:6" +
         attribute + "\nfifo p mode=0666 owner=5:6" + attribute +
         "\nchar c dev=1:3 mode=4666 owner=5:6\ndir d/e\nfile d/e/f text=y\n";
}

class DirCopyFailure : public Copying, public testing::WithParamInterface<Op> {
 protected:
  DirCopyFailure()
      : Copying("/dev/shm") {}

  void SetUp() override {
    if (!may_become_other_users())
      GTEST_SKIP() << "needs root";
    make_source(some_of_everything());
    source_ = dump_tree(src());
  }

  // Copies with the kth call failing; false when there is no kth call. Counts
  // the copies that failed for it.
  bool copy_with_fault(std::size_t k, int code, unsigned workers) {
    FaultyKernel kernel;
    kernel.on(GetParam()).call(k).fails(code);
    Options options;
    options.kernel = &kernel;
    options.workers = workers;
    SCOPED_TRACE(std::string(to_string(GetParam())) + " " + std::to_string(k) +
                 " width " + std::to_string(workers));
    const auto open = open_descriptors();

    const auto report = copy(options);

    EXPECT_EQ(open_descriptors(), open);
    EXPECT_EQ(dump_difference(source_, dump_tree(src())), "");
    failures_ += report ? 0 : 1;
    if (report) {
      expect_same(src(), dst());
    } else {
      EXPECT_TRUE(is_told_as(report.error().code, code)) << error_of(report);
      expect_taken_back();
    }
    return kernel.faults() > 0;
  }

  // Where /proc cannot be read after the walk, mounts may have come meanwhile.
  static bool is_told_as(int told, int code) {
    return told == code || (GetParam() == Op::readlinkat && told == ESTALE);
  }

  virtual void expect_taken_back() { EXPECT_FALSE(exists(dst())); }

  std::size_t failures_ = 0;

 private:
  std::string source_;
};

TEST_P(DirCopyFailure, LeavesNothingBehind) {
  for (const unsigned workers : {1U, 4U}) {
    for (const int code : {EIO, ENOSPC}) {
      for (std::size_t k = 1; copy_with_fault(k, code, workers); ++k) {
        if (exists(dst()))
          remove_all_at(temp().fd(), "dst");
      }
      remove_all_at(temp().fd(), "dst");
    }
  }

  EXPECT_GT(failures_, 0U) << "no such call was ever made";
}

std::string name_of(const testing::TestParamInfo<Op>& at) {
  return to_string(at.param);
}

INSTANTIATE_TEST_SUITE_P(Of, DirCopyFailure, testing::ValuesIn(kCalls),
                         name_of);

// The same into a directory that was there.
class DirCopyFailureInto : public DirCopyFailure {
 protected:
  void SetUp() override {
    DirCopyFailure::SetUp();
    if (!IsSkipped())
      make_destination();
  }

  void make_destination() {
    make_tree(dst(),
              "dir . mode=3751 owner=3:4 mtime=100.000000007 "
              "atime=50.000000009" +
                  xattr_field("trusted.mine", "1") +
                  xattr_field(kDefaultAcl, acl_for_user(9)));
    before_ = dump_tree(dst(), kAll);
  }

  void expect_taken_back() override {
    EXPECT_EQ(dump_tree(dst(), kAll), before_);
  }

 private:
  std::string before_;
};

TEST_P(DirCopyFailureInto, GivesTheEmptyDirectoryBackAsItWas) {
  for (std::size_t k = 1; copy_with_fault(k, EIO, 1); ++k) {
    remove_all_at(temp().fd(), "dst");
    make_destination();
  }

  EXPECT_GT(failures_, 0U) << "no such call was ever made";
}

INSTANTIATE_TEST_SUITE_P(Of, DirCopyFailureInto, testing::ValuesIn(kCalls),
                         name_of);

}  // namespace
}  // namespace lamina::test
