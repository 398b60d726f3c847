#include "archive/platform.h"

#include <gtest/gtest.h>

namespace lamina::archive {
namespace {

int fit(const char* wanted, const char* offered) {
  return fitness(*Platform::parse(wanted), *Platform::parse(offered));
}

TEST(Platform, IsReadAndWritten) {
  auto arm = Platform::parse("linux/arm/v7");

  ASSERT_TRUE(arm);
  EXPECT_EQ(*arm, (Platform{"linux", "arm", "v7"}));
  EXPECT_EQ(arm->text(), "linux/arm/v7");
  EXPECT_EQ(Platform::parse("linux/amd64")->text(), "linux/amd64");
  for (const char* wrong :
       {"", "linux", "linux/", "/amd64", "a/b/c/d", "linux/am d", "a//b"}) {
    EXPECT_FALSE(Platform::parse(wrong)) << wrong;
  }
}

TEST(Platform, CallsMachinesAsImagesDo) {
  EXPECT_EQ(platform_of_machine("x86_64").text(), "linux/amd64");
  EXPECT_EQ(platform_of_machine("aarch64").text(), "linux/arm64");
  EXPECT_EQ(platform_of_machine("armv7l").text(), "linux/arm/v7");
  EXPECT_EQ(platform_of_machine("s390x").text(), "linux/s390x");
  EXPECT_EQ(host_platform().os, "linux");
}

TEST(Platform, FitsItselfBestAndOthersNotAtAll) {
  EXPECT_GT(fit("linux/amd64", "linux/amd64"),
            fit("linux/amd64", "linux/amd64/v3"));
  EXPECT_GT(fit("linux/arm64", "linux/arm64/v8"),
            fit("linux/arm64", "linux/arm64/v9"));
  EXPECT_EQ(fit("linux/amd64", "linux/arm64"), 0);
  EXPECT_EQ(fit("linux/amd64", "windows/amd64"), 0);
}

TEST(Platform, RunsOlderArmVersionsButNotNewer) {
  EXPECT_GT(fit("linux/arm/v7", "linux/arm/v6"),
            fit("linux/arm/v7", "linux/arm/v5"));
  EXPECT_GT(fit("linux/arm/v7", "linux/arm/v5"), 0);
  EXPECT_EQ(fit("linux/arm/v6", "linux/arm/v7"), 0);
}

}  // namespace
}  // namespace lamina::archive
