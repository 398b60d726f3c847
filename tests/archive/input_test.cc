#include "archive/input.h"

#include <algorithm>
#include <string>

#include "gtest/gtest.h"
#include "tests/archive/packing.h"

namespace lamina::archive {
namespace {

using test::PiecewiseSource;
using test::words;

TEST(Input, PeeksAcrossPieces) {
  for (size_t piece : {1U, 2U, 5U, 40U}) {
    PiecewiseSource source("0123456789abcdefghijklmnopqrstuvwxyz", piece);
    Input input(source);

    EXPECT_EQ(text_of(*input.peek(10)), "0123456789");
    EXPECT_EQ(text_of(*input.peek(4)), "0123");
    input.consume(3);
    EXPECT_EQ(text_of(*input.peek(12)), "3456789abcde");
    EXPECT_EQ(input.consumed(), 3U);
  }
}

TEST(Input, PeeksFewerOnlyAtTheEnd) {
  PiecewiseSource source("0123", 1);
  Input input(source);

  EXPECT_EQ(text_of(*input.peek(10)), "0123");
  input.consume(4);
  EXPECT_EQ(text_of(*input.peek(1)), "");
  EXPECT_TRUE(input.available()->empty());
}

TEST(Input, GivesEveryByteOnceHoweverItIsAsked) {
  for (size_t piece : {1U, 33U, 300'000U}) {
    const std::string text = words(piece == 1 ? 20'000 : 1'000'000);
    PiecewiseSource source(text, piece);
    Input input(source);
    input.start_hashing();
    Sha256 want;
    want.add(bytes_of(text));
    std::string got;
    std::string large(piece == 1 ? 1000 : 400'000, '\0');

    for (unsigned round = 0;; ++round) {
      if (round % 3 == 0) {
        got += text_of(*input.peek(round % 32));
        input.consume(round % 32);
      } else if (round % 3 == 1) {
        Bytes some = *input.available();
        size_t count = std::min<size_t>(some.size(), round % 50);
        got += text_of(some.first(count));
        input.consume(count);
      } else {
        size_t count = *input.read(std::as_writable_bytes(std::span(large)));
        got.append(large, 0, count);
      }
      if (input.available()->empty()) {
        break;
      }
      ASSERT_LT(got.size(), text.size());
    }

    EXPECT_TRUE(got == text) << piece;
    EXPECT_EQ(input.consumed(), text.size());
    EXPECT_EQ(*input.digest(), *want.finish());
  }
}

TEST(Input, SeesMemoryWhereItLies) {
  const std::string text = words(1000);
  MemorySource source(bytes_of(text));
  Input input(source);

  EXPECT_EQ(input.available()->data(), bytes_of(text).data());
  auto whole = input.take_whole();

  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->data(), bytes_of(text).data());
  EXPECT_EQ(input.consumed(), text.size());
  EXPECT_TRUE(input.available()->empty());
}

}  // namespace
}  // namespace lamina::archive
