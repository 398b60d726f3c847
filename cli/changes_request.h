// The words of `lamina changes` and `lamina diff`, turned into options. Pure.
#pragma once

#include <string>

#include <tl/expected.hpp>

#include "archive/changes.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the parser's.
class App;
}

namespace lamina::cli {

// As they stand on the command line; an option not given is empty.
struct ChangesWords {
  std::string lower;
  std::string upper;
  std::string xattrs;
  bool whole_seconds = false;
};

// Adds what both commands take.
void declare_changes(CLI::App& sub, ChangesWords& words);

// The options of the comparison, or one escaped line that says which word is
// wrong.
tl::expected<archive::ChangeOptions, std::string> parse_changes(
    const ChangesWords& words);

// Opens both trees. Errors name the one.
struct OpenTrees {
  Fd lower;
  Fd upper;
};
Result<OpenTrees> open_trees(const ChangesWords& words);

}  // namespace lamina::cli
