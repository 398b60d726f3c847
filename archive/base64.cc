#include "archive/base64.h"

#include <array>
#include <cstdint>

namespace lamina::archive {

namespace {

constexpr uint8_t kBad = 255;
constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<uint8_t, 256> make_values() {
  std::array<uint8_t, 256> out{};
  out.fill(kBad);
  for (size_t i = 0; i < kAlphabet.size(); ++i) {
    out[static_cast<unsigned char>(kAlphabet[i])] = static_cast<uint8_t>(i);
  }
  return out;
}

constexpr std::array<uint8_t, 256> kValues = make_values();

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) {
    return std::nullopt;
  }
  size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  text.remove_suffix(padding);
  std::string out;
  out.reserve(text.size() * 3 / 4);
  uint32_t bits = 0;
  unsigned held = 0;
  for (char c : text) {
    uint8_t value = kValues[static_cast<unsigned char>(c)];
    if (value == kBad) {
      return std::nullopt;
    }
    bits = bits << 6U | value;
    held += 6;
    if (held >= 8) {
      held -= 8;
      out += static_cast<char>(bits >> held & 0xFFU);
    }
  }
  if ((bits & ((1U << held) - 1)) != 0) {
    return std::nullopt;
  }
  return out;
}

std::string encode_base64(std::string_view bytes) {
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t word = 0;
    for (size_t i = at; i < at + 3; ++i) {
      word = word << 8U |
             (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U);
    }
    for (unsigned digit = 0; digit < 4; ++digit) {
      bool used = at + digit <= bytes.size();
      out += used ? kAlphabet[word >> (18U - 6U * digit) & 63U] : '=';
    }
  }
  return out;
}

}  // namespace lamina::archive
