#include "copy/xattrs.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <sys/xattr.h>

#include <cerrno>
#include <string>
#include <vector>

#include "base/kernel.h"
#include "tests/copy/attribute_values.h"
#include "tests/copy/copying.h"
#include "tests/support/fixtures.h"

namespace lamina::test {
namespace {

using copy::wants_xattr;
using copy::XattrCopier;
using copy::XattrEnd;
using copy::XattrRules;
using copy::Xattrs;

struct Row {
  const char* name;
  bool image;
};

constexpr Row kNames[] = {
    {"security.capability", true},
    {"security.selinux", false},
    {"security.ima", false},
    {"security.capability2", false},
    {"system.posix_acl_access", true},
    {"system.posix_acl_default", true},
    {"system.nfs4_acl", false},
    {"user.anything", true},
    {"user.", true},
    {"user.overlay.opaque", false},
    {"user.overlay.", false},
    {"user.overlays", true},
    {"trusted.overlay.opaque", false},
    {"trusted.other", false},
    {"unheard.of", false},
};

TEST(WantsXattr, KeepsWhatTheRuleSays) {
  for (const Row& row : kNames) {
    EXPECT_TRUE(wants_xattr({.keep = Xattrs::all}, row.name)) << row.name;
    EXPECT_FALSE(wants_xattr({.keep = Xattrs::none}, row.name)) << row.name;
    EXPECT_EQ(wants_xattr({.keep = Xattrs::image}, row.name), row.image)
        << row.name;
  }
}

TEST(WantsXattr, LeavesOutALabelThatIsSetByOtherMeans) {
  const XattrRules given{.keep = Xattrs::all, .label_given = true};

  EXPECT_FALSE(wants_xattr(given, "security.selinux"));
  EXPECT_TRUE(wants_xattr(given, "security.capability"));
}

// Two files on tmpfs and the attributes that root may set there.
class XattrCopierOf : public testing::Test {
 protected:
  XattrCopierOf()
      : temp_("/dev/shm") {}

  void SetUp() override {
    if (!may_become_other_users())
      GTEST_SKIP() << "needs root";
    make_tree(temp_.fd(),
              "file from text=x\nfile to text=x\nsymlink link -> from\n"
              "symlink to_link -> to\n");
    from_fd_.reset(::open(temp_.path("from").c_str(), O_RDONLY | O_CLOEXEC));
    to_fd_.reset(::open(temp_.path("to").c_str(), O_WRONLY | O_CLOEXEC));
  }

  XattrEnd from() const { return {.fd = from_fd_.get()}; }
  XattrEnd to() const { return {.fd = to_fd_.get()}; }

  // Lists and copies; what could not be set is forgiven when `forgives_`.
  Result<void> copy_between(const XattrEnd& from, const XattrEnd& to) {
    TRY_ASSIGN(const bool some, copier_.list(from, &unsupported_));
    if (!some)
      return {};
    return copier_.copy(from, to, rules_, [&](const Error& error) {
      asked_.push_back(error.message());
      return forgives_;
    });
  }
  Result<void> copy() { return copy_between(from(), to()); }

