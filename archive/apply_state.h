// What one apply has under way, shared by the thread that reads and those that
// write.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "archive/apply.h"
#include "archive/entry_attributes.h"
#include "archive/tar_entry.h"
#include "base/kernel.h"
#include "copy/lowest_failure.h"
#include "copy/metadata.h"

namespace lamina::archive {

// The first error in the archive's order. Any thread.
class FirstFailure {
 public:
  // True when the entry `ordinal` is still to be worked on.
  bool wants(uint64_t ordinal) const { return lowest_.wants(ordinal); }
  bool any() const { return lowest_.any(); }
  // Notes the error of an entry; where a resource ran out the earliest seen is
  // kept and all work ends.
  void note(uint64_t ordinal, Error error);
  std::optional<Error> get() const;

 private:
  copy::LowestFailure lowest_;
};

struct ApplyState {
  ApplyState(const ApplyOptions& asked, Kernel& seam);

  const ApplyOptions& options;
  Kernel& kernel;
  copy::Options metadata;  // What of the options concerns an inode's metadata.
  copy::Birth birth;
  copy::Birth unknown_birth;  // Below a directory that gives its group away.
  mode_t umask = 0;
  copy::XattrRules rules;
  FirstFailure failure;
  copy::Counters counters;
  std::atomic<uint64_t> dropped_xattrs{0};
};

// What an entry's inode should have.
Result<copy::Wanted> wanted_of(const copy::MetadataWriter& writer,
                               const TarEntry& entry);

// Owner, mode, attributes and times of an entry, on an inode just made.
// `inherits`: its directory gave it a group or an ACL.
Result<void> finish_inode(ApplyState& state, copy::MetadataWriter& writer,
                          const copy::InodeEnd& target, const TarEntry& entry,
                          mode_t born_mode);

}  // namespace lamina::archive
