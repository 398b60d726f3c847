#include "tests/archive/packing.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "tests/support/descriptor.h"

namespace lamina::archive::test {

using lamina::test::SupportError;

namespace {

std::string deflate_with(std::string_view text, gz_header* header) {
  z_stream state = {};
  if (deflateInit2(&state, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw SupportError("deflateInit2");
  }
  if (header != nullptr) {
    deflateSetHeader(&state, header);
  }
  std::string in(text);
  std::string out(deflateBound(&state, in.size()) + 256, '\0');
  state.next_in = reinterpret_cast<Bytef*>(in.data());
  state.avail_in = static_cast<uInt>(in.size());
  state.next_out = reinterpret_cast<Bytef*>(out.data());
  state.avail_out = static_cast<uInt>(out.size());
  if (deflate(&state, Z_FINISH) != Z_STREAM_END) {
    throw SupportError("deflate");
  }
  out.resize(state.total_out);
  deflateEnd(&state);
  return out;
}

}  // namespace

std::string gzip_member(std::string_view text) {
  return deflate_with(text, nullptr);
}

std::string gzip_member_with_every_field(std::string_view text) {
  unsigned char extra[] = "SG\x04";
  unsigned char name[] = "layer.tar";
  unsigned char comment[] = "a comment";
  gz_header header = {};
  header.extra = extra;
  header.extra_len = sizeof extra;
  header.name = name;
  header.comment = comment;
  header.hcrc = 1;
  return deflate_with(text, &header);
}

std::string zstd_frame(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  size_t size =
      ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size());
  ZSTD_freeCCtx(context);
  if (ZSTD_isError(size) != 0) {
    throw SupportError("ZSTD_compress2");
  }
  out.resize(size);
  return out;
}

std::string skippable_frame(std::string_view content, unsigned variant) {
  std::string out;
  auto put = [&](uint32_t number) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
      out += static_cast<char>(number >> shift & 0xFF);
    }
  };
  put(0x184D2A50U + variant);
  put(static_cast<uint32_t>(content.size()));
  return out.append(content);
}

std::string words(size_t bytes) {
  std::string out;
  uint64_t state = 88172645463325252U;
  while (out.size() < bytes) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    out +=
        "word" + std::to_string(state % 1000) + (state % 7 == 0 ? "\n" : " ");
  }
  out.resize(bytes);
  return out;
}

Result<size_t> PiecewiseSource::read_some(MutableBytes buffer) {
  size_t count = std::min({buffer.size(), piece_, bytes_.size()});
  if (count == 0) {
    if (failure_) {
      return fail(*failure_);
    }
    return size_t{0};
  }
  std::memcpy(buffer.data(), bytes_.data(), count);
  bytes_.remove_prefix(count);
  return count;
}

}  // namespace lamina::archive::test
