#include "cli/apply_request.h"

#include <bit>
#include <limits>
#include <utility>

#include "cli/words.h"

namespace lamina::cli {

namespace {

using archive::ApplyOptions;
using archive::Digest;
using archive::Whiteouts;

// More components than a name can have are none of them.
constexpr unsigned kMostStripped = 1024;
constexpr int kWindowLogLeast = 10;

std::optional<std::string> read_whiteouts(const std::string& word,
                                          Whiteouts* to) {
  if (word == "remove" || word.empty()) {
    *to = Whiteouts::remove;
  } else if (word == "overlay") {
    *to = Whiteouts::overlay;
  } else if (word == "keep") {
    *to = Whiteouts::keep;
  } else if (word == "none") {
    *to = Whiteouts::none;
  } else {
    return wrong_word("--whiteouts", word, "remove, overlay, keep, none")
        .value();
  }
  return std::nullopt;
}

std::optional<std::string> read_digest(std::string_view option,
                                       const std::string& word,
                                       std::optional<Digest>* to) {
  if (word.empty()) {
    return std::nullopt;
  }
  auto digest = Digest::parse(word);
  if (!digest) {
    return std::string(option) + " '" + escape_name(word) + "': it is " +
           "sha256: and 64 lower-case hexadecimal digits";
  }
  *to = *digest;
  return std::nullopt;
}

// Takes a parsed number over, or says what is wrong with it.
template <typename From, typename To>
std::optional<std::string> take(tl::expected<From, std::string> parsed,
                                To* to) {
  if (!parsed) {
    return parsed.error();
  }
  *to = static_cast<To>(std::move(*parsed));
  return std::nullopt;
}

std::optional<std::string> read_window(const std::string& word, int* log) {
  if (word.empty()) {
    return std::nullopt;
  }
  auto size = parse_size("--max-window", word, 0);
  if (!size) {
    return size.error();
  }
  int power = static_cast<int>(std::bit_width(*size)) - 1;
  if (!std::has_single_bit(*size) || power < kWindowLogLeast ||
      power > archive::kWindowLogMost) {
    return "--max-window '" + escape_name(word) +
           "': it is a power of two from 1K to 2G";
  }
  *log = power;
  return std::nullopt;
}

std::optional<std::string> read_limits(const ApplyWords& words,
                                       ApplyOptions* to) {
  constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();
  if (auto wrong = take(parse_size("--max-size", words.max_size, kAll),
                        &to->max_bytes)) {
    return wrong;
  }
  NumberRange any{.none = kAll, .least = 1};
  if (auto wrong = take(parse_number("--max-entries", words.max_entries, any),
                        &to->max_entries)) {
    return wrong;
  }
  if (auto wrong = take(parse_number("--max-ratio", words.max_ratio, any),
                        &to->max_ratio)) {
    return wrong;
  }
  return read_window(words.max_window, &to->window_log);
}

std::optional<std::string> read_attributes(const ApplyWords& words,
                                           ApplyOptions* to) {
  auto owners = parse_owners({words.owner, words.uid_map, words.gid_map});
  if (!owners) {
    return owners.error();
  }
  to->owner = owners->owner;
  to->uid_map = std::move(owners->uid_map);
  to->gid_map = std::move(owners->gid_map);
  return take(parse_xattrs_word(words.xattrs, copy::Xattrs::image),
              &to->xattrs);
}

std::optional<std::string> read_words(const ApplyWords& words,
                                      ApplyOptions* to) {
  if (words.layer.empty() || words.root.empty()) {
    return "what to apply and ROOT must not be empty";
  }
  if (auto wrong = read_whiteouts(words.whiteouts, &to->whiteouts)) {
    return wrong;
  }
  if (auto wrong = read_digest("--expect-diff-id", words.expect_diff_id,
                               &to->expect_diff_id)) {
    return wrong;
  }
  if (auto wrong = read_digest("--expect-digest", words.expect_digest,
                               &to->expect_digest)) {
    return wrong;
  }
  if (auto wrong = read_attributes(words, to)) {
    return wrong;
  }
  if (auto wrong =
          take(parse_number("--strip", words.strip, {.most = kMostStripped}),
               &to->strip)) {
    return wrong;
  }
  if (auto wrong = take(parse_workers(words.workers), &to->workers)) {
    return wrong;
  }
  return read_limits(words, to);
}

}  // namespace

tl::expected<ApplyOptions, std::string> parse_apply(const ApplyWords& words) {
  ApplyOptions options;
  if (auto wrong = read_words(words, &options)) {
    return Wrong(std::move(*wrong));
  }
  if (!words.lower.empty() && options.whiteouts == Whiteouts::remove) {
    return Wrong("--lower goes with --whiteouts overlay, keep or none");
  }
  options.loss = words.best_effort ? copy::Loss::forgiven : copy::Loss::refused;
  options.leftovers =
      words.keep_partial ? copy::Leftovers::kept : copy::Leftovers::removed;
  return options;
}

}  // namespace lamina::cli
