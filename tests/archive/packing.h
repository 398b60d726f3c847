// Blobs for tests: bytes packed by the very libraries that unpack them, and
// pieces of packed streams put together by hand.
//
// Pure functions, free for any thread. Failures throw SupportError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "archive/bytes.h"
#include "archive/source.h"
#include "base/error.h"

namespace lamina::archive::test {

// One gzip member that holds `text`.
std::string gzip_member(std::string_view text);

// One gzip member with each optional field of RFC 1952: FEXTRA, FNAME, FCOMMENT
// and FHCRC.
std::string gzip_member_with_every_field(std::string_view text);

// One zstd frame with a checksum that holds `text`.
std::string zstd_frame(std::string_view text);

// One skippable zstd frame; `variant` is 0 to 15.
std::string skippable_frame(std::string_view content, unsigned variant = 0);

// Text that packs well but not into nothing.
std::string words(size_t bytes);

// A source that gives its bytes in pieces of `piece`, then its end or
// `failure`.
class PiecewiseSource final : public Source {
 public:
  PiecewiseSource(std::string_view bytes, size_t piece)
      : bytes_(bytes),
        piece_(piece) {}

  Result<size_t> read_some(MutableBytes buffer) override;

  void fail_at_end(Error failure) { failure_ = std::move(failure); }

 private:
  std::string_view bytes_;
  const size_t piece_;
  std::optional<Error> failure_;
};

}  // namespace lamina::archive::test
