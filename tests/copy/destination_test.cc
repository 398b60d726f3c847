#include "copy/destination.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/path.h"
#include "base/worker_pool.h"
#include "tests/copy/attribute_values.h"
#include "tests/copy/copying.h"
#include "tests/support/fixtures.h"

namespace lamina::test {
namespace {

using copy::Destination;

constexpr DumpOptions kAll = {.atimes = Shown::yes};

class DestinationOf : public testing::Test {
 protected:
  DestinationOf()
      : temp_("/dev/shm") {}

  // Makes or adopts `path` below the temporary directory.
  Result<Destination> prepare(const std::string& path) {
    place_ = open_parent(real_kernel(), temp_.path(path)).value();
    return Destination::prepare(kernel_, place_.parent, place_.name,
                                place_.shown);
  }

  std::string dst() const { return temp_.path("dst"); }
  mode_t mode() const { return stat_of(dst()).st_mode & 07777U; }

  // An empty directory with something to remember.
  std::string make_adopted() {
    make_tree(dst(),
              "dir . mode=3751 owner=3:4 mtime=-5.000000007 "
              "atime=50.000000009" +
                  xattr_field("trusted.mine", "1") +
                  xattr_field(kDefaultAcl, acl_for_user(9)));
    return dump_tree(dst(), kAll);
  }

  FaultyKernel kernel_;
  NamePlace place_;
  TempDir temp_;
};

class DestinationOfRoot : public DestinationOf {
  void SetUp() override {
    if (!may_become_other_users())
      GTEST_SKIP() << "needs root";
  }
};

TEST_F(DestinationOf, AnAbsentNameIsMadeForItsMakerAlone) {
  const UmaskScope scope(0);

  const auto destination = prepare("dst");

  ASSERT_EQ(error_of(destination), "");
  EXPECT_EQ(mode(), 0700U);
  EXPECT_EQ(destination->stat().st_ino, stat_of(dst()).st_ino);
}

TEST_F(DestinationOf, AnEmptyDirectoryIsAdoptedAndClosedToOthers) {
  make_tree(dst(), "dir . mode=0755\n");

  const auto destination = prepare("dst");

  ASSERT_EQ(error_of(destination), "");
  EXPECT_EQ(mode(), 0700U);
}

TEST_F(DestinationOf, ADirectoryThatHoldsSomethingIsRefused) {
  for (const char* content : {"file f", "dir d", "symlink s -> x", "fifo .p"}) {
    make_tree(dst(), std::string("dir . mode=0751\n") + content);
    const std::string before = dump_tree(dst());

    EXPECT_EQ(error_of(prepare("dst")),
              "mkdir on '" + dst() + "': Directory not empty (ENOTEMPTY)");

    EXPECT_EQ(dump_tree(dst()), before);
    remove_all_at(temp_.fd(), "dst");
  }
}

TEST_F(DestinationOf, SomethingElseThatStandsThereIsRefused) {
  make_tree(temp_.fd(),
            "dir real\nfile f text=x\nsymlink to_dir -> real\n"
            "symlink dangling -> nowhere\nfifo p\n");
  for (const std::string name : {"f", "to_dir", "dangling", "p"}) {
    EXPECT_EQ(error_of(prepare(name)),
              "mkdir on '" + temp_.path(name) +
                  "': it exists and is not a directory: File exists (EEXIST)");
  }
}

TEST_F(DestinationOf, AMissingParentIsNamed) {
  const auto place = open_parent(real_kernel(), temp_.path("none/dst"));

  EXPECT_EQ(error_of(place), "open on '" + temp_.path("none") +
                                 "': No such file or directory (ENOENT)");
}

TEST_F(DestinationOf, WhatWasMadeIsTakenBackWithAllInIt) {
  auto destination = prepare("dst");
  ASSERT_TRUE(destination);
  make_tree(dst(), "dir a/b\nfile a/b/f text=x\nsymlink s -> a\n");

  ASSERT_EQ(error_of(destination->undo(WorkerPool::shared())), "");

  EXPECT_FALSE(exists(dst()));
}

TEST_F(DestinationOfRoot, WhatWasAdoptedIsGivenBackAsItWas) {
  const std::string before = make_adopted();
  auto destination = prepare("dst");
  ASSERT_EQ(error_of(destination), "");
  EXPECT_EQ(xattr_of(dst(), "trusted.mine"), "(none)") << "not the source's";
  make_tree(dst(), "dir . mode=0700 owner=7:8" +
                       xattr_field("trusted.other", "1") +
                       "\ndir a/b\nfile f text=x\n");

  ASSERT_EQ(error_of(destination->undo(WorkerPool::shared())), "");

  EXPECT_EQ(dump_tree(dst(), kAll), before);
}

TEST_F(DestinationOfRoot, AFailureToPrepareChangesNothing) {
  const std::string before = make_adopted();
  const auto open = open_descriptors();
  for (const Op op : {Op::mkdirat, Op::openat, Op::getdents, Op::lseek,
                      Op::fstat, Op::flistxattr, Op::fgetxattr, Op::fchmod,
                      Op::fremovexattr, Op::fchown}) {
    std::size_t k = 0;
    for (bool failed = true; failed;) {
      FaultyKernel kernel;
      Fault& fault = kernel.on(op).call(++k).fails(EIO);
      if (op == Op::fremovexattr) {
        // Others may stay where they cannot go: security.* of an ordinary user.
        fault.with(kDefaultAcl);
      }
      const auto place = open_parent(real_kernel(), dst());
      {
        const auto made = Destination::prepare(kernel, place->parent,
                                               place->name, place->shown);
        failed = kernel.faults() > 0;
        EXPECT_NE(failed, made.has_value()) << to_string(op) << " " << k;
      }
      if (failed) {
        EXPECT_EQ(dump_tree(dst(), kAll), before) << to_string(op) << " " << k;
      }
    }
    remove_all_at(temp_.fd(), "dst");
    make_adopted();
  }
  EXPECT_EQ(open_descriptors(), open);
}

TEST_F(DestinationOf, AFailureToMakeLeavesNothing) {
  for (const Op op : {Op::mkdirat, Op::openat, Op::flistxattr, Op::fstat}) {
    kernel_.on(op).fails(EIO);

    EXPECT_EQ(code_of(prepare("dst")), EIO) << to_string(op);

    EXPECT_FALSE(exists(dst())) << to_string(op);
    kernel_.on(op).gives_at_most(0);  // No more faults.
  }
}

TEST_F(DestinationOfRoot, ADefaultListOfTheParentIsShed) {
  make_tree(temp_.path("parent"),
            "dir ." + xattr_field(kDefaultAcl, acl_for_user(12)));

  const auto destination = prepare("parent/dst");

  ASSERT_EQ(error_of(destination), "");
  const std::string made = temp_.path("parent/dst");
  EXPECT_EQ(xattr_of(made, kDefaultAcl), "(none)");
  EXPECT_EQ(xattr_of(made, kAccessAcl), "(none)");
  EXPECT_EQ(stat_of(made).st_mode & 07777U, 0700U);
}

TEST_F(DestinationOfRoot, TheGroupOfASetGroupIdParentIsShed) {
  make_tree(temp_.path("parent"), "dir . mode=2777 owner=0:50\n");

  const auto destination = prepare("parent/dst");

  ASSERT_EQ(error_of(destination), "");
  const struct stat made = stat_of(temp_.path("parent/dst"));
  EXPECT_EQ(made.st_gid, ::getegid());
  EXPECT_EQ(made.st_mode & 07777U, 0700U);
  EXPECT_EQ(destination->stat().st_gid, made.st_gid);
}

// The same seen from outside: nothing that the parent would hand down arrives.
class DirCopyBelow : public Copying {
 protected:
  DirCopyBelow()
      : Copying("/dev/shm") {}

