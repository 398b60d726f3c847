#include "archive/decompress.h"

#include <cerrno>
#include <string>
#include <string_view>

#include "archive/gzip.h"
#include "archive/zstd.h"
#include "gtest/gtest.h"
#include "tests/archive/packing.h"

namespace lamina::archive {
namespace {

using namespace std::string_literals;
using test::gzip_member;
using test::gzip_member_with_every_field;
using test::PiecewiseSource;
using test::skippable_frame;
using test::words;
using test::zstd_frame;

struct Unpacked {
  std::string text;
  std::string error;
};

// Unpacks in output pieces of `out` bytes.
Unpacked drain(Decoder& decoder, size_t out) {
  Unpacked result;
  std::string piece(out, '\0');
  while (true) {
    auto got = decoder.read(std::as_writable_bytes(std::span(piece)));
    if (!got) {
      result.error = got.error().message();
      return result;
    }
    result.text.append(piece, 0, *got);
    if (*got < out) {
      return result;
    }
  }
}

// Unpacks `blob`, whatever it is, given in pieces of `in` bytes.
Unpacked unpack(std::string_view blob, size_t in = 4096, size_t out = 4096) {
  PiecewiseSource source(blob, in);
  Input input(source);
  auto start = input.peek(10);
  auto compression = sniff(*start);
  if (!compression) {
    return {.text = "", .error = compression.error().message()};
  }
  return drain(*make_decoder(*compression, input), out);
}

Unpacked unpack_with_zlib(std::string_view blob, size_t in = 4096,
                          size_t out = 4096) {
  PiecewiseSource source(blob, in);
  Input input(source);
  return drain(*make_gzip_decoder(input, make_zlib_inflater()), out);
}

TEST(Sniff, KnowsEachKindByItsFirstBytes) {
  const struct {
    std::string start;
    Compression want;
  } cases[] = {
      {"", Compression::none},
      {"\x1F", Compression::none},
      {"\x1F\x8B\x08\x00"s, Compression::gzip},
      {"\x28\xB5\x2F\xFD\x04", Compression::zstd},
      {"\x50\x2A\x4D\x18", Compression::zstd},
      {"\x5F\x2A\x4D\x18", Compression::zstd},
      {"\x60\x2A\x4D\x18", Compression::none},
      {"etc/passwd", Compression::none},
      // A plain tar may begin with a file of such a name.
      {"BZh9.txt\0\0"s, Compression::none},
      {std::string(512, '\0'), Compression::none},
  };

  for (const auto& c : cases) {
    auto got = sniff(bytes_of(c.start));
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_EQ(*got, c.want) << testing::PrintToString(c.start);
  }
}

TEST(Sniff, RefusesBzip2AndXzByName) {
  auto bzip2 = sniff(bytes_of("BZh91AY&SY\x12\x34"));
  auto xz =
      sniff(bytes_of("\xFD"
                     "7zXZ\0\0\x04"s));

  ASSERT_FALSE(bzip2);
  EXPECT_NE(bzip2.error().message().find("bzip2"), std::string::npos);
  ASSERT_FALSE(xz);
  EXPECT_NE(xz.error().message().find("xz"), std::string::npos);
}

TEST(Decompress, GivesAPlainBlobAsItIs) {
  for (size_t in : {1U, 1000U, 1U << 20}) {
    const std::string text = words(in == 1 ? 5'000 : 700'000);
    auto got = unpack(text, in, in == 1 ? 1000 : size_t{1} << 19);
    EXPECT_EQ(got.error, "");
    EXPECT_TRUE(got.text == text) << in;
  }
  EXPECT_EQ(unpack("").text, "");
  EXPECT_EQ(unpack("").error, "");
}

TEST(Decompress, GivesTheSameForEveryPieceSize) {
  const std::string text = words(6'000);
  const std::string blobs[] = {
      gzip_member(text),
      gzip_member_with_every_field(text),
      zstd_frame(text),
      gzip_member(text.substr(0, 2'000)) + gzip_member("") +
          gzip_member_with_every_field(text.substr(2'000)) + gzip_member(""),
      skippable_frame("first") + zstd_frame(text.substr(0, 4'321)) +
          skippable_frame("", 15) + zstd_frame(text.substr(4'321)) +
          skippable_frame("last", 3),
  };

  for (const std::string& blob : blobs) {
    for (size_t in : {1U, 2U, 3U, 7U, 64U, 511U, 100'000U}) {
      for (size_t out : {1U, 512U, 100'000U}) {
        auto got = unpack(blob, in, out);
        ASSERT_EQ(got.error, "") << in << " " << out;
        ASSERT_TRUE(got.text == text) << in << " " << out;
      }
    }
  }
}

TEST(Decompress, EveryPrefixOfAPackedBlobIsAnError) {
  const std::string text = words(3000);
  const std::string blobs[] = {
      gzip_member(text),
      gzip_member_with_every_field(text),
      zstd_frame(text),
  };

  for (const std::string& blob : blobs) {
    // Shorter ones look like a plain tar, and fail as one.
    for (size_t size = 4; size < blob.size(); ++size) {
      for (size_t in : {size_t{1}, blob.size()}) {
        auto got = unpack(std::string_view(blob).substr(0, size), in);
        ASSERT_NE(got.error, "") << size << " of " << blob.size();
      }
    }
  }
}

TEST(Decompress, EveryPrefixOfALaterMemberIsAnErrorUnlessItEndsThere) {
  const std::string first = gzip_member("first");
  const std::string blob = first + gzip_member("second");

  for (size_t size = first.size() + 1; size < blob.size(); ++size) {
    auto got = unpack(blob.substr(0, size));
    ASSERT_NE(got.error, "") << size;
  }
}

TEST(Decompress, TakesZeroPaddingBehindGzipAndNothingElse) {
  const std::string blob = gzip_member("text");

  EXPECT_EQ(unpack(blob + std::string(5000, '\0')).text, "text");
  EXPECT_EQ(unpack(blob + std::string(5000, '\0')).error, "");
  EXPECT_NE(unpack(blob + "garbage").error, "");
  EXPECT_NE(unpack(blob + std::string(5000, '\0') + blob).error, "");
  EXPECT_NE(unpack(zstd_frame("text") + "garbage").error, "");
  EXPECT_NE(unpack(zstd_frame("text") + std::string(8, '\0')).error, "");
}

TEST(Decompress, FindsEveryFlippedBitOfAGzipTrailer) {
  const std::string blob = gzip_member(words(1000));

  for (size_t bit = 0; bit < 64; ++bit) {
    std::string bad = blob;
    bad[bad.size() - 8 + bit / 8] ^= static_cast<char>(1 << bit % 8);
    EXPECT_NE(unpack(bad).error, "") << bit;
    EXPECT_NE(unpack_with_zlib(bad).error, "") << bit;
  }
}

TEST(Decompress, NeverGivesOtherBytesForAFlippedBitWithoutSaying) {
  const std::string text = words(600);
  for (const std::string& blob :
       {gzip_member_with_every_field(text), zstd_frame(text)}) {
    for (size_t bit = 0; bit < blob.size() * 8; ++bit) {
      std::string bad = blob;
      bad[bit / 8] ^= static_cast<char>(1 << bit % 8);
      auto got = unpack(bad, 100);
      // A flipped magic makes it a plain tar; others fall on what carries no
      // meaning, such as the time in the header.
      if (got.error.empty() && got.text != bad) {
        EXPECT_EQ(got.text, text) << bit;
      }
    }
  }
}

TEST(Decompress, RefusesReservedFlagsAndOtherMethods) {
  std::string flags = gzip_member("text");
  flags[3] = '\x20';
  std::string method = gzip_member("text");
  method[2] = 7;

  EXPECT_NE(unpack(flags).error.find("reserved"), std::string::npos);
  EXPECT_NE(unpack(method).error.find("method"), std::string::npos);
}

TEST(Decompress, ZlibAndTheDefaultInflaterAgree) {
  const std::string text = words(50'000);
  const std::string blob = gzip_member_with_every_field(text) +
                           gzip_member("") + gzip_member(text) +
                           std::string(100, '\0');

  for (size_t in : {1U, 100U, 100'000U}) {
    auto zlib = unpack_with_zlib(blob, in);
    EXPECT_EQ(zlib.error, "");
    EXPECT_TRUE(zlib.text == text + text);
    EXPECT_TRUE(zlib.text == unpack(blob, in).text);
  }
}

TEST(Decompress, BoundsTheWindowOfAZstdFrame) {
  // A frame header with window descriptor 0xA8: 2^31 bytes. RFC 8878 3.1.1.1.2.
  const std::string blob = "\x28\xB5\x2F\xFD\x00\xA8\x01\x00\x00"s;
  PiecewiseSource source(blob, 100);
  Input input(source);
  std::byte out[16];

  auto refused = make_decoder(Compression::zstd, input)->read(out);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("window is larger than"),
            std::string::npos)
      << refused.error().message();

  PiecewiseSource again(blob, 100);
  Input more(again);
  auto taken = make_decoder(Compression::zstd, more, kWindowLogMost)->read(out);
  ASSERT_TRUE(taken) << taken.error().message();
  EXPECT_EQ(*taken, 0U);
}

TEST(Decompress, HandsOnTheErrorOfItsSource) {
  const std::string text = words(5000);
  for (const std::string& blob : {gzip_member(text), zstd_frame(text), text}) {
    PiecewiseSource source(std::string_view(blob).substr(0, blob.size() / 2),
                           100);
    source.fail_at_end(make_error(EIO, "read", "layer"));
    Input input(source);
    auto start = input.peek(10);
    auto got = drain(*make_decoder(*sniff(*start), input), 512);
    EXPECT_EQ(got.error, "read on 'layer': Input/output error (EIO)");
  }
}

}  // namespace
}  // namespace lamina::archive
