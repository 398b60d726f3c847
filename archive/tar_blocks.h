// The stream of a tar, taken in blocks and pieces of what lies between.
//
// Knows sizes and edges, not headers. Views are valid until the next call, or
// as long as a share in their slab is held. One thread at a time; the stream
// must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "archive/slab.h"
#include "base/error.h"

namespace lamina::archive {

class TarBlocks {
 public:
  explicit TarBlocks(SliceStream& stream)
      : stream_(stream) {}

  // The next 512 bytes, or nothing at the end of the stream. Fails when the
  // stream ends within a block.
  Result<std::optional<std::string_view>> take_block();

  // The same where a block must follow: the end is a failure too.
  Result<std::string_view> require_block();

  // The next piece of at most `most` bytes, as much of them as lies in one slab
  // and at least one. Fails at the end of the stream. Requires most > 0.
  Result<Slice> take(uint64_t most);

  // Goes on behind `bytes`. Fails when the stream ends before.
  Result<void> skip(uint64_t bytes);

  // Reads to the end of the stream.
  Result<void> drain();

  // How many bytes can be had before the next slab comes, and views into this
  // one need a share.
  size_t in_reach() const { return slice_.bytes.size(); }

  // A share in the slab that the last view lies in.
  const SlabRef& share() const { return slice_.slab; }

  uint64_t position() const { return position_; }

 private:
  // Makes sure that something is in reach; false at the end.
  Result<bool> advance();

  SliceStream& stream_;
  Slice slice_;  // Its bytes are those not taken yet.
  uint64_t position_ = 0;
};

}  // namespace lamina::archive
