#include "cli/copy_request.h"

#include <charconv>

#include "base/error.h"

namespace lamina::cli {

namespace {

using Wrong = tl::unexpected<std::string>;

Wrong wrong_word(std::string_view option, std::string_view word,
                 std::string_view known) {
  return Wrong(std::string(option) + " '" + escape_name(word) +
               "': it is one of " + std::string(known));
}

// What cannot be wanted together.
std::string contradiction(const CopyWords& words,
                          const copy::Options& options) {
  if (words.source.empty() || words.destination.empty()) {
    return "SRC and DST must not be empty";
  }
  if (words.strict && words.best_effort) {
    return "--strict and --best-effort contradict each other";
  }
  bool maps = !words.uid_map.empty() || !words.gid_map.empty();
  if (options.owner == copy::Owner::mapped && !maps) {
    return "--owner mapped needs --uid-map, --gid-map or both";
  }
  if (options.owner != copy::Owner::mapped && maps) {
    return "--uid-map and --gid-map mean --owner mapped, not --owner " +
           words.owner;
  }
  if (options.sharing == copy::Sharing::hardlink && maps) {
    return "--mode hardlink shares owners with SRC, so none can be mapped";
  }
  if (options.sharing == copy::Sharing::hardlink && options.label) {
    return "--mode hardlink shares labels with SRC, so none can be given";
  }
  return "";
}

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

}  // namespace

tl::expected<unsigned, std::string> parse_workers(const std::string& word) {
  if (word.empty()) {
    return 0U;
  }
  unsigned number = 0;
  const char* end = word.data() + word.size();
  auto [stop, code] = std::from_chars(word.data(), end, number);
  if (code != std::errc() || stop != end || number < 1 ||
      number > kMostWorkers) {
    return Wrong("--workers '" + escape_name(word) +
                 "': it is a number from 1 to " + std::to_string(kMostWorkers));
  }
  return number;
}

tl::expected<copy::Options, std::string> parse_copy(const CopyWords& words) {
  copy::Options options;
  bool maps = !words.uid_map.empty() || !words.gid_map.empty();
  if (!words.mode.empty()) {
    auto sharing = copy::parse_sharing(words.mode);
    if (!sharing) {
      return wrong_word("--mode", words.mode,
                        "auto, reflink, hardlink, content");
    }
    options.sharing = *sharing;
  }
  if (!words.xattrs.empty()) {
    auto xattrs = copy::parse_xattrs(words.xattrs);
    if (!xattrs) {
      return wrong_word("--xattrs", words.xattrs, "all, image, none");
    }
    options.xattrs = *xattrs;
  }
  options.owner = maps ? copy::Owner::mapped : copy::Owner::keep;
  if (!words.owner.empty()) {
    auto owner = copy::parse_owner(words.owner);
    if (!owner) {
      return wrong_word("--owner", words.owner, "keep, mapped, none");
    }
    options.owner = *owner;
  }
  auto uid_map = parse_map("--uid-map", words.uid_map);
  auto gid_map = parse_map("--gid-map", words.gid_map);
  auto workers = parse_workers(words.workers);
  if (!uid_map || !gid_map || !workers) {
    return Wrong(!uid_map   ? uid_map.error()
                 : !gid_map ? gid_map.error()
                            : workers.error());
  }
  options.uid_map = *uid_map;
  options.gid_map = *gid_map;
  options.workers = *workers;
  if (!words.label.empty()) {
    options.label = words.label;
  }
  using namespace copy;
  options.strictness =
      words.strict ? Strictness::strict : Strictness::fall_back;
  options.loss = words.best_effort ? Loss::forgiven : Loss::refused;
  options.crossing =
      words.one_file_system ? Crossing::forbidden : Crossing::allowed;
  options.leftovers = words.keep_partial ? Leftovers::kept : Leftovers::removed;
  if (std::string why = contradiction(words, options); !why.empty()) {
    return Wrong(std::move(why));
  }
  return options;
}

}  // namespace lamina::cli
