#include "copy/compare_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/kernel.h"

namespace lamina::copy {

namespace {

constexpr size_t kBlockBytes = size_t{128} * 1024;
constexpr off_t kStatBlock = 512;  // Of st_blocks, stat(3type).

}  // namespace

void FileComparison::begin(Kernel& kernel, int source, int copy,
                           const struct stat& source_stat,
                           const struct stat& copy_stat) {
  kernel_ = &kernel;
  source_ = source;
  copy_ = copy;
  size_ = source_stat.st_size;
  at_ = 0;
  data_until_ = 0;
  sparse_ = source_stat.st_blocks * kStatBlock < size_ ||
            copy_stat.st_blocks * kStatBlock < size_;
  allocated_ = holes_ == Holes::matter &&
               copy_stat.st_blocks * kStatBlock > size_ - kHoleBytes;
  difference_.clear();
}

Result<bool> FileComparison::step() {
  for (size_t done = 0; done < kStepBytes; done += kBlockBytes) {
    if (sparse_ && at_ >= data_until_) {
      TRY(skip_holes());
    }
    if (at_ >= size_ || !difference_.empty()) {
      return true;
    }
    TRY_ASSIGN(bool equal, compare_block());
    if (!equal) {
      return true;
    }
  }
  return false;
}

// The next offset from at_ on that is not in a hole; at_ where the file system
// knows no holes.
off_t FileComparison::next_data(int fd) const {
  off_t data = kernel_->lseek(fd, at_, SEEK_DATA);
  if (data < 0) {
    return errno == ENXIO ? size_ : at_;
  }
  return std::min(data, size_);
}

// The end of the data at at_; at_ in a hole.
off_t FileComparison::next_hole(int fd) const {
  off_t hole = kernel_->lseek(fd, at_, SEEK_HOLE);
  return hole < 0 ? size_ : std::min(hole, size_);
}

// True when the copy has data all the way from at_ to `end`.
bool FileComparison::is_filled(off_t end) const {
  return allocated_ && kernel_->lseek(copy_, at_, SEEK_HOLE) >= end;
}

Result<void> FileComparison::skip_holes() {
  off_t source_data = next_data(source_);
  off_t copy_data = next_data(copy_);
  if (copy_data == at_ && source_data - at_ >= kHoleBytes &&
      is_filled(source_data)) {
    difference_ = "a hole at " + std::to_string(at_) + " was filled";
    return {};
  }
  at_ = std::min(source_data, copy_data);
  off_t source_hole = next_hole(source_);
  off_t copy_hole = next_hole(copy_);
  bool both_data = source_hole > at_ && copy_hole > at_;
  data_until_ = both_data ? std::min(source_hole, copy_hole)
                          : std::max(source_hole, copy_hole);
  if (data_until_ <= at_) {
    // The file changes, or its file system contradicts itself: read on.
    data_until_ = std::min<off_t>(size_, at_ + off_t{kBlockBytes});
  }
  return {};
}

Result<size_t> FileComparison::read(int fd, char* to, size_t size) {
  size_t got = 0;
  while (got < size) {
    ssize_t n =
        kernel_->pread(fd, to + got, size - got, at_ + static_cast<off_t>(got));
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return fail(last_error("pread", ""));
    }
    if (n == 0) {
      break;
    }
    got += static_cast<size_t>(n);
  }
  return got;
}

Result<bool> FileComparison::compare_block() {
  if (!buffers_) {
    buffers_.reset(new char[2 * kBlockBytes]);
  }
  char* first = buffers_.get();
  char* second = first + kBlockBytes;
  off_t until = sparse_ ? data_until_ : size_;
  size_t want = std::min<size_t>(kBlockBytes, static_cast<size_t>(until - at_));
  TRY_ASSIGN(size_t in_source, read(source_, first, want));
  TRY_ASSIGN(size_t in_copy, read(copy_, second, want));
  size_t both = std::min(in_source, in_copy);
  if (both != want) {
    return fail(make_error(ESTALE, "pread", "", "it changed meanwhile"));
  }
  if (std::memcmp(first, second, both) == 0) {
    at_ += static_cast<off_t>(both);
    return true;
  }
  size_t where = static_cast<size_t>(
      std::mismatch(first, first + both, second).first - first);
  difference_ = "bytes differ from " +
                std::to_string(at_ + static_cast<off_t>(where)) + " on";
  return false;
}

}  // namespace lamina::copy
