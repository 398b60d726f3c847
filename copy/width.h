// How many threads write to a file system at once, and what else only
// measuring tells of it.
//
// One table, one row a file system, the reason beside it. Pure; any thread.
#pragma once

#include "base/fs_kind.h"

namespace lamina::copy {

// The number of writers that was measured best for `target`, at least 1 and at
// most `cpus`.
unsigned best_width(FsKind target, unsigned cpus);

// True where cloning a just-written file makes the file system flush it alone,
// so that flushing everything once first is cheaper.
bool flushes_before_cloning(FsKind kind);

}  // namespace lamina::copy
