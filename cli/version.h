// The version this program was built as.
#pragma once

#include <string_view>

namespace lamina::cli {

// "0.1.0", from the file VERSION.
std::string_view version();

}  // namespace lamina::cli
