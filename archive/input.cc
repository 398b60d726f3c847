#include "archive/input.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace lamina::archive {

namespace {

constexpr size_t kBufferBytes = size_t{256} << 10;
// Memory is passed on in pieces too, so that hashing it and decoding it meet
// the same bytes while they are in the cache.
constexpr size_t kMemoryPiece = size_t{256} << 10;

}  // namespace

Input::Input(Source& source)
    : source_(source),
      memory_(source.whole()) {}

void Input::start_hashing() {
  assert(consumed() == 0);
  hash_.emplace();
}

void Input::count_consumed(Bytes bytes) {
  if (hash_) {
    hash_->add(bytes);
  }
  consumed_.fetch_add(bytes.size(), std::memory_order_relaxed);
}

Result<void> Input::fetch() {
  assert(next_.empty());
  if (ended_) {
    return {};
  }
  if (memory_) {
    next_ = memory_->first(std::min(memory_->size(), kMemoryPiece));
    memory_ = memory_->subspan(next_.size());
  } else {
    if (buffer_ == nullptr) {
      buffer_ = std::make_unique_for_overwrite<std::byte[]>(kBufferBytes);
    }
    MutableBytes buffer(buffer_.get(), kBufferBytes);
    TRY_ASSIGN(size_t got, source_.read_some(buffer));
    next_ = buffer.first(got);
  }
  ended_ = next_.empty();
  return {};
}

Result<Bytes> Input::available() {
  if (now_.empty()) {
    if (next_.empty()) {
      TRY(fetch());
    }
    now_ = std::exchange(next_, {});
  }
  return now_;
}

Result<Bytes> Input::peek(size_t count) {
  assert(count <= kPeek);
  TRY(available());
  while (now_.size() < count) {
    // fetch() overwrites the buffer, so what is in it moves to the stash. The
    // bytes may lie in the stash already, further back.
    if (!now_.empty()) {
      std::memmove(stash_.data(), now_.data(), now_.size());
    }
    if (next_.empty()) {
      now_ = Bytes(stash_).first(now_.size());
      TRY(fetch());
      if (next_.empty()) {
        break;
      }
    }
    size_t more = std::min(count - now_.size(), next_.size());
    std::memcpy(stash_.data() + now_.size(), next_.data(), more);
    now_ = Bytes(stash_).first(now_.size() + more);
    next_ = next_.subspan(more);
  }
  return now_.first(std::min(count, now_.size()));
}

void Input::consume(size_t count) {
  count_consumed(now_.first(count));
  now_ = now_.subspan(count);
}

Result<size_t> Input::read(MutableBytes out) {
  size_t done = 0;
  while (done < out.size()) {
    MutableBytes rest = out.subspan(done);
    bool direct = now_.empty() && next_.empty() && !memory_ && !ended_ &&
                  rest.size() >= kBufferBytes;
    if (direct) {
      TRY_ASSIGN(size_t got, source_.read_some(rest));
      ended_ = got == 0;
      count_consumed(rest.first(got));
      done += got;
      continue;
    }
    TRY_ASSIGN(Bytes piece, available());
    if (piece.empty()) {
      break;
    }
    size_t count = std::min(piece.size(), rest.size());
    std::memcpy(rest.data(), piece.data(), count);
    consume(count);
    done += count;
  }
  return done;
}

std::optional<Bytes> Input::take_whole() {
  std::optional<Bytes> all = source_.whole();
  if (!all) {
    return std::nullopt;
  }
  assert(consumed() == 0);
  memory_ = Bytes();
  now_ = next_ = {};
  ended_ = true;
  count_consumed(*all);
  return all;
}

}  // namespace lamina::archive
