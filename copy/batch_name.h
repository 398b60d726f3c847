// The name of an output of a batch: checked and cleaned, as text alone. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace lamina::copy {

// Brings a name that is relative to a batch's root into the one form that names
// of the same file share: components with single slashes between them, no ".",
// no "..". ".." takes back the component before it, whatever that is on disk:
//
//   "a/../b" -> "b"      "./x" -> "x"      "a//b" -> "a/b"
//
// Refused are an empty name, one with a NUL, an absolute one, a component over
// 255 bytes, ".." that leaves the root, and what names a directory: "", ".",
// "a/", "a/.", "a/..". Errors have no subject.
//
// The answer is a view of `path` where that is clean already, else of
// `storage`.
Result<std::string_view> clean_batch_name(std::string_view path,
                                          std::string& storage);

}  // namespace lamina::copy
