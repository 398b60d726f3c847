// Which bytes are UTF-8, RFC 3629. File names need not be.
//
// Pure functions, free for any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace lamina {

// The length of the valid sequence at the start of `s`, which is not empty; 0
// if there is none. No overlong forms, no surrogates, nothing over U+10FFFF.
size_t utf8_length(std::string_view s);

// True when all of `s` is valid.
bool is_utf8(std::string_view s);

}  // namespace lamina
