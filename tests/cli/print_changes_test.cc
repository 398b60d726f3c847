#include "cli/print_changes.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace lamina::cli {
namespace {

using archive::ChangeKind;

std::string printed(ChangePrinter::As as) {
  std::string out;
  ChangePrinter printer(as, [&out](std::string_view text) -> Result<void> {
    out += text;
    return {};
  });
  for (const auto& [kind, path] :
       {std::pair{ChangeKind::modified, "etc"},
        std::pair{ChangeKind::added, "etc/new\nname"},
        std::pair{ChangeKind::relinked, "etc/same"},
        std::pair{ChangeKind::deleted, "etc/\xff"}}) {
    archive::Change change;
    change.kind = kind;
    change.path = path;
    EXPECT_TRUE(printer.take(change));
  }
  EXPECT_TRUE(printer.finish());
  return out;
}

TEST(ChangePrinter, PrintsLinesAsDockerDoesWithNamesEscaped) {
  EXPECT_EQ(printed(ChangePrinter::As::lines),
            "C /etc\n"
            "A /etc/new\\nname\n"
            "D /etc/\\xff\n");
}

TEST(ChangePrinter, PrintsOneObjectWithNamesKept) {
  auto object = nlohmann::json::parse(printed(ChangePrinter::As::json));

  EXPECT_EQ(object["changes"].size(), 3U);
  EXPECT_EQ(object["changes"][1]["kind"], "A");
  EXPECT_EQ(object["changes"][1]["path"], "etc/new\nname");
  EXPECT_EQ(object["changes"][2]["path_b64"], "ZXRjL/8=");
  EXPECT_FALSE(object["changes"][2].contains("path"));
  EXPECT_EQ(object["added"], 1);
  EXPECT_EQ(object["changed"], 1);
  EXPECT_EQ(object["deleted"], 1);
}

TEST(ChangePrinter, PrintsAnEmptyListAsAnObjectToo) {
  std::string out;
  ChangePrinter printer(ChangePrinter::As::json,
                        [&out](std::string_view text) -> Result<void> {
                          out += text;
                          return {};
                        });
  ASSERT_TRUE(printer.finish());

  EXPECT_TRUE(nlohmann::json::parse(out)["changes"].empty());
}

}  // namespace
}  // namespace lamina::cli
