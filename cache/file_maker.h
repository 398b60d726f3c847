// Makes single files: the bytes of an open one, with a mode and a time of its
// own, on an inode of its own.
//
// One thread at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "copy/abilities.h"
#include "copy/data.h"

namespace lamina::cache {

// What a file is given after its bytes.
struct FileFinish {
  mode_t mode = 0444;
  int64_t mtime_ns = 0;
  enum class Flush { no, yes } flush = Flush::no;
};

// The time of files that nobody gave one: builds are to see inputs that are
// older than what they make, and the same each time. 2000-01-01, since zip
// cannot tell of times before 1980.
inline constexpr int64_t kFixedTimeNs = 946'684'800'000'000'000;

class FileMaker {
 public:
  // Makes `name` in the directory `dir`, which has none of this name, with the
  // bytes of the regular file `source`, shared where they can be; empty when
  // `source` is not valid. After an error there is none. Returns its size.
  // Errors have no subject.
  Result<uint64_t> make(const Fd& source, int dir, const std::string& name,
                        const FileFinish& finish);

 private:
  Result<uint64_t> fill(const Fd& source, const Fd& target);

  copy::AbilityTable abilities_;
  copy::CopyBuffer buffer_;
};

// Waits until nobody has the file open for writing. A child that another thread
// forked holds every descriptor until it calls exec, and until then running the
// file fails with ETXTBSY. Gives up after a few seconds without an error, and
// at once where the file system cannot tell. Errors have no subject.
Result<void> settle(int dir, const char* name);

}  // namespace lamina::cache
