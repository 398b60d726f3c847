#include "archive/source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/kernel.h"

namespace lamina::archive {

namespace {

bool is_regular(Kernel& kernel, int fd) {
  struct stat st = {};
  return kernel.fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

}  // namespace

FdSource::FdSource(Kernel& kernel, const Fd& fd, std::string_view subject)
    : kernel_(kernel),
      fd_(fd.get()),
      subject_(subject),
      cancelled_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      always_ready_(is_regular(kernel, fd.get())) {}

Result<void> FdSource::wait() {
  struct pollfd waits[2] = {
      {.fd = fd_, .events = POLLIN, .revents = 0},
      {.fd = cancelled_.get(), .events = POLLIN, .revents = 0}};
  // A negative descriptor is ignored, poll(2).
  while (::poll(waits, 2, -1) < 0) {
    if (errno != EINTR) {
      return fail(last_error("poll", subject_));
    }
  }
  if (waits[1].revents != 0) {
    return fail(make_error(ECANCELED, "read", subject_));
  }
  return {};
}

Result<size_t> FdSource::read_some(MutableBytes buffer) {
  while (true) {
    if (!always_ready_) {
      TRY(wait());
    }
    ssize_t got = kernel_.read(fd_, buffer.data(), buffer.size());
    if (got >= 0) {
      return static_cast<size_t>(got);
    }
    // EAGAIN: another reader of a non-blocking descriptor was faster.
    if (errno != EINTR && (errno != EAGAIN || always_ready_)) {
      return fail(last_error("read", subject_));
    }
  }
}

void FdSource::cancel() {
  // Refused only when it was called so often that the counter is full, and then
  // the descriptor is readable already.
  static_cast<void>(::eventfd_write(cancelled_.get(), 1));
}

Result<size_t> MemorySource::read_some(MutableBytes buffer) {
  size_t count = std::min(buffer.size(), bytes_.size() - at_);
  if (count != 0) {
    std::memcpy(buffer.data(), bytes_.data() + at_, count);
  }
  at_ += count;
  return count;
}

}  // namespace lamina::archive
