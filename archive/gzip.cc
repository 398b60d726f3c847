#include "archive/gzip.h"

#include <algorithm>
#include <utility>

namespace lamina::archive {

namespace {

class GzipDecoder final : public Decoder {
 public:
  GzipDecoder(Input& input, std::unique_ptr<Inflater> inflater)
      : input_(input),
        inflater_(std::move(inflater)) {}

  Result<size_t> read(MutableBytes out) override;

 private:
  enum class At { first_member, further_member, in_member, end };

  // Moves to the next member or to the end.
  Result<void> start_member();
  Result<void> skip_padding();

  Input& input_;
  std::unique_ptr<Inflater> inflater_;
  At at_ = At::first_member;
};

Result<size_t> GzipDecoder::read(MutableBytes out) {
  size_t done = 0;
  while (done < out.size() && at_ != At::end) {
    if (at_ != At::in_member) {
      TRY(start_member());
      continue;
    }
    TRY_ASSIGN(Bytes in, input_.available());
    TRY_ASSIGN(Inflater::Step step, inflater_->step(in, out.subspan(done)));
    input_.consume(step.consumed);
    done += step.produced;
    if (step.member_ended) {
      at_ = At::further_member;
    } else if (in.empty() && step.produced == 0) {
      return fail(malformed_gzip("the stream ends early"));
    } else if (step.consumed == 0 && step.produced == 0) {
      // Never seen; it would be an endless loop.
      return fail(malformed_gzip("the decoder makes no progress"));
    }
  }
  return done;
}

Result<void> GzipDecoder::start_member() {
  TRY_ASSIGN(Bytes start, input_.peek(2));
  if (text_of(start) != "\x1F\x8B") {
    if (at_ == At::first_member) {
      return fail(malformed_gzip("no gzip header"));
    }
    return skip_padding();
  }
  TRY(skip_gzip_header(input_));
  inflater_->start();
  at_ = At::in_member;
  return {};
}

Result<void> GzipDecoder::skip_padding() {
  while (true) {
    TRY_ASSIGN(Bytes rest, input_.available());
    if (rest.empty()) {
      at_ = At::end;
      return {};
    }
    if (std::ranges::any_of(rest, [](auto b) { return b != std::byte{0}; })) {
      return fail(malformed_gzip("garbage behind the last member"));
    }
    input_.consume(rest.size());
  }
}

}  // namespace

std::unique_ptr<Inflater> make_inflater() {
#if LAMINA_ISAL
  return make_isal_inflater();
#else
  return make_zlib_inflater();
#endif
}

std::unique_ptr<Decoder> make_gzip_decoder(Input& input,
                                           std::unique_ptr<Inflater> inflater) {
  return std::make_unique<GzipDecoder>(input, std::move(inflater));
}

}  // namespace lamina::archive
