// Where the bytes of a layer come from, compressed or not: a descriptor, memory
// or a callback. It moves bytes and knows nothing of what they mean.
//
// One thread at a time reads a source; cancel() may be called by any other.
// What a source reads from must outlive it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "archive/bytes.h"
#include "base/error.h"
#include "base/fd.h"

namespace lamina {
class Kernel;
}

namespace lamina::archive {

class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  // Fills the front of `buffer` with what can be had, at least one byte unless
  // the end is reached, and says how many. 0 is the end. Fails with the
  // source's error, or with ECANCELED after cancel(). Requires a buffer that is
  // not empty.
  virtual Result<size_t> read_some(MutableBytes buffer) = 0;

  // All bytes at once, where they lie in memory that outlives the source. Then
  // read_some() need not be called and nothing is copied.
  virtual std::optional<Bytes> whole() const { return std::nullopt; }

  // Makes a read_some() that waits now, and every later one, fail soon.
  virtual void cancel() {}
};

// Reads an open descriptor from where it stands to its end: a regular file, a
// pipe or a socket, blocking or not. Waits with poll(2) where reading could
// block, so that cancel() ends the wait. `subject` names it in errors.
class FdSource final : public Source {
 public:
  FdSource(Kernel& kernel, const Fd& fd, std::string_view subject);

  Result<size_t> read_some(MutableBytes buffer) override;
  void cancel() override;

 private:
  // Waits until there is something to read. Fails after cancel().
  Result<void> wait();

  Kernel& kernel_;
  const int fd_;
  const std::string subject_;
  // An eventfd(2) that cancel() makes readable. Invalid where the kernel gives
  // none; then a wait cannot be ended early.
  Fd cancelled_;
  // Regular files are always ready, poll(2): one call saved per read.
  const bool always_ready_;
};

// Bytes that lie in memory: a mapped file that cannot shrink, a message. They
// are not copied.
class MemorySource final : public Source {
 public:
  explicit MemorySource(Bytes bytes)
      : bytes_(bytes) {}

  Result<size_t> read_some(MutableBytes buffer) override;
  std::optional<Bytes> whole() const override { return bytes_; }

 private:
  const Bytes bytes_;
  size_t at_ = 0;
};

// Asks a function with the contract of Source::read_some() for bytes. It may be
// called on a thread of the decoder, and must return soon when its caller gives
// up: a DecodeStream waits for it before it ends.
class CallbackSource final : public Source {
 public:
  using Callback = std::function<Result<size_t>(MutableBytes)>;

  explicit CallbackSource(Callback callback)
      : callback_(std::move(callback)) {}

  Result<size_t> read_some(MutableBytes buffer) override {
    return callback_(buffer);
  }

 private:
  const Callback callback_;
};

}  // namespace lamina::archive
