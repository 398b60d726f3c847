// Whatever a blob holds: it is unpacked or refused, in bounded memory, the same
// for every way its bytes arrive; and the two inflaters never differ about the
// bytes that both accept.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "archive/decode_stream.h"
#include "archive/decompress.h"
#include "archive/gzip.h"
#include "archive/source.h"

namespace {

using namespace lamina;
using namespace lamina::archive;

constexpr size_t kSlabBytes = 4096;
// A few kilobytes unpack to megabytes, and take as long.
constexpr uint64_t kMost = 1 << 20;
constexpr int kSmallWindow = 20;

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

CallbackSource in_pieces(std::string_view blob, size_t piece) {
  return CallbackSource(
      [blob, piece](MutableBytes out) mutable -> Result<size_t> {
        size_t count = std::min({blob.size(), piece, out.size()});
        std::copy_n(bytes_of(blob).begin(), count, out.begin());
        blob.remove_prefix(count);
        return count;
      });
}

// What a blob unpacks to; nothing when it is refused.
std::optional<std::string> unpack(Source& source) {
  SlabRing ring(SlabRing::kFewestSlabs, kSlabBytes);
  DecodeOptions options;
  options.helpers = Helpers::none;
  options.max_bytes = kMost;
  options.window_log = kSmallWindow;
  DecodeStream stream(source, ring, options);
  std::string text;
  while (true) {
    auto slice = stream.next();
    if (!slice) {
      return std::nullopt;
    }
    if (!*slice) {
      break;
    }
    text += text_of((*slice)->bytes);
  }
  auto summary = stream.finish();
  require(summary.has_value());
  require(summary->bytes_out == text.size());
  return text;
}

std::optional<std::string> inflate(std::string_view blob,
                                   std::unique_ptr<Inflater> inflater) {
  MemorySource source(bytes_of(blob));
  Input input(source);
  auto decoder = make_gzip_decoder(input, std::move(inflater));
  std::string text;
  std::byte piece[kSlabBytes];
  while (text.size() <= kMost) {
    auto got = decoder->read(piece);
    if (!got) {
      return std::nullopt;
    }
    text += text_of(Bytes(piece).first(*got));
    if (*got < kSlabBytes) {
      return text;
    }
  }
  return std::nullopt;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view blob(reinterpret_cast<const char*>(data), size);
  MemorySource whole(bytes_of(blob));
  CallbackSource single = in_pieces(blob, 1);
  CallbackSource some = in_pieces(blob, 100);

  std::optional<std::string> text = unpack(whole);
  require(unpack(single) == text);
  require(unpack(some) == text);

  std::optional<std::string> by_zlib = inflate(blob, make_zlib_inflater());
  std::optional<std::string> by_default = inflate(blob, make_inflater());
  require(!by_zlib || !by_default || *by_zlib == *by_default);
  return 0;
}
