// An owned file descriptor.
//
// Move-only; closed by scope. Nothing here opens anything. One thread at a time
// may use an Fd object, as with any value; the descriptor number it holds may
// be used by several.
#pragma once

#include <string_view>

#include "base/error.h"

namespace lamina {

class Kernel;

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd)
      : fd_(fd) {}
  Fd(Fd&& other) noexcept
      : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  // Closes quietly and keeps errno.
  ~Fd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

  // Gives the descriptor away; this object is invalid afterwards.
  [[nodiscard]] int release() {
    int fd = fd_;
    fd_ = -1;
    return fd;
  }

  // Closes what is held, quietly, and holds `fd` instead.
  void reset(int fd = -1);

  // Closes and reports. Required for anything written through, since close(2)
  // is where late write errors appear. Never retried on EINTR: Linux has freed
  // the descriptor by then. The object is invalid afterwards either way.
  Result<void> close(Kernel& kernel, std::string_view subject);

 private:
  int fd_ = -1;
};

}  // namespace lamina
