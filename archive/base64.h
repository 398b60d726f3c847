// Base64, RFC 4648 section 4, strictly. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lamina::archive {

// The bytes that `text` stands for; nothing unless it is exactly what an
// encoder gives: padded, without white space, unused bits zero.
std::optional<std::string> decode_base64(std::string_view text);

// The text that stands for `bytes`, padded.
std::string encode_base64(std::string_view bytes);

}  // namespace lamina::archive
