// The names of one directory in the order of their bytes.
//
// All of them are held at once, each with five bytes more than its length: the
// kernel's order says nothing. A value; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace lamina {
class Kernel;
}

namespace lamina::archive {

class SortedNames {
 public:
  // Reads `dir`, an open directory, from where it stands. Fails with E2BIG for
  // more than 4 GiB of names, so that a directory that grows for ever ends.
  // Errors have no subject.
  static Result<SortedNames> read(Kernel& kernel, int dir);

  size_t size() const { return starts_.size(); }
  // Ended by a NUL.
  const char* operator[](size_t index) const {
    return bytes_.c_str() + starts_[index];
  }

 private:
  std::string bytes_;
  std::vector<uint32_t> starts_;
};

}  // namespace lamina::archive
