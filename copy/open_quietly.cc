#include "copy/open_quietly.h"

#include <fcntl.h>

#include <cerrno>

#include "base/kernel.h"

namespace lamina::copy {

Result<Fd> open_quietly(Kernel& kernel, int dir, const char* name, int flags) {
  constexpr int kFlags =
      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
  Fd fd(kernel.openat(dir, name, kFlags | O_NOATIME | flags, 0));
  if (!fd.valid() && errno == EPERM) {
    fd.reset(kernel.openat(dir, name, kFlags | flags, 0));  // Not its owner.
  }
  if (!fd.valid()) {
    return fail(last_error("openat", ""));
  }
  return fd;
}

}  // namespace lamina::copy
