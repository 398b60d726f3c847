// The compressed bytes of a layer as a decoder wants them: a piece at a time,
// as much of it as it likes, with a look ahead; counted and hashed on the way.
//
// Bytes of a MemorySource are seen where they lie; others pass through one
// buffer of 256 KiB. Not for more than one thread at a time, but consumed() may
// be asked by any. The source must outlive it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "archive/bytes.h"
#include "archive/digest.h"
#include "archive/source.h"
#include "base/error.h"

namespace lamina::archive {

class Input {
 public:
  // The longest look ahead.
  static constexpr size_t kPeek = 32;

  explicit Input(Source& source);

  // From here on what is consumed is hashed too. Requires that nothing was
  // consumed.
  void start_hashing();

  // The bytes not consumed yet, at least one unless the end is reached. Valid
  // until the next call.
  Result<Bytes> available();

  // The next `count` bytes in one piece, fewer only at the end. Requires
  // count <= kPeek.
  Result<Bytes> peek(size_t count);

  // Goes on behind the first `count` bytes of available() or peek().
  void consume(size_t count);

  // Copies the next bytes to `out`, the whole of it unless the end comes first,
  // and says how many. Large reads go straight to `out`.
  Result<size_t> read(MutableBytes out);

  // All bytes at once, and now consumed, if they lie in memory. Requires that
  // nothing was consumed before.
  std::optional<Bytes> take_whole();

  uint64_t consumed() const {
    return consumed_.load(std::memory_order_relaxed);
  }

  // The digest of what was consumed. Requires start_hashing().
  Result<Digest> digest() { return hash_->finish(); }

 private:
  // Replaces `next_` by more bytes of the source; leaves it empty at the end.
  Result<void> fetch();
  void count_consumed(Bytes bytes);

  Source& source_;
  std::optional<Sha256> hash_;
  // What is left of the source, where it lies in memory.
  std::optional<Bytes> memory_;
  std::unique_ptr<std::byte[]> buffer_;
  // Bytes that lay on both sides of a fetch, put together for peek().
  std::array<std::byte, kPeek> stash_ = {};
  // Not consumed yet: first `now_`, then `next_`.
  Bytes now_;
  Bytes next_;
  bool ended_ = false;
  std::atomic<uint64_t> consumed_ = 0;
};

}  // namespace lamina::archive
