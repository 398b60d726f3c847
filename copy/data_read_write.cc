// The last rung: read(2) and write(2), which always work.
#include <algorithm>
#include <cerrno>

#include "base/kernel.h"
#include "copy/data.h"
#include "copy/write_all.h"

namespace lamina::copy {

Result<void> FileData::write(const char* bytes, size_t size, off_t offset) {
  TRY(write_all(*kernel_, target_, std::as_bytes(std::span(bytes, size)),
                offset));
  written_ += size;
  return {};
}

// One buffer full from at_. `done` says that the source ends here.
Result<FileData::Rung> FileData::read_write() {
  char* buffer = buffer_->get();
  auto want = static_cast<size_t>(std::min<off_t>(
      segment_end_ - at_, static_cast<off_t>(CopyBuffer::kBytes)));
  ssize_t n = kernel_->pread(source_, buffer, want, at_);
  if (n < 0) {
    if (errno == EINTR) {
      return Rung::more;
    }
    return fail(last_error("read", ""));
  }
  if (n == 0) {
    return Rung::done;
  }
  TRY(write(buffer, static_cast<size_t>(n), at_));
  at_ += n;
  moved_ = Moved::by_read_write;
  return Rung::more;
}

// A whole small file: the read asks for more than there should be, so that a
// source that grew is seen without another call.
Result<FileData::Rung> FileData::read_small() {
  char* buffer = buffer_->get();
  auto size = static_cast<size_t>(stat_.st_size);
  size_t have = 0;
  while (have < size) {
    ssize_t n =
        kernel_->pread(source_, buffer + have, CopyBuffer::kBytes - have,
                       static_cast<off_t>(have));
    if (n < 0) {
      if (errno == EINTR) {
        continue;
      }
      return fail(last_error("read", ""));
    }
    if (n == 0) {
      return fail(make_error(ESTALE, "copy", "",
                             "the source shrank while it was copied"));
    }
    have += static_cast<size_t>(n);
  }
  if (have > size) {
    return fail(
        make_error(ESTALE, "copy", "", "the source grew while it was copied"));
  }
  TRY(write(buffer, have, 0));
  moved_ = Moved::by_read_write;
  return Rung::done;
}

}  // namespace lamina::copy
