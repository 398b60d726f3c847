#include "cache/variants.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/kernel.h"
#include "cache/blobs.h"
#include "cache/file_lock.h"

namespace lamina::cache {

Result<int> Variants::link(const archive::Digest& digest, const Fd& blob,
                           int dir, const char* name) {
  std::string hex = hex_of(digest);
  for (;;) {
    if (real_kernel().linkat(variants_.get(), hex.c_str(), dir, name) == 0) {
      return 0;
    }
    if (errno != ENOENT) {
      return errno;
    }
    // Never made, or swept by the first to open the cache after all had closed
    // it.
    TRY(make(hex, blob));
  }
}

Result<void> Variants::make(const std::string& hex, const Fd& blob) {
  Kernel& kernel = real_kernel();
  TRY_ASSIGN(NameLock lock, NameLock::take(locks_, "v-" + hex, stop_));
  struct stat stat {};
  if (kernel.fstatat(variants_.get(), hex.c_str(), &stat,
                     AT_SYMLINK_NOFOLLOW) == 0) {
    return {};  // Somebody else was quicker.
  }
  std::string unfinished = "." + hex;
  if (kernel.unlinkat(variants_.get(), unfinished.c_str(), 0) != 0 &&
      errno != ENOENT) {
    return fail(last_error("unlinkat", ""));
  }
  FileFinish finish;
  finish.mode = 0555;
  finish.mtime_ns = kFixedTimeNs;
  finish.flush = FileFinish::Flush::yes;
  TRY(maker_.make(blob, variants_.get(), unfinished, finish));
  TRY(settle(variants_.get(), unfinished.c_str()));
  if (kernel.renameat2(variants_.get(), unfinished.c_str(), variants_.get(),
                       hex.c_str(), 0) != 0) {
    return fail(last_error("renameat", ""));
  }
  ++made_;
  return {};
}

}  // namespace lamina::cache
