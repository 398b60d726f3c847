// Reads a regular file as the body of an entry.
//
// Holes are found and not read, but written as zeros: whether a file has any is
// the file system's affair. One thread at a time; the buffer is kept from file
// to file.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <stop_token>

#include "archive/tar_writer.h"
#include "base/error.h"

namespace lamina {
class Kernel;
}

namespace lamina::archive {

class FileBody {
 public:
  explicit FileBody(Kernel& kernel, std::stop_token stop);

  // Writes the bytes of the open file, of which `stat` was just said. Fails
  // with ESTALE when it is not the same file to the end: grew, shrank, or was
  // written to. Errors of reading have no subject.
  Result<void> write(int file, const struct stat& stat, TarWriter& to);

 private:
  Result<void> write_data(int file, off_t end, TarWriter& to);
  Result<void> write_zeros(off_t end, TarWriter& to);
  off_t data_from(int file, off_t size) const;
  off_t hole_from(int file, off_t size) const;

  Kernel& kernel_;
  const std::stop_token stop_;
  const std::unique_ptr<std::byte[]> buffer_;
  off_t at_ = 0;
};

}  // namespace lamina::archive
