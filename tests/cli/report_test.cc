// Reports for people and for programs.
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/report_json.h"
#include "cli/report_text.h"

namespace lamina::cli {
namespace {

copy::Report report() {
  copy::Report out;
  out.directories = 3501;
  out.reflinked = 28000;
  out.empty_files = 1;
  out.links_recreated = 2;
  out.symlinks = 7;
  out.bytes_logical = 64 * 1024 * 1024;
  out.workers = 2;
  out.seconds = std::chrono::duration<double>(0.5);
  return out;
}

TEST(ReportText, SaysWhatWasMadeHow) {
  EXPECT_EQ(report_text(report(), std::nullopt),
            "  directories     3,501\n"
            "  files           28,001 (28,000 reflinked, 1 empty)\n"
            "  hard links      2\n"
            "  symlinks        7\n"
            "  bytes           64.0 MiB, 0 B written\n"
            "  time            0.500 s with 2 workers\n");
}

TEST(ReportText, SaysWhatWasForgivenAndVerified) {
  copy::Report lossy = report();
  lossy.forgiven_owners = 3;
  lossy.forgiven_xattrs = 1;
  lossy.first_forgiven = "chown on 'a': Operation not permitted (EPERM)";

  const std::string text = report_text(lossy, 5);

  EXPECT_NE(text.find("  forgiven        4 (3 owners, 1 attributes)\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Operation not permitted (EPERM)\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("  verified        5, all as in the source\n"),
            std::string::npos)
      << text;
}

TEST(ReportJson, IsOneObjectOnOneLineWithEveryKey) {
  copy::Report lossy = report();
  lossy.forgiven_modes = 4;
  lossy.first_forgiven = "chmod on 'a\\n\xc3\xa4'";

  const std::string text = report_json(lossy, std::nullopt);

  ASSERT_EQ(text.find('\n'), text.size() - 1);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["directories"], 3501);
  EXPECT_EQ(json["workers"], 2);
  EXPECT_EQ(json["seconds"], 0.5);
  EXPECT_EQ(json["forgiven"]["modes"], 4);
  EXPECT_EQ(json["forgiven"]["first"], lossy.first_forgiven);
  EXPECT_FALSE(json.contains("verified"));
  EXPECT_EQ(json.size(), 15U);
  EXPECT_EQ(nlohmann::json::parse(report_json(lossy, 9))["verified"], 9);
}

TEST(WithCommas, GroupsByThousands) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(1234567), "1,234,567");
}

TEST(HumanBytes, PicksAUnit) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes(1024 * 1024 - 1), "1.0 MiB");
  EXPECT_EQ(human_bytes(UINT64_MAX), "16.0 EiB");
}

}  // namespace
}  // namespace lamina::cli
