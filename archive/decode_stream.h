// A blob as slices of the layer in it: source, decoder, slabs and digests put
// together.
//
// 1. FdSource source(...); SlabRing ring; DecodeStream stream(source, ring,
// {});
// 2. while (... stream.next() ...)       // usually the TarReader does this
// 3. stream.finish()                     // the digests
//
// The stream ends with the blob, not with the tar in it: the diffID covers what
// lies behind the end marker, and a bad trailer must not be missed.
//
// With helpers it decodes on one thread and hashes on another. next() and
// finish() are for one thread at a time; bytes_in() may be asked by any.
// Source and ring must outlive it, and it must outlive nothing: slices keep
// themselves. Destroying it early ends its threads, after Source::cancel() and
// SlabRing::cancel(), so neither can be used again.
//
// A plain tar of a MemorySource is not copied: its slices point into it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "archive/decompress.h"
#include "archive/digest.h"
#include "archive/input.h"
#include "archive/slab.h"
#include "archive/source.h"
#include "base/error.h"

namespace lamina::archive {

enum class Hashing { no, yes };

struct DecodeOptions {
  // --- What is accepted.
  // The largest window of a zstd frame, a power of two, 10 to kWindowLogMost.
  int window_log = kWindowLog;
  // Bytes the layer may have when unpacked.
  uint64_t max_bytes = std::numeric_limits<uint64_t>::max();
  // Unpacked bytes for each byte of the blob, at least 1; asked once more than
  // 1 MiB was unpacked.
  uint64_t max_ratio = std::numeric_limits<uint64_t>::max();

  // --- What is worked out.
  Hashing diff_id = Hashing::yes;
  Hashing blob_digest = Hashing::yes;

  // --- How.
  Helpers helpers = Helpers::threads;
  // Counted up by the bytes of the blob that were used; may be null.
  std::atomic<uint64_t>* bytes_in = nullptr;
};

// What is known at the end of a blob.
struct DecodeSummary {
  Compression compression = Compression::none;
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  // Where they were asked for.
  std::optional<Digest> diff_id;
  std::optional<Digest> blob_digest;
};

class DecodeStream final : public SliceStream {
 public:
  DecodeStream(Source& source, SlabRing& ring, const DecodeOptions& options);
  ~DecodeStream() override;

  // Waits for a slice; with no helpers it decodes one, and waits for a free
  // slab. Fails with ECANCELED after SlabRing::cancel() by another.
  Result<std::optional<Slice>> next() override;

  // Requires that next() has returned nothing.
  Result<DecodeSummary> finish();

  // Bytes of the blob used so far, for a progress bar.
  uint64_t bytes_in() const { return input_.consumed(); }

 private:
  // One step of the decoder: the next slice, nothing at the end.
  Result<std::optional<Slice>> decode();
  Result<void> start();
  Result<std::optional<Slice>> decode_slab();
  Result<void> check_limits() const;
  void show_progress();
  void work();

  Source& source_;
  SlabRing& ring_;
  const DecodeOptions options_;

  // Used by the thread that decodes.
  Input input_;
  Compression compression_ = Compression::none;
  std::unique_ptr<Decoder> decoder_;
  std::optional<MemorySlices> memory_;
  bool started_ = false;
  uint64_t bytes_out_ = 0;
  uint64_t shown_ = 0;  // Of the bytes used.

  std::optional<HashQueue> diff_id_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by the mutex: slices decoded and not asked for yet, in order, then
  // the end or the failure.
  std::deque<Result<std::optional<Slice>>> queue_;

  bool ended_ = false;
  // Last: it uses all of the above.
  std::thread thread_;
};

}  // namespace lamina::archive
