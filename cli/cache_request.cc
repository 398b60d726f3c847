#include "cli/cache_request.h"

#include <charconv>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "archive/base64.h"
#include "base/error.h"

namespace lamina::cli {

namespace {

using Json = nlohmann::json;

tl::unexpected<std::string> refuse(const std::string& option,
                                   const std::string& what,
                                   const std::string& word) {
  return tl::unexpected(option + " must be " + what + ", not '" +
                        escape_name(word) + "'");
}

// The leading digits of a word and what follows them.
bool split_number(std::string_view word, uint64_t* number,
                  std::string_view* rest) {
  auto [end, error] =
      std::from_chars(word.data(), word.data() + word.size(), *number);
  *rest = word.substr(static_cast<size_t>(end - word.data()));
  return error == std::errc() && end != word.data();
}

// A word under `name`, or in base64 under `name`_b64, if either is there.
std::optional<std::string> take_word(const Json& object,
                                     const std::string& name, std::string* to) {
  auto plain = object.find(name);
  auto coded = object.find(name + "_b64");
  if (plain != object.end() && coded != object.end()) {
    return name + " is given twice";
  }
  if (plain == object.end() && coded == object.end()) {
    return std::nullopt;
  }
  const Json& value = plain != object.end() ? *plain : *coded;
  if (!value.is_string()) {
    return name + " is not a string";
  }
  *to = value.get<std::string>();
  if (coded != object.end()) {
    auto bytes = archive::decode_base64(*to);
    if (!bytes) {
      return name + "_b64 is not base64";
    }
    *to = *bytes;
  }
  return std::nullopt;
}

std::string variable(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the program sets no variables.
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

Words<uint64_t> parse_size(const std::string& option, const std::string& word) {
  constexpr const char* kWhat = "a size such as 500M or 10G";
  uint64_t number = 0;
  std::string_view unit;
  if (!split_number(word, &number, &unit)) {
    return refuse(option, kWhat, word);
  }
  constexpr std::string_view kUnits = "KMGT";
  unsigned shift = 0;
  if (!unit.empty()) {
    size_t at = kUnits.find(unit[0]);
    if (unit.size() != 1 || at == std::string_view::npos) {
      return refuse(option, kWhat, word);
    }
    shift = 10 * (static_cast<unsigned>(at) + 1);
  }
  if (number > (uint64_t{INT64_MAX} >> shift)) {
    return refuse(option, kWhat, word);
  }
  return number << shift;
}

Words<int64_t> parse_age(const std::string& option, const std::string& word) {
  constexpr const char* kWhat = "a time such as 90s, 15m, 12h, 30d or 8w";
  uint64_t number = 0;
  std::string_view unit;
  uint64_t seconds = 0;
  if (split_number(word, &number, &unit) && unit.size() == 1) {
    seconds = unit == "s"   ? 1
              : unit == "m" ? 60
              : unit == "h" ? 3600
              : unit == "d" ? 86'400
              : unit == "w" ? 604'800
                            : 0;
  }
  // So that it can be told in nanoseconds.
  constexpr uint64_t kMost = uint64_t{INT64_MAX} / 1'000'000'000;
  if (seconds == 0 || number > kMost / seconds) {
    return refuse(option, kWhat, word);
  }
  return static_cast<int64_t>(number * seconds);
}

Words<uint64_t> parse_count(const std::string& option,
                            const std::string& word) {
  uint64_t number = 0;
  std::string_view rest;
  if (!split_number(word, &number, &rest) || !rest.empty()) {
    return refuse(option, "a number", word);
  }
  return number;
}

Words<copy::Sharing> parse_handing(const std::string& word) {
  auto sharing =
      word.empty() ? copy::Sharing::automatic : copy::parse_sharing(word);
  if (!sharing || *sharing == copy::Sharing::content) {
    return refuse("--mode", "auto, reflink or hardlink", word);
  }
  return *sharing;
}

std::optional<std::string> check_get(const GetWords& words) {
  if (words.key.empty()) {
    return "KEY must not be empty";
  }
  if (words.destination.empty()) {
    return "DEST must not be empty";
  }
  if (!words.blobs.empty() && words.manifest.empty()) {
    return "--blobs needs --manifest, which says what is made of them";
  }
  auto sharing = parse_handing(words.mode);
  return sharing ? std::nullopt : std::optional(sharing.error());
}

Words<GetWords> parse_get_line(std::string_view line,
                               const GetWords& defaults) {
  // A request is flat; whatever is deeper is not kept, and refused below.
  Json json = Json::parse(
      line.begin(), line.end(),
      [](int depth, Json::parse_event_t, Json&) { return depth <= 2; }, false);
  if (json.is_discarded() || !json.is_object()) {
    return tl::unexpected(std::string("the line is not a JSON object"));
  }
  GetWords out = defaults;
  const std::pair<const char*, std::string*> words[] = {
      {"key", &out.key},           {"destination", &out.destination},
      {"manifest", &out.manifest}, {"blobs", &out.blobs},
      {"mode", &out.mode},
  };
  size_t known = 0;
  for (const auto& [name, to] : words) {
    if (auto wrong = take_word(json, name, to)) {
      return tl::unexpected(*wrong);
    }
    known += json.count(name) + json.count(std::string(name) + "_b64");
  }
  if (known != json.size()) {
    return tl::unexpected(std::string(
        "the line has keys that are none of key, destination, manifest, "
        "blobs, mode"));
  }
  // Without a manifest nothing is built.
  if (out.manifest.empty() &&
      json.count("blobs") + json.count("blobs_b64") == 0) {
    out.blobs.clear();
  }
  if (auto wrong = check_get(out)) {
    return tl::unexpected(*wrong);
  }
  return out;
}

std::string default_cache_root() {
  if (std::string given = variable("LAMINA_CACHE"); !given.empty()) {
    return given;
  }
  if (std::string base = variable("XDG_CACHE_HOME"); !base.empty()) {
    return base + "/lamina";
  }
  if (std::string home = variable("HOME"); !home.empty()) {
    return home + "/.cache/lamina";
  }
  return "/var/cache/lamina";
}

}  // namespace lamina::cli
