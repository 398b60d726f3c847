#include "archive/written_names.h"

#include <string>

#include <gtest/gtest.h>

namespace lamina::archive {
namespace {

TEST(WrittenNames, KnowsWhatWasAddedAndNothingElse) {
  WrittenNames names;
  for (uint32_t i = 0; i < 10000; ++i) {
    names.add(i % 10, "name" + std::to_string(i));
  }

  EXPECT_EQ(names.size(), 10000U);
  for (uint32_t i = 0; i < 10000; ++i) {
    const std::string name = "name" + std::to_string(i);
    EXPECT_TRUE(names.has(i % 10, name));
    EXPECT_FALSE(names.has(i % 10 + 1, name));
  }
}

TEST(WrittenNames, CountsANameOnce) {
  WrittenNames names;
  names.add(1, "a");
  names.add(1, "a");

  EXPECT_EQ(names.size(), 1U);
}

}  // namespace
}  // namespace lamina::archive
