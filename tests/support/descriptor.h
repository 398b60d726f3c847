// An owned file descriptor for test support, and the exception it throws.
//
// The library has its own (`base/fd.h`). Support code does not use it, so that
// a fault in the code under test cannot hide itself from the tests. Not for
// more than one thread at a time.
#pragma once

#include <unistd.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace lamina::test {

// What support code throws when it cannot do its own part of a test. An
// uncaught one fails the test with this text.
class SupportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws a SupportError for `op` on `subject` with the text of errno.
[[noreturn]] void throw_errno(std::string_view op, std::string_view subject);

// Closes its descriptor by scope. -1 is "none".
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd)
      : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept
      : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    reset(other.release());
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  [[nodiscard]] int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void reset(int fd = -1) {
    if (fd_ >= 0)
      ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

// Opens the directory at `path`; throws when it cannot.
Descriptor open_directory(const std::string& path);

// Opens the directory `name` in `parent`, never through a symlink.
Descriptor open_directory_at(int parent, const std::string& name);

// A path of `name` in the open directory `parent`, for calls that take no
// descriptor. It does not resolve `name`, so l-calls see a symlink itself.
std::string proc_path(int parent, const std::string& name);

}  // namespace lamina::test
