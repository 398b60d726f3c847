#include "base/fd.h"

#include <unistd.h>

#include <cerrno>

#include "base/kernel.h"

namespace lamina {

void Fd::reset(int fd) {
  if (fd_ >= 0) {
    int saved = errno;
    ::close(fd_);
    errno = saved;
  }
  fd_ = fd;
}

Result<void> Fd::close(Kernel& kernel, std::string_view subject) {
  int fd = release();
  if (kernel.close(fd) != 0 && errno != EINTR) {
    return fail(last_error("close", subject));
  }
  return {};
}

}  // namespace lamina