  FaultyKernel kernel_;
  XattrCopier copier_{kernel_};
  XattrRules rules_;
  bool unsupported_ = false;
  bool forgives_ = false;
  std::vector<std::string> asked_;
  TempDir temp_;
  Descriptor from_fd_;
  Descriptor to_fd_;
};

TEST_F(XattrCopierOf, AFileWithoutAnyHasNothingToCopy) {
  EXPECT_FALSE(copier_.list(from(), &unsupported_).value());
  EXPECT_FALSE(unsupported_);
}

TEST_F(XattrCopierOf, AnOpenFileCopiesAll) {
  set_xattr(temp_.path("from"), "trusted.a", {"\0binary\xff", 8});
  set_xattr(temp_.path("from"), "trusted.empty", "");

  ASSERT_EQ(error_of(copy()), "");

  EXPECT_EQ(xattr_of(temp_.path("to"), "trusted.a"),
            std::string("\0binary\xff", 8));
  EXPECT_EQ(xattr_of(temp_.path("to"), "trusted.empty"), "");
}

TEST_F(XattrCopierOf, ANameInADirectoryCopiesItsOwn) {
  set_xattr(temp_.path("link"), "trusted.a", "of the link");
  set_xattr(temp_.path("from"), "trusted.a", "of the file");

  ASSERT_EQ(error_of(copy_between({.fd = temp_.fd(), .name = "link"},
                                  {.fd = temp_.fd(), .name = "to_link"})),
            "");

  EXPECT_EQ(xattr_of(temp_.path("to_link"), "trusted.a"), "of the link");
  EXPECT_EQ(xattr_of(temp_.path("to"), "trusted.a"), "(none)");
}

TEST_F(XattrCopierOf, CapabilitiesGoLast) {
  set_xattr(temp_.path("from"), kCapability, capability());
  set_xattr(temp_.path("from"), "trusted.a", "1");
  set_xattr(temp_.path("from"), "trusted.b", "1");
  kernel_.on(Op::fsetxattr).with(kCapability).first([&] {
    EXPECT_EQ(kernel_.count(Op::fsetxattr), 3U);
  });

  ASSERT_EQ(error_of(copy()), "");

  EXPECT_EQ(xattr_of(temp_.path("to"), kCapability), capability());
}

TEST_F(XattrCopierOf, MoreNamesThanTheFirstGuessHolds) {
  for (int i = 0; i < 60; ++i)
    set_xattr(temp_.path("from"),
              "trusted." + std::string(40, 'n') + std::to_string(i), "v");

  ASSERT_EQ(error_of(copy()), "");

  EXPECT_EQ(kernel_.count(Op::flistxattr), 2U);
  EXPECT_EQ(kernel_.count(Op::fsetxattr), 60U);
}

TEST_F(XattrCopierOf, AValueLargerThanTheFirstGuess) {
  const std::string large(XATTR_SIZE_MAX, 'v');
  set_xattr(temp_.path("from"), "trusted.large", large);
  set_xattr(temp_.path("from"), "trusted.small", "s");

  ASSERT_EQ(error_of(copy()), "");

  EXPECT_EQ(xattr_of(temp_.path("to"), "trusted.large"), large);
  EXPECT_EQ(xattr_of(temp_.path("to"), "trusted.small"), "s");
}

TEST_F(XattrCopierOf, AnAttributeThatGoesAwayIsLeftOut) {
  set_xattr(temp_.path("from"), "trusted.a", "1");
  set_xattr(temp_.path("from"), "trusted.b", "1");
  kernel_.on(Op::fgetxattr).with("trusted.a").first([&] {
    ASSERT_EQ(::removexattr(temp_.path("from").c_str(), "trusted.a"), 0);
  });

  ASSERT_EQ(error_of(copy()), "");

  EXPECT_EQ(xattr_of(temp_.path("to"), "trusted.a"), "(none)");
  EXPECT_EQ(xattr_of(temp_.path("to"), "trusted.b"), "1");
}

TEST_F(XattrCopierOf, AFileSystemWithoutAttributesIsNoError) {
  for (const int code : {EOPNOTSUPP, ENOSYS}) {
    kernel_.on(Op::flistxattr).fails(code);
    unsupported_ = false;

    EXPECT_FALSE(copier_.list(from(), &unsupported_).value());

    EXPECT_TRUE(unsupported_);
  }
}

TEST_F(XattrCopierOf, AListThatCannotBeReadIsAnError) {
  kernel_.on(Op::flistxattr).fails(EIO);

  EXPECT_EQ(error_of(copy()), "listxattr: Input/output error (EIO)");
  EXPECT_FALSE(unsupported_);
}

TEST_F(XattrCopierOf, AnErrorNamesTheAttribute) {
  set_xattr(temp_.path("from"), "trusted.a\n", "1");
  kernel_.on(Op::fgetxattr).fails(EIO);
  EXPECT_EQ(error_of(copy()),
            "getxattr(trusted.a\\n): Input/output error (EIO)");

  kernel_.on(Op::fgetxattr).gives_at_most(0);
  kernel_.on(Op::fsetxattr).fails(ENOSPC);
  EXPECT_EQ(error_of(copy()),
            "setxattr(trusted.a\\n): No space left on device (ENOSPC)");
}

TEST_F(XattrCopierOf, EachThatCannotBeSetIsAskedAbout) {
  set_xattr(temp_.path("from"), "trusted.a", "1");
  set_xattr(temp_.path("from"), "trusted.b", "1");
  set_xattr(temp_.path("from"), "trusted.c", "1");
  kernel_.on(Op::fsetxattr).fails(EOPNOTSUPP);
  kernel_.on(Op::fsetxattr).with("trusted.b").returns(0);
  forgives_ = true;

  ASSERT_EQ(error_of(copy()), "");

  EXPECT_EQ(asked_.size(), 2U);
}

TEST_F(XattrCopierOf, TheFirstThatIsNotForgivenEndsIt) {
  set_xattr(temp_.path("from"), "trusted.a", "1");
  set_xattr(temp_.path("from"), "trusted.b", "1");
  kernel_.on(Op::fsetxattr).fails(EOPNOTSUPP);

  EXPECT_EQ(code_of(copy()), EOPNOTSUPP);

  EXPECT_EQ(asked_.size(), 1U);
  EXPECT_EQ(kernel_.count(Op::fsetxattr), 1U);
}

TEST_F(XattrCopierOf, ALaterFileHasNothingOfTheOneBefore) {
  set_xattr(temp_.path("from"), "trusted.a", "1");
  ASSERT_EQ(error_of(copy()), "");

  // The other way round: "to" has one attribute now, the link none.
  ASSERT_EQ(error_of(copy_between({.fd = temp_.fd(), .name = "link"},
                                  {.fd = temp_.fd(), .name = "to_link"})),
            "");

  EXPECT_EQ(xattr_of(temp_.path("to_link"), "trusted.a"), "(none)");
}

}  // namespace
}  // namespace lamina::test
