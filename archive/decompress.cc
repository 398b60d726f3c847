#include "archive/decompress.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "archive/gzip.h"
#include "archive/zstd.h"

namespace lamina::archive {

namespace {

using namespace std::string_view_literals;

class PlainDecoder final : public Decoder {
 public:
  explicit PlainDecoder(Input& input)
      : input_(input) {}

  Result<size_t> read(MutableBytes out) override { return input_.read(out); }

 private:
  Input& input_;
};

// A plain tar could begin with a file named "BZh...", so the magic of the first
// block, or of an empty stream's end, must follow the level.
bool is_bzip2(std::string_view start) {
  return start.size() >= 10 && start.starts_with("BZh"sv) && start[3] >= '1' &&
         start[3] <= '9' &&
         (start.substr(4, 6) == "1AY&SY"sv ||
          start.substr(4, 6) == "\x17rE8P\x90"sv);
}

bool is_zstd(std::string_view start) {
  // 0xFD2FB528, or a skippable frame, 0x184D2A50 to 0x184D2A5F, both least
  // significant byte first, RFC 8878 sections 3.1.1 and 3.1.2.
  return start.starts_with("\x28\xB5\x2F\xFD"sv) ||
         (start.size() >= 4 && start.substr(1, 3) == "\x2A\x4D\x18"sv &&
          (static_cast<unsigned char>(start[0]) & 0xF0U) == 0x50U);
}

}  // namespace

Result<Compression> sniff(Bytes start) {
  std::string_view text = text_of(start);
  auto refuse = [](std::string_view why) {
    return fail(make_error(0, "decompress", "", why));
  };
  if (text.starts_with("\x1F\x8B"sv)) {
    return Compression::gzip;
  }
  if (is_zstd(text)) {
    return Compression::zstd;
  }
  if (is_bzip2(text)) {
    return refuse("packed with bzip2; gzip and zstd are understood");
  }
  if (text.starts_with("\xFD"
                       "7zXZ\0"sv)) {
    return refuse("packed with xz; gzip and zstd are understood");
  }
  return Compression::none;
}

std::unique_ptr<Decoder> make_decoder(Compression compression, Input& input,
                                      int window_log) {
  switch (compression) {
    case Compression::gzip:
      return make_gzip_decoder(input, make_inflater());
    case Compression::zstd:
      return make_zstd_decoder(input, window_log);
    case Compression::none:
      break;
  }
  return std::make_unique<PlainDecoder>(input);
}

}  // namespace lamina::archive
