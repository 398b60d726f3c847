// Opens what is only to be looked at.
//
// A free function, for any thread.
#pragma once

#include "base/error.h"
#include "base/fd.h"

namespace lamina {
class Kernel;
}

namespace lamina::copy {

// Opens `name` in `dir` for reading, without following a symlink, without
// waiting (for a fifo's other end), and without touching the time of access
// where that is allowed. "." opens a directory once more, with an offset of its
// own. `flags` are added. Errors have no subject.
Result<Fd> open_quietly(Kernel& kernel, int dir, const char* name,
                        int flags = 0);

}  // namespace lamina::copy
