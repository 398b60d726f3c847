#include "cli/words.h"

#include <charconv>

#include "base/error.h"

namespace lamina::cli {

namespace {

tl::expected<IdMap, std::string> parse_map(std::string_view option,
                                           const std::string& word) {
  if (word.empty()) {
    return IdMap();
  }
  auto map = IdMap::parse(word);
  if (!map) {
    return Wrong(std::string(option) + ": " + map.error().message());
  }
  return *map;
}

// Digits alone; false for anything else, and for what does not fit.
bool read_digits(std::string_view word, uint64_t* number) {
  const char* end = word.data() + word.size();
  auto [stop, code] = std::from_chars(word.data(), end, *number);
  return code == std::errc() && stop == end;
}

}  // namespace

Wrong wrong_word(std::string_view option, std::string_view word,
                 std::string_view known) {
  return Wrong(std::string(option) + " '" + escape_name(word) +
               "': it is one of " + std::string(known));
}

tl::expected<uint64_t, std::string> parse_number(std::string_view option,
                                                 std::string_view word,
                                                 const NumberRange& range) {
  if (word.empty()) {
    return range.none;
  }
  uint64_t number = 0;
  if (!read_digits(word, &number) || number < range.least ||
      number > range.most) {
    return Wrong(std::string(option) + " '" + escape_name(word) +
                 "': it is a number from " + std::to_string(range.least) +
                 (range.most == UINT64_MAX
                      ? " up"
                      : " to " + std::to_string(range.most)));
  }
  return number;
}

tl::expected<unsigned, std::string> parse_workers(const std::string& word) {
  auto number = parse_number("--workers", word,
                             {.none = 0, .least = 1, .most = kMostWorkers});
  if (!number) {
    return Wrong(number.error());
  }
  return static_cast<unsigned>(*number);
}

tl::expected<uint64_t, std::string> parse_size(std::string_view option,
                                               std::string_view word,
                                               uint64_t none) {
  constexpr std::string_view kUnits = "KMGT";
  if (word.empty()) {
    return none;
  }
  std::string_view digits = word;
  unsigned shift = 0;
  if (size_t unit = kUnits.find(word.back()); unit != std::string_view::npos) {
    digits.remove_suffix(1);
    shift = 10 * (static_cast<unsigned>(unit) + 1);
  }
  uint64_t number = 0;
  if (!read_digits(digits, &number) || number == 0 ||
      number > UINT64_MAX >> shift) {
    return Wrong(std::string(option) + " '" + escape_name(word) +
                 "': it is a number of bytes, as in 4096, 64K, 2M, 10G, 1T");
  }
  return number << shift;
}

tl::expected<Owners, std::string> parse_owners(const OwnerWords& words) {
  Owners out;
  bool maps = !words.uid_map.empty() || !words.gid_map.empty();
  out.owner = maps ? copy::Owner::mapped : copy::Owner::keep;
  if (!words.owner.empty()) {
    auto owner = copy::parse_owner(words.owner);
    if (!owner) {
      return wrong_word("--owner", words.owner, "keep, mapped, none");
    }
    out.owner = *owner;
  }
  auto uid_map = parse_map("--uid-map", words.uid_map);
  auto gid_map = parse_map("--gid-map", words.gid_map);
  if (!uid_map || !gid_map) {
    return Wrong(!uid_map ? uid_map.error() : gid_map.error());
  }
  if (out.owner == copy::Owner::mapped && !maps) {
    return Wrong("--owner mapped needs --uid-map, --gid-map or both");
  }
  if (out.owner != copy::Owner::mapped && maps) {
    return Wrong("--uid-map and --gid-map mean --owner mapped, not --owner " +
                 words.owner);
  }
  out.uid_map = std::move(*uid_map);
  out.gid_map = std::move(*gid_map);
  return out;
}

tl::expected<copy::Xattrs, std::string> parse_xattrs_word(
    const std::string& word, copy::Xattrs usual) {
  if (word.empty()) {
    return usual;
  }
  auto xattrs = copy::parse_xattrs(word);
  if (!xattrs) {
    return wrong_word("--xattrs", word, "all, image, none");
  }
  return *xattrs;
}

}  // namespace lamina::cli
