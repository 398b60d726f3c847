#include "copy/read_xattrs.h"

#include <sys/xattr.h>

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/faulty_kernel.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tree.h"

namespace lamina::copy {
namespace {

using test::FaultyKernel;
using test::Op;

class ReadXattrs : public testing::Test {
 protected:
  void SetUp() override {
    test::make_tree(temp_.path(), "file f\n");
    if (!set("user.b", "2") || !set("user.a", "1")) {
      GTEST_SKIP() << "no user attributes here";
    }
  }
  bool set(const char* name, const std::string& value) {
    return ::lsetxattr(temp_.path("f").c_str(), name, value.data(),
                       value.size(), 0) == 0;
  }
  // "a=1 b=2 ", or the error.
  std::string read(Xattrs keep = Xattrs::image) {
    auto values = read_xattrs(kernel_, {temp_.fd(), "f"}, {.keep = keep});
    if (!values) {
      return values.error().message();
    }
    std::string out;
    for (const auto& [name, value] : *values) {
      out += name + "=" + std::string(value.begin(), value.end()) + " ";
    }
    return out;
  }

  test::TempDir temp_;
  FaultyKernel kernel_;
};

TEST_F(ReadXattrs, AreInTheOrderOfTheirNames) {
  EXPECT_EQ(read(), "user.a=1 user.b=2 ");
}

TEST_F(ReadXattrs, AreThoseThatAreWanted) {
  set("user.overlay.opaque", "y");

  EXPECT_EQ(read(), "user.a=1 user.b=2 ");
  EXPECT_EQ(read(Xattrs::all).find("user.a=1 user.b=2 user.overlay.opaque=y "),
            0U);
  EXPECT_EQ(read(Xattrs::none), "");
}

TEST_F(ReadXattrs, MayBeLarge) {
  if (!set("user.large", std::string(3000, 'v'))) {
    GTEST_SKIP() << "no large attributes here";
  }
  EXPECT_EQ(read(),
            "user.a=1 user.b=2 user.large=" + std::string(3000, 'v') + " ");
}

TEST_F(ReadXattrs, AreNoneWhereTheFileSystemKnowsNone) {
  kernel_.on(Op::listxattrat).fails(EOPNOTSUPP);

  EXPECT_EQ(read(), "");
}

TEST_F(ReadXattrs, MayGoAwayMeanwhile) {
  kernel_.on(Op::getxattrat).with("user.a").fails(ENODATA);

  EXPECT_EQ(read(), "user.b=2 ");
}

TEST_F(ReadXattrs, SayWhichCouldNotBeRead) {
  kernel_.on(Op::getxattrat).with("user.b").fails(EIO);

  EXPECT_EQ(read(), "getxattr(user.b): Input/output error (EIO)");
}

}  // namespace
}  // namespace lamina::copy
