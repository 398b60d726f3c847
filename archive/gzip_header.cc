// The header of a gzip member, RFC 1952 section 2.3.
#include <zlib.h>

#include <algorithm>
#include <cstdint>

#include "archive/gzip.h"

namespace lamina::archive {

namespace {

// Bits of the flags, section 2.3.1. FTEXT, 1, says nothing that matters here.
constexpr unsigned kHeaderCrc = 2;
constexpr unsigned kExtra = 4;
constexpr unsigned kName = 8;
constexpr unsigned kComment = 16;
constexpr unsigned kReserved = 0xE0;

class HeaderReader {
 public:
  explicit HeaderReader(Input& input)
      : input_(input) {}

  // The next `count` bytes, few.
  Result<Bytes> take(size_t count) {
    TRY_ASSIGN(Bytes bytes, input_.peek(count));
    if (bytes.size() < count) {
      return fail(ends_early());
    }
    add(bytes);
    // The bytes stay where they are until the next look at the input.
    input_.consume(count);
    return bytes;
  }

  Result<void> skip(size_t count) {
    while (count != 0) {
      TRY_ASSIGN(Bytes bytes, some());
      size_t now = std::min(count, bytes.size());
      add(bytes.first(now));
      input_.consume(now);
      count -= now;
    }
    return {};
  }

  Result<void> skip_string() {
    while (true) {
      TRY_ASSIGN(Bytes bytes, some());
      size_t nul = text_of(bytes).find('\0');
      size_t now = std::min(nul, bytes.size() - 1) + 1;
      add(bytes.first(now));
      input_.consume(now);
      if (nul != std::string_view::npos) {
        return {};
      }
    }
  }

  // Of all bytes so far.
  uint32_t crc() const { return static_cast<uint32_t>(crc_); }

 private:
  static Error ends_early() { return malformed_gzip("the stream ends early"); }

  Result<Bytes> some() {
    TRY_ASSIGN(Bytes bytes, input_.available());
    if (bytes.empty()) {
      return fail(ends_early());
    }
    return bytes;
  }

  void add(Bytes bytes) {
    crc_ = crc32_z(crc_, reinterpret_cast<const Bytef*>(bytes.data()),
                   bytes.size());
  }

  Input& input_;
  uLong crc_ = 0;
};

uint32_t little_endian_16(Bytes bytes) {
  return static_cast<uint32_t>(bytes[0]) | static_cast<uint32_t>(bytes[1])
                                               << 8U;
}

}  // namespace

Result<void> skip_gzip_header(Input& input) {
  HeaderReader header(input);
  // Magic, method, flags, time, extra flags, system.
  TRY_ASSIGN(Bytes fixed, header.take(10));
  if (fixed[2] != std::byte{8}) {
    return fail(malformed_gzip("unknown compression method"));
  }
  const auto flags = static_cast<unsigned>(fixed[3]);
  if ((flags & kReserved) != 0) {
    return fail(malformed_gzip("reserved flags in a header"));
  }
  if ((flags & kExtra) != 0) {
    TRY_ASSIGN(Bytes length, header.take(2));
    TRY(header.skip(little_endian_16(length)));
  }
  if ((flags & kName) != 0) {
    TRY(header.skip_string());
  }
  if ((flags & kComment) != 0) {
    TRY(header.skip_string());
  }
  if ((flags & kHeaderCrc) != 0) {
    const uint32_t want = header.crc() & 0xFFFFU;
    TRY_ASSIGN(Bytes stored, header.take(2));
    if (little_endian_16(stored) != want) {
      return fail(malformed_gzip("the checksum of a header does not match"));
    }
  }
  return {};
}

}  // namespace lamina::archive
