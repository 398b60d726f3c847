// Executable variants: the bytes of a blob under mode 0555.
//
// A blob's inode has mode 0444 for all time, so an executable needs a second
// one. It is made once for each digest while the cache is open, in a directory
// that holds nothing else, and linked into every entry that wants it; what is
// left there is swept when the cache is next opened.
#pragma once

#include <stop_token>

#include "archive/digest.h"
#include "base/error.h"
#include "base/fd.h"
#include "cache/file_maker.h"

namespace lamina::cache {

class Variants {
 public:
  // `variants` and `locks` must outlive it. One thread at a time; several
  // objects and processes may share the directories.
  Variants(const Fd& variants, const Fd& locks, std::stop_token stop)
      : variants_(variants),
        locks_(locks),
        stop_(std::move(stop)) {}

  // Links the variant of `blob`, made first where it is missing, to `name` in
  // `dir`. Returns 0, or the errno of a link that was refused, so that the file
  // has to be copied. No writable descriptor of it is open any more, so it can
  // be run at once. Errors have no subject.
  Result<int> link(const archive::Digest& digest, const Fd& blob, int dir,
                   const char* name);

  // How many had to be made.
  uint64_t made() const { return made_; }

 private:
  Result<void> make(const std::string& hex, const Fd& blob);

  const Fd& variants_;
  const Fd& locks_;
  std::stop_token stop_;
  FileMaker maker_;
  uint64_t made_ = 0;
};

}  // namespace lamina::cache
