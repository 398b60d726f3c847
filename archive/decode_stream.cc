#include "archive/decode_stream.h"

#include <cassert>
#include <cerrno>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

namespace lamina::archive {

namespace {

// Below this much a ratio says little: a block of zeros packs into nothing.
constexpr uint64_t kRatioFloor = uint64_t{1} << 20;

}  // namespace

DecodeStream::DecodeStream(Source& source, SlabRing& ring,
                           const DecodeOptions& options)
    : source_(source),
      ring_(ring),
      options_(options),
      input_(source) {
  if (options_.diff_id == Hashing::yes) {
    diff_id_.emplace(options_.helpers);
  }
  if (options_.helpers == Helpers::threads) {
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error&) {
      // No thread to be had: next() does the work.
    }
  }
}

DecodeStream::~DecodeStream() {
  if (thread_.joinable()) {
    source_.cancel();
    ring_.cancel();
    thread_.join();
  }
}

Result<std::optional<Slice>> DecodeStream::next() {
  if (ended_) {
    return std::nullopt;
  }
  Result<std::optional<Slice>> slice = std::nullopt;
  if (thread_.joinable()) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !queue_.empty(); });
    slice = std::move(queue_.front());
    queue_.pop_front();
  } else {
    slice = decode();
  }
  ended_ = !slice || !*slice;
  return slice;
}

void DecodeStream::work() {
  bool more = true;
  while (more) {
    Result<std::optional<Slice>> slice = std::nullopt;
    try {
      slice = decode();
    } catch (const std::bad_alloc&) {
      slice = fail(make_error(ENOMEM, "decompress", ""));
    }
    more = slice && *slice;
    {
      std::lock_guard lock(mutex_);
      queue_.push_back(std::move(slice));
    }
    changed_.notify_one();
  }
}

Result<void> DecodeStream::start() {
  TRY_ASSIGN(Bytes begin, input_.peek(10));
  TRY_ASSIGN(compression_, sniff(begin));
  if (compression_ == Compression::none) {
    // Blob and layer are the same bytes and have the same digest.
    if (!diff_id_ && options_.blob_digest == Hashing::yes) {
      input_.start_hashing();
    }
    if (std::optional<Bytes> all = input_.take_whole()) {
      memory_.emplace(*all, ring_.slab_bytes());
    }
  } else if (options_.blob_digest == Hashing::yes) {
    input_.start_hashing();
  }
  decoder_ = make_decoder(compression_, input_, options_.window_log);
  return {};
}

Result<std::optional<Slice>> DecodeStream::decode() {
  if (!started_) {
    TRY(start());
    started_ = true;
  }
  std::optional<Slice> slice;
  if (memory_) {
    TRY_ASSIGN(slice, memory_->next());
  } else {
    TRY_ASSIGN(slice, decode_slab());
  }
  show_progress();
  if (slice) {
    bytes_out_ += slice->bytes.size();
    TRY(check_limits());
    if (diff_id_) {
      diff_id_->add(*slice);
    }
  }
  return slice;
}

Result<std::optional<Slice>> DecodeStream::decode_slab() {
  SlabRef slab = ring_.acquire();
  if (!slab.held()) {
    return fail(make_error(ECANCELED, "decompress", ""));
  }
  TRY_ASSIGN(size_t got, decoder_->read(slab.memory()));
  if (got == 0) {
    return std::nullopt;
  }
  Bytes bytes = slab.memory().first(got);
  return Slice{.slab = std::move(slab), .bytes = bytes};
}

void DecodeStream::show_progress() {
  uint64_t used = input_.consumed();
  if (options_.bytes_in != nullptr && used != shown_) {
    options_.bytes_in->fetch_add(used - shown_, std::memory_order_relaxed);
    shown_ = used;
  }
}

Result<void> DecodeStream::check_limits() const {
  if (bytes_out_ > options_.max_bytes) {
    return fail(make_error(EFBIG, "decompress", "",
                           "more than " + std::to_string(options_.max_bytes) +
                               " bytes when unpacked"));
  }
  if (bytes_out_ > kRatioFloor &&
      bytes_out_ / options_.max_ratio > input_.consumed()) {
    return fail(make_error(EFBIG, "decompress", "",
                           "unpacks to more than " +
                               std::to_string(options_.max_ratio) +
                               " times its size"));
  }
  return {};
}

Result<DecodeSummary> DecodeStream::finish() {
  assert(ended_);
  if (thread_.joinable()) {
    thread_.join();
  }
  DecodeSummary summary{.compression = compression_,
                        .bytes_in = input_.consumed(),
                        .bytes_out = bytes_out_,
                        .diff_id = std::nullopt,
                        .blob_digest = std::nullopt};
  if (diff_id_) {
    TRY_ASSIGN(summary.diff_id, diff_id_->finish());
  }
  if (options_.blob_digest == Hashing::yes) {
    summary.blob_digest = summary.diff_id;
    if (compression_ != Compression::none || !diff_id_) {
      TRY_ASSIGN(summary.blob_digest, input_.digest());
    }
  }
  return summary;
}

}  // namespace lamina::archive