  void SetUp() override {
    if (!may_become_other_users())
      GTEST_SKIP() << "needs root";
    make_source(
        "dir . mode=0755\ndir d mode=0750\nfile d/f mode=0640 text=x\n"
        "file g mode=0666 text=x\nfifo p mode=0622\nsymlink s -> d\n"
        "dir shared mode=2770 owner=0:9\n");
  }

  void expect_exact_below(const std::string& parent) {
    make_tree(temp().path("parent"), parent);
    for (const unsigned workers : {1U, 3U}) {
      copy::Options options;
      options.workers = workers;
      const std::string to = temp().path("parent/dst");

      ASSERT_EQ(error_of(copy::dir_copy(src(), to, options)), "");

      expect_same(src(), to);
      remove_all_at(open_directory(temp().path("parent")).get(), "dst");
    }
  }
};

TEST_F(DirCopyBelow, ADirectoryWithADefaultAccessControlListIsExact) {
  expect_exact_below("dir ." + xattr_field(kDefaultAcl, acl_for_user(12)));
}

TEST_F(DirCopyBelow, ASetGroupIdDirectoryIsExact) {
  expect_exact_below("dir . mode=2777 owner=0:50\n");
}

TEST_F(DirCopyBelow, AnAdoptedDirectoryWithListsOfItsOwnIsExact) {
  make_tree(dst(), "dir . mode=2700 owner=1:2" +
                       xattr_field("trusted.old", "1") +
                       xattr_field(kDefaultAcl, acl_for_user(12)));

  ASSERT_EQ(error_of(copy()), "");

  expect_same(src(), dst());
}

}  // namespace
}  // namespace lamina::test
