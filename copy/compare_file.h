// Compares the bytes and the holes of two regular files, in steps.
//
// The descriptors stay the caller's. One thread at a time. Errors have no
// subject; the caller knows the name.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <memory>
#include <string>

#include "base/error.h"

namespace lamina {
class Kernel;
}

namespace lamina::copy {

// Whether a hole of the source that is zeros in the copy is a difference.
enum class Holes { matter, are_zeros };

class FileComparison {
 public:
  explicit FileComparison(Holes holes = Holes::matter)
      : holes_(holes) {}

  // The most a step reads of either.
  static constexpr size_t kStepBytes = size_t{16} * 1024 * 1024;
  // A hole in the source that is smaller may be filled: file systems round.
  static constexpr off_t kHoleBytes = off_t{1024} * 1024;

  // Requires that both files have the same size.
  void begin(Kernel& kernel, int source, int copy,
             const struct stat& source_stat, const struct stat& copy_stat);

  // Compares on; true when all is compared or a difference was found.
  Result<bool> step();

  // What differs, "" for nothing.
  const std::string& difference() const { return difference_; }

 private:
  Result<void> skip_holes();
  Result<bool> compare_block();
  Result<size_t> read(int fd, char* to, size_t size);
  off_t next_data(int fd) const;
  off_t next_hole(int fd) const;
  bool is_filled(off_t end) const;

  const Holes holes_;
  Kernel* kernel_ = nullptr;
  int source_ = -1;
  int copy_ = -1;
  off_t size_ = 0;
  off_t at_ = 0;
  off_t data_until_ = 0;    // Up to here nothing is a hole in both.
  bool sparse_ = false;     // Holes are to be asked for.
  bool allocated_ = false;  // The copy takes as many blocks as it has bytes.
  std::string difference_;
  std::unique_ptr<char[]> buffers_;
};

}  // namespace lamina::copy
