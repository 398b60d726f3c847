// Where a path given by a person becomes an open directory and a name in it;
// the only place that resolves one.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace lamina {

class Kernel;

// A name in an open directory. `shown` is what messages call it.
struct NamePlace {
  Fd parent;
  std::string name;
  std::string shown;
};

// Opens an existing directory, following symlinks, as path_resolution(7).
Result<Fd> open_directory(Kernel& kernel, std::string_view path);

// Opens a file for reading, following symlinks. Does not wait for a writer of a
// fifo; what it is the caller asks. The same paths are refused.
Result<Fd> open_file(Kernel& kernel, std::string_view path);

// Splits off the last component and opens what is before it: "a/b/" -> "a",
// "b"; "b" -> ".", "b"; "/" -> "/", ".". The last component is not resolved and
// need not exist. An empty path, or one with a NUL, is refused.
Result<NamePlace> open_parent(Kernel& kernel, std::string_view path);

// True when `inner` is `outer` or lies below it, by the identity of every
// directory on the way up, so that symlinks and bind mounts do not hide it.
Result<bool> lies_within(Kernel& kernel, const Fd& inner, const Fd& outer);

// The absolute path of an open directory, from /proc/self/fd, without symlinks.
Result<std::string> path_of(Kernel& kernel, const Fd& fd);

}  // namespace lamina
