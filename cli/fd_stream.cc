#include "cli/fd_stream.h"

#include <unistd.h>

#include <cerrno>

namespace lamina::cli {

FdStream::int_type FdStream::underflow() {
  ssize_t n = 0;
  do {
    n = ::read(fd_.get(), buffer_.data(), buffer_.size());
  } while (n < 0 && errno == EINTR);
  if (n <= 0) {
    error_ = n < 0 ? errno : 0;
    return traits_type::eof();
  }
  setg(buffer_.data(), buffer_.data(), buffer_.data() + n);
  return traits_type::to_int_type(*gptr());
}

}  // namespace lamina::cli
