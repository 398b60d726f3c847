// Names of a tar made clean: lexically, within the root, within limits.
//
// Pure functions, free for any thread. Nothing here looks at a file system, so
// symlinks are the applier's part.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lamina::archive {

struct NameLimits {
  // Of the clean name; Linux takes no longer path, PATH_MAX with its NUL.
  size_t path_bytes = 4095;
  // NAME_MAX of every file system a layer could come from. ".wh." in front of
  // one is not counted: a whiteout hides a name that long.
  size_t component_bytes = 255;
  size_t depth = 1024;
};

// Cleans `name`: drops empty and "." components and leading and trailing
// slashes, and resolves "..". The root is ".".
//   "./a//b/"    -> "a/b"        "/etc"  -> "etc"       "a/../b" -> "b"
//   "../a", "/../a", "a/../../b" -> refused, they leave the root
// The answer is a slice of `name` where that is possible, else of `scratch`,
// which is overwritten.
Result<std::string_view> clean_name(std::string_view name,
                                    const NameLimits& limits,
                                    std::string& scratch);

}  // namespace lamina::archive
