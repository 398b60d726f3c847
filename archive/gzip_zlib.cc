// The inflater of zlib.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>

#include "archive/gzip.h"

namespace lamina::archive {

namespace {

uInt limited(size_t size) {
  return static_cast<uInt>(
      std::min<size_t>(size, std::numeric_limits<uInt>::max()));
}

class ZlibInflater final : public Inflater {
 public:
  ZlibInflater() {
    // 15: the largest window; + 16: gzip header and trailer, not zlib's.
    if (inflateInit2(&state_, 15 + 16) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~ZlibInflater() override { inflateEnd(&state_); }

  void start() override {
    inflateReset(&state_);
    // zlib checks a trailer only behind a header it has read: give it the
    // plainest there is.
    constexpr std::array<unsigned char, 10> kHeader = {0x1F, 0x8B, 8, 0, 0,
                                                       0,    0,    0, 0, 3};
    std::byte none[1];
    static_cast<void>(
        step(std::as_bytes(std::span(kHeader)), MutableBytes(none).first(0)));
  }

  Result<Step> step(Bytes in, MutableBytes out) override {
    // zlib does not write to its input, it only was not told so (ZLIB_CONST).
    state_.next_in =
        reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
    state_.avail_in = limited(in.size());
    state_.next_out = reinterpret_cast<Bytef*>(out.data());
    state_.avail_out = limited(out.size());
    const uInt given_in = state_.avail_in;
    const uInt given_out = state_.avail_out;
    int result = inflate(&state_, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR) {
      throw std::bad_alloc();
    }
    // Z_BUF_ERROR: no progress was possible; the caller judges that.
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      const char* why = state_.msg != nullptr ? state_.msg : "bad data";
      return fail(malformed_gzip(why));
    }
    return Step{.consumed = given_in - state_.avail_in,
                .produced = given_out - state_.avail_out,
                .member_ended = result == Z_STREAM_END};
  }

 private:
  z_stream state_ = {};
};

}  // namespace

std::unique_ptr<Inflater> make_zlib_inflater() {
  return std::make_unique<ZlibInflater>();
}

}  // namespace lamina::archive
