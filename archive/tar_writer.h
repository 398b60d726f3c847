// Writes a tar as the layers of images are: the same entries give the same
// bytes, anywhere and at any time.
//
// A header is plain ustar where every field fits and the names are ASCII (or no
// characters at all: bytes that are no UTF-8 stand there as they are); else
// a PAX header goes before it that holds just what does not fit, its records in
// the order of their keys. User and group names are empty, device numbers only
// those of devices, names of directories end in a slash, and the archive ends
// with two zero blocks and no padding: an empty one is 1024 zero bytes.
//
// 1. writer.add(entry)          // names need not outlive the call
// 2. writer.body(bytes) ...     // exactly entry.size bytes
// 3. writer.finish()
//
// It checks what would not come back as it went in; what an entry is allowed to
// say is the caller's part. After a failure, its own or the sink's, the archive
// is of no use and every call fails alike. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "archive/bytes.h"
#include "archive/tar_entry.h"
#include "base/error.h"
#include "base/fd.h"

namespace lamina {
class Kernel;
}

namespace lamina::archive {

class TarWriter {
 public:
  // Takes the archive, piece by piece and in order.
  using Sink = std::function<Result<void>(Bytes)>;

  explicit TarWriter(Sink sink);
  TarWriter(const TarWriter&) = delete;
  TarWriter& operator=(const TarWriter&) = delete;

  // Writes the header of an entry, of which ordinal, stored and atime do not
  // matter. A time with nanoseconds, or before 1970, takes a PAX record. Fails
  // for an empty name or one with a NUL, for an attribute without a value or
  // with "=" in its name (PAX cannot say either), for a size on what is not a
  // file, for PAX records of more than 1 MiB, and when the body before is not
  // complete.
  Result<void> add(const TarEntry& entry);

  // Writes the next bytes of the body. Fails when they are more than the entry
  // announced.
  Result<void> body(Bytes bytes);

  // Ends the archive and hands what is left to the sink. Fails when the last
  // body is not complete.
  Result<void> finish();

  // Ends an archive that is not whole so that no reader takes it for one: most
  // read an archive that stops between two entries to its end without a word. A
  // body that is not complete stays so; elsewhere the header of an
  // extended header is added, but not that. A sink that failed is left alone.
  void spoil();

  // Bytes written so far, those not handed on yet too.
  uint64_t written() const { return written_; }

 private:
  Result<void> write_headers(const TarEntry& entry);
  Result<void> end_body();
  Result<void> write(std::string_view text);
  Result<void> flush();
  Result<void> hand_on(std::string_view text);
  Result<void> remember(Result<void> result);

  const Sink sink_;
  // What is gathered for the sink: headers are small.
  std::string buffer_;
  uint64_t written_ = 0;
  // Of the entry under way, for errors.
  std::string path_;
  uint64_t body_left_ = 0;
  uint64_t padding_ = 0;
  std::optional<Error> failed_;
  bool sink_failed_ = false;
};

// A sink that writes to a descriptor, which must outlive it; write(2) until all
// is written. `subject` names it in errors.
TarWriter::Sink fd_sink(Kernel& kernel, const Fd& fd, std::string_view subject);

}  // namespace lamina::archive
