// Turns the bytes of a blob into the bytes of the layer: not packed at all,
// gzip or zstd, found out by looking, never by a name or a media type.
//
// gzip: any number of members, empty ones too, cut anywhere; zero padding after
// the last, nothing else (RFC 1952). zstd: any number of frames and skippable
// frames (RFC 8878). A checksum or length that does not match, a stream that
// ends early, and anything unknown behind it are errors. A blob without a byte
// is an empty layer, not packed. bzip2 and xz are refused by name.
//
// A decoder belongs to one thread at a time; the Input must outlive it.
#pragma once

#include <cstddef>
#include <memory>

#include "archive/bytes.h"
#include "archive/input.h"
#include "base/error.h"

namespace lamina::archive {

enum class Compression { none, gzip, zstd };

// Says how a blob that begins with `start` is packed; 10 bytes are enough.
// Fails for bzip2 and xz. Any other beginning is taken for a plain tar: it is
// the tar reader who knows.
Result<Compression> sniff(Bytes start);

class Decoder {
 public:
  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  virtual ~Decoder() = default;

  // Fills `out` with the next bytes and says how many. Fewer than its size only
  // at the end, which is reached when the input is used up and was whole.
  virtual Result<size_t> read(MutableBytes out) = 0;
};

// The largest window a zstd frame may ask for, as a power of two: memory it
// takes while decoding. 27 is what libzstd's own tool allows, 128 MiB.
inline constexpr int kWindowLog = 27;
inline constexpr int kWindowLogMost = 31;

// Makes the decoder for `compression`. Requires that nothing of `input` was
// consumed. Only zstd looks at `window_log`, 10 to kWindowLogMost.
std::unique_ptr<Decoder> make_decoder(Compression compression, Input& input,
                                      int window_log = kWindowLog);

}  // namespace lamina::archive
