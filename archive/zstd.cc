#include "archive/zstd.h"

#include <zstd.h>
#include <zstd_errors.h>

#include <cstddef>
#include <new>
#include <string>

namespace lamina::archive {

namespace {

Error malformed(std::string_view why) {
  return make_error(0, "decompress zstd", "", why);
}

class ZstdDecoder final : public Decoder {
 public:
  ZstdDecoder(Input& input, int window_log)
      : input_(input),
        window_log_(window_log),
        context_(ZSTD_createDCtx()) {
    if (context_ == nullptr) {
      throw std::bad_alloc();
    }
    size_t result =
        ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, window_log);
    if (ZSTD_isError(result) != 0) {
      refused_ = "no such window size";
    }
  }

  Result<size_t> read(MutableBytes out) override;

 private:
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };

  Input& input_;
  const int window_log_;
  std::unique_ptr<ZSTD_DCtx, Free> context_;
  std::string refused_;
  // What the library still wants of the frame it is in; 0 between frames.
  size_t wanted_ = 0;
};

Result<size_t> ZstdDecoder::read(MutableBytes out) {
  if (!refused_.empty()) {
    return fail(malformed(refused_));
  }
  ZSTD_outBuffer to = {.dst = out.data(), .size = out.size(), .pos = 0};
  while (to.pos < to.size) {
    TRY_ASSIGN(Bytes in, input_.available());
    if (in.empty() && wanted_ == 0) {
      break;
    }
    ZSTD_inBuffer from = {.src = in.data(), .size = in.size(), .pos = 0};
    const size_t before = to.pos;
    size_t result = ZSTD_decompressStream(context_.get(), &to, &from);
    if (ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge) {
      return fail(malformed("a frame's window is larger than the " +
                            std::to_string(uint64_t{1} << window_log_) +
                            " bytes allowed"));
    }
    if (ZSTD_isError(result) != 0) {
      return fail(malformed(ZSTD_getErrorName(result)));
    }
    input_.consume(from.pos);
    wanted_ = result;
    // With no input left the library may still have bytes to give.
    if (in.empty() && to.pos == before && wanted_ != 0) {
      return fail(malformed("the stream ends early"));
    }
  }
  return to.pos;
}

}  // namespace

std::unique_ptr<Decoder> make_zstd_decoder(Input& input, int window_log) {
  return std::make_unique<ZstdDecoder>(input, window_log);
}

}  // namespace lamina::archive
