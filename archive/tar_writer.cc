#include "archive/tar_writer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>

#include "archive/tar_header.h"
#include "archive/ustar.h"
#include "base/kernel.h"

namespace lamina::archive {

namespace {

constexpr size_t kBufferBytes = size_t{128} << 10;

uint64_t padding_of(uint64_t size) {
  return (kTarBlock - size % kTarBlock) % kTarBlock;
}

Error refuse(std::string_view path, std::string_view why) {
  return make_error(0, "write tar", path, why);
}

}  // namespace

TarWriter::TarWriter(Sink sink)
    : sink_(std::move(sink)) {
  buffer_.reserve(kBufferBytes);
}

Result<void> TarWriter::remember(Result<void> result) {
  if (!result) {
    failed_ = result.error();
  }
  return result;
}

Result<void> TarWriter::add(const TarEntry& entry) {
  if (failed_) {
    return fail(*failed_);
  }
  return remember(write_headers(entry));
}

Result<void> TarWriter::write_headers(const TarEntry& entry) {
  TRY(end_body());
  path_ = entry.path;
  auto headers = make_ustar_headers(entry);
  if (!headers) {
    return fail(refuse(entry.path, headers.error().text));
  }
  TRY(write(*headers));
  body_left_ = entry.size;
  padding_ = padding_of(entry.size);
  return {};
}

Result<void> TarWriter::body(Bytes bytes) {
  if (failed_) {
    return fail(*failed_);
  }
  if (bytes.size() > body_left_) {
    return remember(
        fail(refuse(path_, "the file has more bytes than announced")));
  }
  body_left_ -= bytes.size();
  return remember(write(text_of(bytes)));
}

Result<void> TarWriter::end_body() {
  if (body_left_ != 0) {
    return fail(refuse(path_, "the file has fewer bytes than announced"));
  }
  return write(std::string(std::exchange(padding_, 0), '\0'));
}

Result<void> TarWriter::finish() {
  if (failed_) {
    return fail(*failed_);
  }
  TRY(remember(end_body()));
  TRY(remember(write(std::string(2 * kTarBlock, '\0'))));
  return remember(flush());
}

void TarWriter::spoil() {
  if (sink_failed_) {
    return;
  }
  if (body_left_ == 0) {
    TarEntry entry;
    entry.path = "incomplete";
    entry.mtime.tv_nsec = 1;  // Takes a PAX header, which is then missing.
    auto headers = make_ustar_headers(entry);
    std::ignore = end_body() && headers &&
                  write(std::string_view(*headers).substr(0, kTarBlock));
  }
  std::ignore = flush();
  failed_ = refuse(path_, "the archive was given up");
}

Result<void> TarWriter::write(std::string_view text) {
  written_ += text.size();
  // A large piece goes straight on, behind what was gathered.
  const bool large = text.size() > kBufferBytes / 2;
  if (large || buffer_.size() + text.size() > kBufferBytes) {
    TRY(flush());
  }
  if (large) {
    return hand_on(text);
  }
  buffer_ += text;
  return {};
}

Result<void> TarWriter::hand_on(std::string_view text) {
  auto done = sink_(bytes_of(text));
  sink_failed_ = sink_failed_ || !done;
  return done;
}

Result<void> TarWriter::flush() {
  if (!buffer_.empty()) {
    TRY(hand_on(buffer_));
    buffer_.clear();
  }
  return {};
}

TarWriter::Sink fd_sink(Kernel& kernel, const Fd& fd,
                        std::string_view subject) {
  return [&kernel, number = fd.get(),
          name = std::string(subject)](Bytes bytes) -> Result<void> {
    while (!bytes.empty()) {
      ssize_t count = kernel.write(number, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) {
        continue;
      }
      if (count <= 0) {
        return fail(count < 0 ? last_error("write", name)
                              : make_error(EIO, "write", name));
      }
      bytes = bytes.subspan(static_cast<size_t>(count));
    }
    return {};
  };
}

}  // namespace lamina::archive
