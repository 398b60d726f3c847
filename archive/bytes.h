// Bytes seen, not owned: the common currency of this folder.
//
// A view says nothing about how long its bytes live; whoever hands one out says
// so. Free for any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace lamina::archive {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

// The same bytes as characters. char may alias anything, so no copy is made.
inline std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline Bytes bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace lamina::archive
