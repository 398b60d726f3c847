// The inflater of ISA-L; empty in a build with ISAL=0.
#include "archive/gzip.h"

#if LAMINA_ISAL

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <cstdint>

namespace lamina::archive {

namespace {

// Well below the 32 bits of the library's counters.
constexpr size_t kMost = size_t{1} << 30;

const char* reason_of(int result) {
  switch (result) {
    case ISAL_INVALID_BLOCK:
      return "invalid block";
    case ISAL_INVALID_SYMBOL:
      return "invalid symbol";
    case ISAL_INVALID_LOOKBACK:
      return "reference before the start of the stream";
    case ISAL_INCORRECT_CHECKSUM:
      return "checksum or length does not match";
    default:
      return "bad data";
  }
}

class IsalInflater final : public Inflater {
 public:
  void start() override {
    // Sets the few fields that count, not the 80 KiB of tables and buffers.
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP_NO_HDR_VER;
  }

  Result<Step> step(Bytes in, MutableBytes out) override {
    in = in.first(std::min(in.size(), kMost));
    out = out.first(std::min(out.size(), kMost));
    // The library does not write to its input; its interface is older than
    // that thought.
    state_.next_in =
        reinterpret_cast<uint8_t*>(const_cast<std::byte*>(in.data()));
    state_.avail_in = static_cast<uint32_t>(in.size());
    state_.next_out = reinterpret_cast<uint8_t*>(out.data());
    state_.avail_out = static_cast<uint32_t>(out.size());
    int result = isal_inflate(&state_);
    if (result < 0) {
      return fail(malformed_gzip(reason_of(result)));
    }
    // A stream that ends early is no error to the library: it returns as when
    // the input is used up. The block state tells.
    return Step{.consumed = in.size() - state_.avail_in,
                .produced = out.size() - state_.avail_out,
                .member_ended = state_.block_state == ISAL_BLOCK_FINISH};
  }

 private:
  inflate_state state_ = {};
};

}  // namespace

std::unique_ptr<Inflater> make_isal_inflater() {
  return std::make_unique<IsalInflater>();
}

}  // namespace lamina::archive

#endif
