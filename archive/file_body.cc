#include "archive/file_body.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "archive/unchanged.h"
#include "base/kernel.h"

namespace lamina::archive {

namespace {

constexpr size_t kBufferBytes = size_t{256} << 10;
constexpr off_t kStatBlock = 512;  // Of st_blocks, stat(3type).

constexpr std::array<std::byte, size_t{64} << 10> kZeros = {};

}  // namespace

FileBody::FileBody(Kernel& kernel, std::stop_token stop)
    : kernel_(kernel),
      stop_(std::move(stop)),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(kBufferBytes)) {}

Result<void> FileBody::write(int file, const struct stat& stat, TarWriter& to) {
  at_ = 0;
  const off_t size = stat.st_size;
  const bool sparse = stat.st_blocks * kStatBlock < size;
  while (at_ < size) {
    if (sparse) {
      TRY(write_zeros(data_from(file, size), to));
    }
    TRY(write_data(file, sparse ? hole_from(file, size) : size, to));
  }
  struct stat now {};
  if (kernel_.fstat(file, &now) != 0) {
    return fail(last_error("fstat", ""));
  }
  bool same = now.st_size == size &&
              now.st_mtim.tv_sec == stat.st_mtim.tv_sec &&
              now.st_mtim.tv_nsec == stat.st_mtim.tv_nsec;
  return same ? Result<void>() : fail(changed_meanwhile());
}

// The next offset that is not in a hole; at_ where the file system knows none.
off_t FileBody::data_from(int file, off_t size) const {
  off_t data = kernel_.lseek(file, at_, SEEK_DATA);
  if (data < 0) {
    return errno == ENXIO ? size : at_;
  }
  return std::min(data, size);
}

off_t FileBody::hole_from(int file, off_t size) const {
  off_t hole = kernel_.lseek(file, at_, SEEK_HOLE);
  return hole <= at_ ? size : std::min(hole, size);
}

Result<void> FileBody::write_zeros(off_t end, TarWriter& to) {
  while (at_ < end) {
    auto count =
        std::min<size_t>(kZeros.size(), static_cast<size_t>(end - at_));
    TRY(to.body(Bytes(kZeros).first(count)));
    at_ += static_cast<off_t>(count);
    if (stop_.stop_requested()) {
      return fail(make_error(ECANCELED, "diff", "", "stopped"));
    }
  }
  return {};
}

Result<void> FileBody::write_data(int file, off_t end, TarWriter& to) {
  while (at_ < end) {
    auto want = std::min<size_t>(kBufferBytes, static_cast<size_t>(end - at_));
    ssize_t n = kernel_.pread(file, buffer_.get(), want, at_);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return fail(last_error("pread", ""));
    }
    if (n == 0) {
      return fail(changed_meanwhile());  // It shrank.
    }
    TRY(to.body(Bytes(buffer_.get(), static_cast<size_t>(n))));
    at_ += n;
    if (stop_.stop_requested()) {
      return fail(make_error(ECANCELED, "diff", "", "stopped"));
    }
  }
  return {};
}

}  // namespace lamina::archive
