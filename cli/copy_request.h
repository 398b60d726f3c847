// The words of `lamina copy`, and what they ask for.
//
// The only place where they are understood; an unknown or contradictory one is
// refused here. Pure.
#pragma once

#include <string>

#include <tl/expected.hpp>

#include "copy/options.h"

namespace lamina::cli {

// As given; empty where nothing was.
struct CopyWords {
  std::string source;
  std::string destination;
  std::string mode;
  std::string xattrs;
  std::string owner;
  std::string uid_map;
  std::string gid_map;
  std::string label;
  std::string workers;
  bool one_file_system = false;
  bool strict = false;
  bool best_effort = false;
  bool keep_partial = false;
};

// The options of the copy, or one escaped line that says which word is wrong.
tl::expected<copy::Options, std::string> parse_copy(const CopyWords& words);

}  // namespace lamina::cli
