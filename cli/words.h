// Words that more than one command takes: numbers, sizes, owners.
//
// Each is understood here alone. Every refusal is one escaped line that names
// the option. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "base/id_map.h"
#include "copy/options.h"

namespace lamina::cli {

using Wrong = tl::unexpected<std::string>;

// "--mode 'x': it is one of a, b".
Wrong wrong_word(std::string_view option, std::string_view word,
                 std::string_view known);

// What a number of workers may be at most.
inline constexpr unsigned kMostWorkers = 1024;

// A number of workers, 1 to kMostWorkers; "" is 0, the measured best.
tl::expected<unsigned, std::string> parse_workers(const std::string& word);

// A number from `least` up; "" is `none`.
struct NumberRange {
  uint64_t none = 0;
  uint64_t least = 0;
  uint64_t most = UINT64_MAX;
};
tl::expected<uint64_t, std::string> parse_number(std::string_view option,
                                                 std::string_view word,
                                                 const NumberRange& range);

// A number of bytes from 1 up, "4096", "64K", "2M", "10G", "1T" (powers of
// 1024); "" is `none`.
tl::expected<uint64_t, std::string> parse_size(std::string_view option,
                                               std::string_view word,
                                               uint64_t none);

// Whose new inodes are.
struct OwnerWords {
  std::string owner;
  std::string uid_map;
  std::string gid_map;
};
struct Owners {
  copy::Owner owner = copy::Owner::keep;
  IdMap uid_map;
  IdMap gid_map;
};
// A map alone means Owner::mapped; what contradicts itself is refused.
tl::expected<Owners, std::string> parse_owners(const OwnerWords& words);

// all, image or none; "" is `usual`.
tl::expected<copy::Xattrs, std::string> parse_xattrs_word(
    const std::string& word, copy::Xattrs usual);

}  // namespace lamina::cli
