// `lamina changes`: what differs between two trees, a line each.
#include <utility>

#include <CLI/CLI.hpp>

#include "archive/changes.h"
#include "cli/changes_request.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/print_changes.h"
#include "cli/signals.h"

namespace lamina::cli {

namespace {

constexpr const char* kAbout =
    "List what differs between two trees, as `docker diff`";

constexpr const char* kMore =
    R"(A line for each name, in the order of names: A (added), C (changed) or D
(deleted) and the path. Changed is what has another kind, mode, owner, size,
time of modification, attribute, target or content, and every directory above
something listed. A deleted directory is one line. Unusual bytes in names are
escaped; --json keeps them, in base64 where they are no UTF-8.

--whole-seconds is for a tree that came out of an image layer: most tools write
whole seconds there. A time without a fraction then equals any within its
second; contents are compared as always.

Examples:
  lamina changes base rootfs
  lamina changes --json base rootfs | jq -r '.changes[].path')";

class ChangesCommand final : public Command {
 public:
  CLI::App& declare(CLI::App& app) override {
    CLI::App& sub = *app.add_subcommand("changes", kAbout);
    declare_changes(sub, words_);
    sub.add_flag("--json", json_, "Print the changes as one JSON object");
    sub.footer(kMore);
    return sub;
  }

  std::optional<std::string> check() override {
    auto options = parse_changes(words_);
    if (!options) {
      return options.error();
    }
    options_ = std::move(*options);
    return std::nullopt;
  }

  Result<void> run() override {
    StopOnSignals signals("the list is not complete");
    options_.stop = signals.token();
    TRY_ASSIGN(OpenTrees trees, open_trees(words_));
    ChangePrinter printer(
        json_ ? ChangePrinter::As::json : ChangePrinter::As::lines, say);
    auto done =
        archive::find_changes(trees.lower, trees.upper, printer, options_);
    if (!done && done.error().subject.empty()) {
      done.error().subject = words_.upper;
    }
    // What was found before a failure is shown too.
    auto printed = done ? printer.finish() : printer.flush();
    return done ? printed : done;
  }

 private:
  ChangesWords words_;
  bool json_ = false;
  archive::ChangeOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_changes_command() {
  return std::make_unique<ChangesCommand>();
}

}  // namespace lamina::cli
