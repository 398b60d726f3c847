#include "copy/options.h"

#include <array>
#include <utility>

namespace lamina::copy {

namespace {

constexpr std::array<std::pair<std::string_view, Sharing>, 4> kSharing{{
    {"auto", Sharing::automatic},
    {"reflink", Sharing::reflink},
    {"hardlink", Sharing::hardlink},
    {"content", Sharing::content},
}};
constexpr std::array<std::pair<std::string_view, Xattrs>, 3> kXattrs{{
    {"all", Xattrs::all},
    {"image", Xattrs::image},
    {"none", Xattrs::none},
}};
constexpr std::array<std::pair<std::string_view, Owner>, 3> kOwner{{
    {"keep", Owner::keep},
    {"mapped", Owner::mapped},
    {"none", Owner::none},
}};

template <typename Table>
auto look_up(const Table& table, std::string_view word)
    -> std::optional<decltype(table[0].second)> {
  for (const auto& [name, value] : table) {
    if (name == word) {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Sharing> parse_sharing(std::string_view word) {
  return look_up(kSharing, word);
}

std::optional<Xattrs> parse_xattrs(std::string_view word) {
  return look_up(kXattrs, word);
}

std::optional<Owner> parse_owner(std::string_view word) {
  return look_up(kOwner, word);
}

std::string_view to_string(Sharing sharing) {
  for (const auto& [name, value] : kSharing) {
    if (value == sharing) {
      return name;
    }
  }
  return "auto";
}

}  // namespace lamina::copy
