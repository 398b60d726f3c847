// The one order in which an inode gets what it should have.
#include "copy/metadata.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "tests/copy/attribute_values.h"
#include "tests/copy/copying.h"
#include "tests/support/fixtures.h"

namespace lamina::test {
namespace {

using copy::Birth;
using copy::Loss;
using copy::MetadataWriter;
using copy::NewInode;
using copy::Options;
using copy::Owner;
using copy::Tally;
using copy::Wanted;

class Metadata : public testing::Test {
 protected:
  Metadata()
      : temp_("/dev/shm") {
    make_tree(temp_.fd(), "file from text=x\nfile to text=x\n");
    from_.reset(::open(temp_.path("from").c_str(), O_RDONLY | O_CLOEXEC));
    to_.reset(::open(temp_.path("to").c_str(), O_WRONLY | O_CLOEXEC));
    birth_.uid = ::geteuid();
    birth_.gid = ::getegid();
  }

  MetadataWriter writer() { return {kernel_, options_, birth_}; }

  // What an inode of the caller with this mode should have.
  Wanted ours(mode_t mode) const {
    Wanted wanted;
    wanted.uid = birth_.uid;
    wanted.gid = birth_.gid;
    wanted.mode = mode;
    wanted.times[0] = {.tv_sec = 1, .tv_nsec = 2};
    wanted.times[1] = {.tv_sec = 3, .tv_nsec = 4};
    return wanted;
  }
  Wanted theirs(mode_t mode) const {
    Wanted wanted = ours(mode);
    wanted.uid = 1000;
    wanted.gid = 1001;
    return wanted;
  }

  Result<void> write(const Wanted& wanted, mode_t born_mode) {
    NewInode target;
    target.end.fd = to_.get();
    target.kind = S_IFREG;
    target.born_mode = born_mode;
    copy::InodeEnd source;
    source.fd = from_.get();
    return writer().write(source, target, wanted, &list_refused_, tally_);
  }

