// The second rung: let the kernel move bytes, copy_file_range(2).
#include <algorithm>
#include <cerrno>

#include "base/kernel.h"
#include "copy/abilities.h"
#include "copy/data.h"

namespace lamina::copy {

Result<FileData::Rung> FileData::range() {
  off_t in = at_;
  off_t out = at_;
  auto want = static_cast<size_t>(
      std::min<off_t>(segment_end_ - at_, static_cast<off_t>(kStepBytes)));
  ssize_t n = kernel_->copy_file_range(source_, &in, target_, &out, want);
  if (n < 0 && errno == EINTR) {
    return Rung::more;
  }
  if (n < 0) {
    Error error = last_error("copy_file_range", "");
    if (!is_unsupported(Method::range, error.code)) {
      return fail(std::move(error));
    }
    if (is_refusal(Method::range, error.code)) {
      abilities_->no_range.store(true, std::memory_order_relaxed);
    }
    return Rung::not_here;
  }
  if (n == 0) {
    // Either the end, or a file system that cannot say what it has (procfs on
    // many kernels): reading settles it.
    return Rung::not_here;
  }
  at_ += n;
  written_ += static_cast<uint64_t>(n);
  moved_ = Moved::by_range;
  return Rung::more;
}

}  // namespace lamina::copy
