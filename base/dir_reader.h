// Reads the names of an open directory with getdents64(2), in the kernel's
// order, without "." and "..".
//
// A Listing is one buffer full; entries are slices of it and die with it. One
// thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/error.h"

namespace lamina {

class Kernel;

struct DirEntry {
  uint64_t inode = 0;      // d_ino; see listing_is_exact().
  int64_t next = 0;        // d_off: where to seek to go on behind this entry.
  unsigned char type = 0;  // DT_*, DT_UNKNOWN where the file system has none.
  const char* name = nullptr;  // NUL-terminated, never "." or "..".
  size_t length = 0;           // Of the name.

  std::string_view name_view() const { return {name, length}; }
};

class Listing {
 public:
  static constexpr size_t kBytes = size_t{32} * 1024;

  // Fills the buffer with the next names of `dir` and starts at the first.
  // Returns false at the end of the directory. `subject` names it in errors.
  Result<bool> fill(Kernel& kernel, int dir, std::string_view subject);

  // Holds a copy of raw entries taken from another listing by take().
  void assign(std::string_view raw);

  // Moves to the next entry; false when the buffer is used up.
  bool next(DirEntry* out);

  // Splits off the raw bytes of up to `entries` entries not yet given out.
  std::string_view take(size_t entries);

  // Where to lseek(2) a freshly opened directory to go on behind what fill()
  // read last.
  int64_t end_offset() const { return end_offset_; }

  // True when next() would return false without another fill().
  bool used_up() const { return at_ >= size_; }

 private:
  bool parse(DirEntry* out);

  std::unique_ptr<char[]> buffer_;
  size_t capacity_ = 0;
  size_t size_ = 0;
  size_t at_ = 0;
  int64_t end_offset_ = 0;
};

}  // namespace lamina
