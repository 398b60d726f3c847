// A descriptor as a std::istream reads it: for parsers that want one.
#pragma once

#include <streambuf>
#include <vector>

#include "base/fd.h"

namespace lamina::cli {

class FdStream final : public std::streambuf {
 public:
  // Requires that `fd` outlives this.
  explicit FdStream(const Fd& fd)
      : fd_(fd) {}

  // The errno of the read that ended the stream; 0 when the file did.
  int error() const { return error_; }

 private:
  int_type underflow() override;

  const Fd& fd_;
  std::vector<char> buffer_ = std::vector<char>(size_t{256} * 1024);
  int error_ = 0;
};

}  // namespace lamina::cli
