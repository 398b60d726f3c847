#include "cli/changes_request.h"

#include <CLI/CLI.hpp>

#include "base/kernel.h"
#include "base/path.h"
#include "cli/words.h"

namespace lamina::cli {

void declare_changes(CLI::App& sub, ChangesWords& words) {
  sub.add_option("LOWER", words.lower, "The tree as it was; may be empty")
      ->required()
      ->type_name("");
  sub.add_option("UPPER", words.upper, "The tree as it is")
      ->required()
      ->type_name("");
  sub.add_option("--xattrs", words.xattrs,
                 "Extended attributes: image (default), all, none")
      ->type_name("WHICH");
  sub.add_flag("--whole-seconds", words.whole_seconds,
               "A time may have lost its fraction of a second");
}

tl::expected<archive::ChangeOptions, std::string> parse_changes(
    const ChangesWords& words) {
  archive::ChangeOptions options;
  if (words.lower.empty() || words.upper.empty()) {
    return tl::unexpected<std::string>(
        (words.lower.empty() ? "LOWER" : "UPPER") +
        std::string(" must not be empty"));
  }
  auto xattrs = parse_xattrs_word(words.xattrs, copy::Xattrs::image);
  if (!xattrs) {
    return tl::unexpected<std::string>(xattrs.error());
  }
  options.xattrs = *xattrs;
  if (words.whole_seconds) {
    options.times = archive::Times::whole_seconds;
  }
  return options;
}

Result<OpenTrees> open_trees(const ChangesWords& words) {
  TRY_ASSIGN(Fd lower, open_directory(real_kernel(), words.lower));
  TRY_ASSIGN(Fd upper, open_directory(real_kernel(), words.upper));
  return OpenTrees{std::move(lower), std::move(upper)};
}

}  // namespace lamina::cli