  FaultyKernel kernel_;
  Options options_;
  Birth birth_;
  Tally tally_;
  bool list_refused_ = false;
  TempDir temp_;
  Descriptor from_;
  Descriptor to_;
};

class MetadataOfRoot : public Metadata {
  void SetUp() override {
    if (!may_become_other_users())
      GTEST_SKIP() << "needs root";
  }
};

TEST_F(MetadataOfRoot, IsWrittenInTheOneOrderThatKeepsItAll) {
  set_xattr(temp_.path("from"), kAccessAcl, acl_for_user(5));
  set_xattr(temp_.path("from"), kCapability, capability());
  kernel_.on(Op::fsetxattr).with(kCapability).first([&] {
    EXPECT_EQ(kernel_.count(Op::fsetxattr), 2U);
  });

  ASSERT_EQ(error_of(write(theirs(04750), 0600)), "");

  EXPECT_EQ(kernel_.trace("to"), "fchown fchmod fsetxattr fsetxattr futimens ");
  const struct stat stat = stat_of(temp_.path("to"));
  EXPECT_EQ(stat.st_uid, 1000U);
  EXPECT_EQ(stat.st_gid, 1001U);
  // An access ACL's mask is what group bits show.
  EXPECT_EQ(stat.st_mode & 07777U, 04770U);
  EXPECT_EQ(stat.st_mtim.tv_nsec, 4);
  EXPECT_EQ(xattr_of(temp_.path("to"), kCapability), capability());
}

TEST_F(Metadata, CostsOnlyTimesWhereCreationGaveTheRest) {
  ASSERT_EQ(error_of(write(ours(0640), 0640)), "");

  EXPECT_EQ(kernel_.trace("to"), "futimens ");
}

TEST_F(Metadata, AddsSetIdBitsAfterCreation) {
  ASSERT_EQ(error_of(write(ours(04755), 0755)), "");

  EXPECT_EQ(kernel_.trace("to"), "fchmod futimens ");
}

TEST_F(Metadata, IsBornWithItsPermissionsOnlyForItsOwner) {
  EXPECT_EQ(writer().birth_mode(ours(0755), 0), 0755U);
  EXPECT_EQ(writer().birth_mode(ours(0400), 0), 0400U);
  EXPECT_EQ(writer().birth_mode(ours(04755), 0), 0755U);
  EXPECT_EQ(writer().birth_mode(ours(0555), 0700), 0755U);
  EXPECT_EQ(writer().birth_mode(theirs(0755), 0), 0600U);
  EXPECT_EQ(writer().birth_mode(theirs(0755), 0700), 0700U);

  options_.owner = Owner::none;
  EXPECT_EQ(writer().birth_mode(theirs(0755), 0), 0755U);

  options_.owner = Owner::keep;
  birth_.owner_known = false;
  EXPECT_EQ(writer().birth_mode(ours(0755), 0), 0600U);
}

TEST_F(MetadataOfRoot, SetsEveryOwnerWhereTheFileSystemGivesAnother) {
  birth_.owner_known = false;

  ASSERT_EQ(error_of(write(ours(0640), 0600)), "");

  EXPECT_EQ(kernel_.trace("to"), "fchown fchmod futimens ");
}

TEST_F(Metadata, OfTheSourceIsWanted) {
  struct stat source {};
  source.st_uid = 7;
  source.st_gid = 8;
  source.st_mode = S_IFREG | 06751;
  source.st_atim = {.tv_sec = -1, .tv_nsec = 2};
  source.st_mtim = {.tv_sec = 3, .tv_nsec = 999999999};

  const Wanted wanted = writer().wanted(source).value();

  EXPECT_EQ(wanted.uid, 7U);
  EXPECT_EQ(wanted.gid, 8U);
  EXPECT_EQ(wanted.mode, 06751U);
  EXPECT_EQ(wanted.times[0].tv_sec, -1);
  EXPECT_EQ(wanted.times[1].tv_nsec, 999999999);
}

TEST_F(Metadata, FailsWithTheCallThatDid) {
  const struct {
    Op op;
    const char* message;
  } table[] = {
      {Op::fchown, "chown: Input/output error (EIO)"},
      {Op::fchmod, "chmod: Input/output error (EIO)"},
      {Op::flistxattr, "listxattr: Input/output error (EIO)"},
      {Op::futimens, "utimensat: Input/output error (EIO)"},
  };
  for (const auto& row : table) {
    FaultyKernel kernel;
    kernel.on(Op::fchown).returns(0);
    kernel.on(row.op).fails(EIO);
    MetadataWriter writer(kernel, options_, birth_);
    NewInode target;
    target.end.fd = to_.get();
    target.kind = S_IFREG;
    target.born_mode = 0600;
    copy::InodeEnd source;
    source.fd = from_.get();

    EXPECT_EQ(error_of(writer.write(source, target, theirs(0640),
                                    &list_refused_, tally_)),
              row.message);
  }
}

TEST_F(Metadata, ForgivesAnOwnerAndLeavesSetIdBitsOff) {
  options_.loss = Loss::forgiven;
  kernel_.on(Op::fchown).fails(EPERM);

  ASSERT_EQ(error_of(write(theirs(06755), 0600)), "");

  EXPECT_EQ(tally_.forgiven_owners, 1U);
  EXPECT_EQ(tally_.forgiven_modes, 1U);
  EXPECT_EQ(tally_.first_forgiven, "chown: Operation not permitted (EPERM)");
  EXPECT_EQ(stat_of(temp_.path("to")).st_mode & 07777U, 0755U);
}

TEST_F(Metadata, NeverForgivesThatAResourceRanOut) {
  options_.loss = Loss::forgiven;
  kernel_.on(Op::fchown).fails(EDQUOT);

  EXPECT_EQ(code_of(write(theirs(0755), 0600)), EDQUOT);

  EXPECT_EQ(tally_.forgiven_owners, 0U);
}

TEST_F(Metadata, DoesNotAskForAttributesThatNobodyWants) {
  options_.xattrs = copy::Xattrs::none;
  ASSERT_EQ(error_of(write(ours(0640), 0640)), "");
  EXPECT_EQ(kernel_.count(Op::flistxattr), 0U);
}

TEST_F(Metadata, DoesNotAskForAttributesWhereThereAreNone) {
  list_refused_ = true;
  ASSERT_EQ(error_of(write(ours(0640), 0640)), "");
  EXPECT_EQ(kernel_.count(Op::flistxattr), 0U);
}

TEST_F(Metadata, LearnsThatThereAreNoAttributes) {
  kernel_.on(Op::flistxattr).fails(EOPNOTSUPP);

  ASSERT_EQ(error_of(write(ours(0640), 0640)), "");

  EXPECT_TRUE(list_refused_);
}

class OtherAttributes final : public copy::AttributeSource {
 public:
  explicit OtherAttributes(FaultyKernel& kernel)
      : kernel_(kernel) {}
  Result<void> write_to(const copy::InodeEnd& target) override {
    EXPECT_EQ(kernel_.trace("to"), "fchown fchmod ");
    if (kernel_.fsetxattr(target.fd, "trusted.a", "", 0) != 0)
      return fail(last_error("setxattr", ""));
    return {};
  }

 private:
  FaultyKernel& kernel_;
};

TEST_F(MetadataOfRoot, TakesAttributesFromElsewhereAtTheRightMoment) {
  OtherAttributes attributes(kernel_);
  NewInode target;
  target.end.fd = to_.get();
  target.kind = S_IFREG;
  target.born_mode = 0600;

  ASSERT_EQ(error_of(writer().write(target, theirs(0755), attributes, tally_)),
            "");

  EXPECT_EQ(kernel_.trace("to"), "fchown fchmod fsetxattr futimens ");
}

}  // namespace
}  // namespace lamina::test
