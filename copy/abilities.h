// What was learned about moving files from one device to another.
//
// A refusal is remembered per pair of devices, not for the process and not per
// file: another pair may well support what this one refused. Any thread may
// read and set the flags; they only ever go from "try" to "refused".
#pragma once

#include <sys/types.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "base/fs_kind.h"

namespace lamina::copy {

enum class Method { clone, range, link, list_xattrs };

// True when `code`, answered by `method`, says that these two devices cannot do
// it at all, so that asking again for the next file is waste.
bool is_refusal(Method method, int code);

// True when `code` says that this file cannot have it this way and the next
// method is to be tried. A refusal is one too. ENOSPC, EDQUOT, EIO and EINTR
// never are: they would only be disguised.
bool is_unsupported(Method method, int code);

struct Abilities {
  explicit Abilities(FsKind kind)
      : source_kind(kind) {}

  const FsKind source_kind;
  std::atomic<bool> no_clone{false};
  std::atomic<bool> no_range{false};
  std::atomic<bool> no_link{false};
  std::atomic<bool> no_list_xattrs{false};
  // The source was flushed once before cloning from it; see copy/width.h.
  std::atomic<bool> flushed{false};
};

// The abilities of the pairs met so far. The destination of a copy is one
// device, so the source's device is the key.
class AbilityTable {
 public:
  // The abilities for a source device, or null when it is new.
  Abilities* find(dev_t source) const;
  // Adds a source device; the first to come wins.
  Abilities* add(dev_t source, FsKind kind);

 private:
  mutable std::mutex mutex_;
  std::map<dev_t, std::unique_ptr<Abilities>> pairs_;
};

}  // namespace lamina::copy
