#include "cli/copy_request.h"

#include <utility>

#include "cli/words.h"

namespace lamina::cli {

namespace {

// What cannot be wanted together.
std::string contradiction(const CopyWords& words,
                          const copy::Options& options) {
  if (words.source.empty() || words.destination.empty()) {
    return "SRC and DST must not be empty";
  }
  if (words.strict && words.best_effort) {
    return "--strict and --best-effort contradict each other";
  }
  bool maps = options.owner == copy::Owner::mapped;
  if (options.sharing == copy::Sharing::hardlink && maps) {
    return "--mode hardlink shares owners with SRC, so none can be mapped";
  }
  if (options.sharing == copy::Sharing::hardlink && options.label) {
    return "--mode hardlink shares labels with SRC, so none can be given";
  }
  return "";
}

}  // namespace

tl::expected<copy::Options, std::string> parse_copy(const CopyWords& words) {
  copy::Options options;
  if (!words.mode.empty()) {
    auto sharing = copy::parse_sharing(words.mode);
    if (!sharing) {
      return wrong_word("--mode", words.mode,
                        "auto, reflink, hardlink, content");
    }
    options.sharing = *sharing;
  }
  auto xattrs = parse_xattrs_word(words.xattrs, copy::Xattrs::all);
  auto owners = parse_owners({words.owner, words.uid_map, words.gid_map});
  auto workers = parse_workers(words.workers);
  if (!xattrs || !owners || !workers) {
    return Wrong(!xattrs   ? xattrs.error()
                 : !owners ? owners.error()
                           : workers.error());
  }
  options.xattrs = *xattrs;
  options.owner = owners->owner;
  options.uid_map = std::move(owners->uid_map);
  options.gid_map = std::move(owners->gid_map);
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
