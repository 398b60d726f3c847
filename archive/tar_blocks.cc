#include "archive/tar_blocks.h"

#include <algorithm>
#include <utility>

#include "archive/tar_header.h"

namespace lamina::archive {

namespace {

Error ends_early() {
  return malformed_tar("the archive ends early");
}

}  // namespace

Result<bool> TarBlocks::advance() {
  if (!slice_.bytes.empty()) {
    return true;
  }
  // Given back before the next is waited for.
  slice_ = {};
  TRY_ASSIGN(std::optional<Slice> next, stream_.next());
  if (!next) {
    return false;
  }
  slice_ = *std::move(next);
  return true;
}

Result<std::optional<std::string_view>> TarBlocks::take_block() {
  TRY_ASSIGN(bool more, advance());
  if (!more) {
    return std::nullopt;
  }
  // Slabs hold whole blocks, so a part of one is the end of the stream.
  if (slice_.bytes.size() < kTarBlock) {
    return fail(ends_early());
  }
  std::string_view block = text_of(slice_.bytes.first(kTarBlock));
  slice_.bytes = slice_.bytes.subspan(kTarBlock);
  position_ += kTarBlock;
  return block;
}

Result<std::string_view> TarBlocks::require_block() {
  TRY_ASSIGN(std::optional<std::string_view> block, take_block());
  if (!block) {
    return fail(ends_early());
  }
  return *block;
}

Result<Slice> TarBlocks::take(uint64_t most) {
  TRY_ASSIGN(bool more, advance());
  if (!more) {
    return fail(ends_early());
  }
  size_t count =
      static_cast<size_t>(std::min<uint64_t>(most, slice_.bytes.size()));
  Slice piece{.slab = slice_.slab, .bytes = slice_.bytes.first(count)};
  slice_.bytes = slice_.bytes.subspan(count);
  position_ += count;
  return piece;
}

Result<void> TarBlocks::skip(uint64_t bytes) {
  if (bytes > slice_.bytes.size()) {
    bytes -= slice_.bytes.size();
    position_ += slice_.bytes.size();
    slice_ = {};
    uint64_t passed = stream_.pass_over(bytes - bytes % kTarBlock);
    bytes -= passed;
    position_ += passed;
  }
  while (bytes != 0) {
    TRY_ASSIGN(Slice piece, take(bytes));
    bytes -= piece.bytes.size();
  }
  return {};
}

Result<void> TarBlocks::drain() {
  while (true) {
    TRY_ASSIGN(bool more, advance());
    if (!more) {
      return {};
    }
    position_ += slice_.bytes.size();
    slice_.bytes = {};
  }
}

}  // namespace lamina::archive
