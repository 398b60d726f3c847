#include "cli/apply_report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace lamina::cli {
namespace {

archive::ApplyReport report() {
  archive::ApplyReport out;
  out.entries = 1234;
  out.files = 1000;
  out.directories = 230;
  out.whiteouts = 4;
  out.bytes = 3 << 20;
  out.bytes_in = 1 << 20;
  out.diff_id = archive::Digest{{1}};
  out.digest = archive::Digest{{2}};
  out.workers = 2;
  out.seconds = std::chrono::duration<double>(0.5);
  return out;
}

TEST(ApplyReportText, SaysWhatWasMade) {
  EXPECT_EQ(apply_report_text(report()),
            "  entries         1,234 (230 directories, 1,000 files, 4 "
            "whiteouts)\n"
            "  bytes           3.0 MiB in files, 1.0 MiB read\n"
            "  diffID          " +
                report().diff_id.text() + "\n  digest          " +
                report().digest.text() +
                "\n  time            0.500 s with 2 workers\n");
}

TEST(ApplyReportText, SaysWhatWasDroppedAndForgiven) {
  archive::ApplyReport lossy = report();
  lossy.dropped_xattrs = 3;
  lossy.forgiven_specials = 1;
  lossy.first_forgiven = "mknodat on 'dev/null'";

  const std::string text = apply_report_text(lossy);

  EXPECT_NE(text.find("  dropped         3 attributes\n"), std::string::npos);
  EXPECT_NE(text.find("  forgiven        1 (1 devices)\n"), std::string::npos);
  EXPECT_NE(text.find("mknodat on 'dev/null'\n"), std::string::npos);
}

TEST(ApplyReportJson, IsOneObjectOnOneLineWithEveryKey) {
  const std::string text = apply_report_json(report());

  ASSERT_EQ(text.find('\n'), text.size() - 1);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["entries"], 1234);
  EXPECT_EQ(json["diff_id"], report().diff_id.text());
  EXPECT_EQ(json["forgiven"]["owners"], 0);
  EXPECT_EQ(json.size(), 18U);
}

}  // namespace
}  // namespace lamina::cli
