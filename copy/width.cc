#include "copy/width.h"

#include <algorithm>

namespace lamina::copy {

namespace {

struct Row {
  FsKind kind;
  unsigned width;
  bool flush_first;
};

// Measured by bench/run (the width sweep); see docs/performance.md.
constexpr Row kRows[] = {
    // Inode allocation is per block group, so two writers in different
    // directories meet seldom; the journal bounds what more would bring.
    {FsKind::ext4, 4, false},
    // Allocation groups are independent. FICLONE of a dirty file waits for its
    // write-back: 28,000 fresh files took 2,094 ms, after one syncfs 1,111 ms.
    {FsKind::xfs, 4, true},
    // Every change goes through one tree of trees: more writers mean more
    // waiting on its root than work.
    {FsKind::btrfs, 2, false},
    // No disk, only memory and one lock a directory.
    {FsKind::tmpfs, 4, false},
    // Its upper decides, and that is not to be seen; two never hurt.
    {FsKind::overlay, 2, false},
    {FsKind::other, 2, false},
};

const Row& row(FsKind kind) {
  return *std::find_if(std::begin(kRows), std::end(kRows) - 1,
                       [&](const Row& r) { return r.kind == kind; });
}

}  // namespace

unsigned best_width(FsKind target, unsigned cpus) {
  return std::clamp(row(target).width, 1U, std::max(1U, cpus));
}

bool flushes_before_cloning(FsKind kind) {
  return row(kind).flush_first;
}

}  // namespace lamina::copy
