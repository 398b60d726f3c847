// What one batch has under way, shared by its workers.
//
// Members are constant once files are written, or guard themselves, or have one
// slot an entry that only the entry's writer touches.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "base/kernel.h"
#include "copy/abilities.h"
#include "copy/batch_dirs.h"
#include "copy/batch_plan.h"
#include "copy/lowest_failure.h"
#include "copy/report.h"
#include "copy/write_batch.h"

namespace lamina::copy {

// A file to be written: which entry, in which directory.
struct BatchJob {
  uint32_t entry = 0;
  const BatchDir* dir = nullptr;
};

struct BatchState {
  BatchState(std::span<const BatchEntry> list, BatchPlan planned,
             const BatchOptions& asked, Kernel& seam, mode_t caller_umask)
      : entries(list),
        options(asked),
        kernel(seam),
        umask(caller_umask),
        plan(std::move(planned)),
        dirs(seam, caller_umask),
        written(list.size(), 0) {}

  const std::span<const BatchEntry> entries;
  const BatchOptions& options;
  Kernel& kernel;
  const mode_t umask;  // The calling thread's.

  BatchPlan plan;  // superseded_by: a slot an entry.
  BatchDirs dirs;
  std::vector<uint8_t> written;  // A slot an entry.
  LowestFailure failure;
  AbilityTable abilities;

  // Adds what one thread counted, and empties it.
  void add(BatchReport& tally) {
    std::lock_guard lock(mutex_);
    sum_.files += tally.files;
    sum_.replaced += tally.replaced;
    sum_.bytes += tally.bytes;
    sum_.reflinked += tally.reflinked;
    sum_.copied_by_range += tally.copied_by_range;
    sum_.copied_by_read_write += tally.copied_by_read_write;
    tally = {};
  }
  BatchReport sum() const {
    std::lock_guard lock(mutex_);
    return sum_;
  }

 private:
  mutable std::mutex mutex_;
  BatchReport sum_;
};

}  // namespace lamina::copy
