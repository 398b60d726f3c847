// The words of `lamina apply` and `lamina unpack`, and what they ask for.
//
// The only place where they are understood; an unknown or contradictory one is
// refused here. Pure.
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "archive/apply.h"

namespace lamina::cli {

// As given; empty where nothing was. What `unpack` does not take stays empty.
struct ApplyWords {
  std::string layer;
  std::string root;
  std::string whiteouts;
  std::string expect_diff_id;
  std::string expect_digest;
  std::string uid_map;
  std::string gid_map;
  std::string owner;
  std::string xattrs;
  std::string strip;
  std::string max_size;
  std::string max_entries;
  std::string max_ratio;
  std::string max_window;
  std::string workers;
  std::vector<std::string> lower;
  bool best_effort = false;
  bool keep_partial = false;
};

// The options of the apply, or one escaped line that says which word is wrong.
// Lower layers are opened by the command.
tl::expected<archive::ApplyOptions, std::string> parse_apply(
    const ApplyWords& words);

}  // namespace lamina::cli
