// Compares the extended attributes of an inode with those of its copy, by the
// rules the copy was made with.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "copy/options.h"
#include "copy/xattrs.h"

namespace lamina::copy {

// What differs: "user.a is missing", "user.a differs", "user.b was not there".
// With Loss::forgiven none is missing. Attributes that a file system or a
// security module gives by itself are not held against the copy.
Result<std::vector<std::string>> compare_xattrs(Kernel& kernel,
                                                const XattrEnd& source,
                                                const XattrEnd& copy,
                                                const Options& options);

}  // namespace lamina::copy
