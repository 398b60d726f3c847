// All extended attributes of an inode at once, xattr(7).
//
// A free function, for any thread; the values are the caller's.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "copy/xattrs.h"

namespace lamina::copy {

// By name.
using XattrValues = std::map<std::string, std::vector<char>, std::less<>>;

// Reads the attributes that `rules` keep; ids inside values stay as they are.
// A file system that knows no attributes has none, and one that goes away
// meanwhile was never there. Errors have no subject.
Result<XattrValues> read_xattrs(Kernel& kernel, const XattrEnd& end,
                                const XattrRules& rules);

}  // namespace lamina::copy
