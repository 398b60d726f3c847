#include "copy/write_all.h"

#include <cerrno>

#include "base/kernel.h"

namespace lamina::copy {

Result<void> write_all(Kernel& kernel, int fd, std::span<const std::byte> bytes,
                       off_t offset) {
  while (!bytes.empty()) {
    ssize_t n = kernel.pwrite(fd, bytes.data(), bytes.size(), offset);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return fail(last_error("write", ""));
    }
    if (n == 0) {
      return fail(make_error(EIO, "write", "", "nothing was written"));
    }
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += n;
  }
  return {};
}

}  // namespace lamina::copy
