// What one copy has learned and has under way, shared by its workers.
//
// The counterpart of Options, which says what was asked. Members are either
// constant once the walk has begun or guard themselves.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/fs_kind.h"
#include "copy/abilities.h"
#include "copy/label.h"
#include "copy/link_tracker.h"
#include "copy/metadata.h"
#include "copy/options.h"
#include "copy/report.h"

namespace lamina::copy {

struct CopyState {
  CopyState(const Options& asked, Kernel& seam, Labeller& labels)
      : options(asked),
        kernel(seam),
        labeller(labels) {}

  const Options& options;
  Kernel& kernel;
  Labeller& labeller;

  // Set before the walk, constant in it.
  Birth birth;
  mode_t caller_umask = 0777;
  // No mount lies below the source, so that listings tell inodes.
  bool listings_trusted = false;
  dev_t source_device = 0;  // Of the source's root.
  dev_t target_device = 0;  // Of the target's root,
  ino_t target_inode = 0;   // which must not be met in the source.
  timespec started = {};

  // Guard themselves.
  AbilityTable abilities;
  LinkTracker links;
  Counters counters;

  // The abilities for a source device; `fd` is open on it.
  Result<Abilities*> abilities_for(dev_t device, const Fd& fd) {
    if (Abilities* known = abilities.find(device)) {
      return known;
    }
    TRY_ASSIGN(FsKind kind, fs_kind_of(kernel, fd, ""));
    return abilities.add(device, kind);
  }
};

}  // namespace lamina::copy
