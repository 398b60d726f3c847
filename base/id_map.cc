#include "base/id_map.h"

#include <cerrno>
#include <charconv>

namespace lamina {

namespace {

// 4294967295 is (uid_t)-1, which chown(2) takes for "leave as it is".
constexpr uint64_t kIds = 0xFFFFFFFF;

Error bad(std::string_view text, std::string_view why) {
  return make_error(EINVAL, "parse id map", text, why);
}

bool take_number(std::string_view& text, uint32_t* out) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), *out);
  if (error != std::errc{} || end == text.data()) {
    return false;
  }
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool take_char(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

bool overlap(uint32_t a, uint32_t b, uint32_t a_count, uint32_t b_count) {
  return a < uint64_t{b} + b_count && b < uint64_t{a} + a_count;
}

}  // namespace

Result<IdMap> IdMap::parse(std::string_view text) {
  IdMap map;
  std::string_view rest = text;
  do {
    IdRange range;
    if (!take_number(rest, &range.inside) || !take_char(rest, ':') ||
        !take_number(rest, &range.outside) || !take_char(rest, ':') ||
        !take_number(rest, &range.count)) {
      return fail(bad(text, "wanted INSIDE:OUTSIDE:COUNT[,...]"));
    }
    if (range.count == 0 || uint64_t{range.inside} + range.count > kIds ||
        uint64_t{range.outside} + range.count > kIds) {
      return fail(bad(text, "a range is empty or passes 4294967294"));
    }
    for (const IdRange& other : map.ranges_) {
      if (overlap(range.inside, other.inside, range.count, other.count) ||
          overlap(range.outside, other.outside, range.count, other.count)) {
        return fail(bad(text, "ranges overlap"));
      }
    }
    map.ranges_.push_back(range);
  } while (take_char(rest, ','));
  if (!rest.empty()) {
    return fail(bad(text, "wanted INSIDE:OUTSIDE:COUNT[,...]"));
  }
  return map;
}

bool IdMap::try_map(uint32_t id, uint32_t* out) const {
  if (ranges_.empty()) {
    *out = id;
    return true;
  }
  for (const IdRange& range : ranges_) {
    if (id >= range.inside && id - range.inside < range.count) {
      *out = range.outside + (id - range.inside);
      return true;
    }
  }
  return false;
}

Result<uint32_t> IdMap::map(uint32_t id, std::string_view subject) const {
  uint32_t out = 0;
  if (try_map(id, &out)) {
    return out;
  }
  return fail(make_error(
      EINVAL, "map owner", subject,
      "id " + std::to_string(id) + " is not in the map " + to_string()));
}

std::string IdMap::to_string() const {
  std::string out;
  for (const IdRange& range : ranges_) {
    out += out.empty() ? "" : ",";
    out += std::to_string(range.inside) + ":" + std::to_string(range.outside) +
           ":" + std::to_string(range.count);
  }
  return out;
}

}  // namespace lamina
