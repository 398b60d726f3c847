#include "archive/decode_stream.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "base/kernel.h"
#include "gtest/gtest.h"
#include "tests/archive/packing.h"

namespace lamina::archive {
namespace {

using test::gzip_member;
using test::PiecewiseSource;
using test::words;
using test::zstd_frame;

Digest digest_of(std::string_view text) {
  Sha256 hash;
  hash.add(bytes_of(text));
  return *hash.finish();
}

struct Outcome {
  std::string text;
  std::string error;
  DecodeSummary summary;
};

Outcome run(Source& source, const DecodeOptions& options,
            size_t slab_bytes = 4096) {
  SlabRing ring(4, slab_bytes);
  Outcome outcome;
  DecodeStream stream(source, ring, options);
  while (true) {
    auto slice = stream.next();
    if (!slice) {
      outcome.error = slice.error().message();
      return outcome;
    }
    if (!*slice) {
      break;
    }
    outcome.text += text_of((*slice)->bytes);
  }
  auto summary = stream.finish();
  if (summary) {
    outcome.summary = *summary;
  } else {
    outcome.error = summary.error().message();
  }
  EXPECT_EQ(ring.available(), 4U);
  return outcome;
}

class DecodeStreamTest : public testing::TestWithParam<Helpers> {
 protected:
  DecodeOptions options() const { return {.helpers = GetParam()}; }
};

TEST_P(DecodeStreamTest, GivesLayerAndDigestsOfEachKind) {
  const std::string text = words(100'000);
  const struct {
    std::string blob;
    Compression compression;
  } cases[] = {{text, Compression::none},
               {gzip_member(text), Compression::gzip},
               {zstd_frame(text), Compression::zstd}};

  for (const auto& c : cases) {
    MemorySource memory(bytes_of(c.blob));
    PiecewiseSource pieces(c.blob, 1000);
    for (Source* source :
         {static_cast<Source*>(&memory), static_cast<Source*>(&pieces)}) {
      Outcome got = run(*source, options());

      ASSERT_EQ(got.error, "");
      EXPECT_TRUE(got.text == text);
      EXPECT_EQ(got.summary.compression, c.compression);
      EXPECT_EQ(got.summary.bytes_in, c.blob.size());
      EXPECT_EQ(got.summary.bytes_out, text.size());
      EXPECT_EQ(got.summary.diff_id, digest_of(text));
      EXPECT_EQ(got.summary.blob_digest, digest_of(c.blob));
    }
  }
}

TEST_P(DecodeStreamTest, WorksOutOnlyTheDigestsAskedFor) {
  const std::string text = words(5000);
  for (const std::string& blob : {text, gzip_member(text)}) {
    DecodeOptions only_blob = options();
    only_blob.diff_id = Hashing::no;
    DecodeOptions neither = only_blob;
    neither.blob_digest = Hashing::no;
    MemorySource one(bytes_of(blob));
    MemorySource two(bytes_of(blob));
    PiecewiseSource three(blob, 100);

    EXPECT_EQ(run(one, only_blob).summary.blob_digest, digest_of(blob));
    EXPECT_EQ(run(three, only_blob).summary.blob_digest, digest_of(blob));
    Outcome got = run(two, neither);
    EXPECT_FALSE(got.summary.diff_id);
    EXPECT_FALSE(got.summary.blob_digest);
  }
}

TEST_P(DecodeStreamTest, DoesNotCopyAPlainTarInMemory) {
  const std::string text = words(10'000);
  SlabRing ring(4, 4096);
  MemorySource source(bytes_of(text));
  DecodeStream stream(source, ring, options());

  auto slice = stream.next();

  ASSERT_TRUE(slice && *slice);
  EXPECT_EQ((*slice)->bytes.data(), bytes_of(text).data());
  EXPECT_FALSE((*slice)->slab.held());
}

TEST_P(DecodeStreamTest, AnEmptyBlobIsAnEmptyLayer) {
  MemorySource source({});
  PiecewiseSource pieces("", 1);

  for (Source* empty :
       {static_cast<Source*>(&source), static_cast<Source*>(&pieces)}) {
    Outcome got = run(*empty, options());
    EXPECT_EQ(got.error, "");
    EXPECT_EQ(got.text, "");
    EXPECT_EQ(got.summary.diff_id, digest_of(""));
    EXPECT_EQ(got.summary.blob_digest, digest_of(""));
  }
}

TEST_P(DecodeStreamTest, SlicesAreFullButTheLast) {
  const std::string blob = gzip_member(words(10'000));
  SlabRing ring(4, 4096);
  PiecewiseSource source(blob, 10);
  DecodeStream stream(source, ring, options());
  std::vector<size_t> sizes;

  for (auto slice = stream.next(); slice && *slice; slice = stream.next()) {
    sizes.push_back((*slice)->bytes.size());
  }

  EXPECT_EQ(sizes, (std::vector<size_t>{4096, 4096, 1808}));
}

TEST_P(DecodeStreamTest, KeepsToItsLimits) {
  const std::string zeros(4U << 20, '\0');
  const std::string blob = gzip_member(zeros);
  DecodeOptions size = options();
  size.max_bytes = 1'000'000;
  DecodeOptions ratio = options();
  ratio.max_ratio = 100;
  DecodeOptions enough = options();
  enough.max_bytes = zeros.size();
  enough.max_ratio = 1100;
  PiecewiseSource one(blob, 100);
  PiecewiseSource two(blob, 100);
  PiecewiseSource three(blob, 100);

  EXPECT_NE(run(one, size, 65'536).error.find("1000000 bytes"),
            std::string::npos);
  EXPECT_NE(run(two, ratio, 65'536).error.find("100 times"), std::string::npos);
  EXPECT_EQ(run(three, enough, 65'536).error, "");
}

TEST_P(DecodeStreamTest, RefusesABadTrailerBehindGoodData) {
  std::string blob = gzip_member(words(10'000));
  blob.back() ^= 1;
  PiecewiseSource source(blob, 1000);

  Outcome got = run(source, options());

  EXPECT_NE(got.error, "");
}

TEST_P(DecodeStreamTest, HandsOnTheErrorOfItsSourceBehindWhatCameBefore) {
  const std::string text = words(10'000);
  PiecewiseSource source(text, 1000);
  source.fail_at_end(make_error(EIO, "read", "layer"));

  Outcome got = run(source, options());

  EXPECT_EQ(got.text, text.substr(0, 8192));
  EXPECT_EQ(got.error, "read on 'layer': Input/output error (EIO)");
}

TEST_P(DecodeStreamTest, MayBeGivenUpAtAnyMoment) {
  const std::string text = words(200'000);
  const std::string blob = gzip_member(text);
  for (int taken = 0; taken < 20; ++taken) {
    SlabRing ring(4, 4096);
    PiecewiseSource source(blob, 1000);
    DecodeStream stream(source, ring, options());
    for (int i = 0; i < taken; ++i) {
      ASSERT_TRUE(stream.next());
    }
  }
}

TEST(DecodeStream, MayBeGivenUpWhileItsPipeIsSilent) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Fd out(ends[0]);
  Fd in(ends[1]);
  FdSource source(real_kernel(), out, "stdin");
  SlabRing ring(4, 4096);

  DecodeStream stream(source, ring, {});
  // Ends here, though the sender never says more.
}

INSTANTIATE_TEST_SUITE_P(Helpers, DecodeStreamTest,
                         testing::Values(Helpers::none, Helpers::threads));

}  // namespace
}  // namespace lamina::archive
