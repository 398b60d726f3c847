// The words of `lamina cache`, and what they ask for.
//
// The only place where they are understood; a wrong one is refused here, as one
// escaped line that says which. Pure, but for default_cache_root.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "copy/options.h"

namespace lamina::cli {

template <typename T>
using Words = tl::expected<T, std::string>;

// "4096", "16K", "1.5G" is refused: bytes, with K, M, G or T for powers of
// 1024. `option` is what the line names.
Words<uint64_t> parse_size(const std::string& option, const std::string& word);

// "90s", "15m", "12h", "30d", "8w": seconds.
Words<int64_t> parse_age(const std::string& option, const std::string& word);

// A number of things.
Words<uint64_t> parse_count(const std::string& option, const std::string& word);

// auto, reflink or hardlink; "" is auto.
Words<copy::Sharing> parse_handing(const std::string& word);

// A request of `lamina cache get`, as given; empty where nothing was.
struct GetWords {
  std::string key;
  std::string destination;
  std::string manifest;
  std::string blobs;
  std::string mode;
};

// What is wrong with them; nullopt when nothing is.
std::optional<std::string> check_get(const GetWords& words);

// One line of `lamina cache get --batch`: an object with "key" and
// "destination" and perhaps "manifest", "blobs" and "mode"; those of bytes that
// are not UTF-8 as "key_b64" and so on. `defaults` holds where nothing is said.
Words<GetWords> parse_get_line(std::string_view line, const GetWords& defaults);

// Where the cache lies when nobody says: $LAMINA_CACHE, else lamina in
// $XDG_CACHE_HOME or $HOME/.cache, else /var/cache/lamina.
std::string default_cache_root();

}  // namespace lamina::cli
