// Writes all of a span of bytes at an offset; any thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>

#include "base/error.h"

namespace lamina {
class Kernel;
}

namespace lamina::copy {

// pwrite(2) until all of `bytes` stand at `offset`, past short writes and
// EINTR. A write of nothing is EIO: on a regular file it never happens, and a
// file system that does it must not make us spin. The error has no subject.
Result<void> write_all(Kernel& kernel, int fd, std::span<const std::byte> bytes,
                       off_t offset);

}  // namespace lamina::copy
