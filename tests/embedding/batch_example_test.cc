// The example of docs/batch.md, as a user of the library would write it.
#include <iostream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "copy/write_batch.h"
#include "tests/support/tree.h"

namespace {

TEST(BatchExample, WritesItsOutputs) {
  const lamina::test::TempDir temp;
  const std::string root = temp.path("inputs");
  const std::map<std::string, std::string> outputs = {
      {"src/main.c", "int main(void) { return 0; }\n"}, {"README", "text"}};

  std::vector<lamina::copy::BatchEntry> entries;
  for (const auto& [path, text] : outputs) {
    lamina::copy::BatchEntry entry;
    entry.path = path;
    entry.data = std::as_bytes(std::span(text));
    entries.push_back(entry);
  }
  auto written = lamina::copy::write_batch(root, entries);
  if (!written) {
    std::cerr << "output " << written.error().index.value_or(0) << ": "
              << written.error().error.message() << '\n';
  }

  ASSERT_TRUE(written);
  EXPECT_EQ(written->files, 2U);
  EXPECT_EQ(written->directories, 1U);
}

}  // namespace
