// `lamina apply`: one layer put on disk, with progress, and reported.
#include <unistd.h>

#include <utility>

#include <CLI/CLI.hpp>

#include "base/kernel.h"
#include "base/path.h"
#include "cli/apply_report.h"
#include "cli/apply_request.h"
#include "cli/command.h"
#include "cli/layer_work.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/signals.h"

namespace lamina::cli {

namespace {

constexpr const char* kAbout = "Apply the layer tarball LAYER to the tree ROOT";

constexpr const char* kMore =
    R"(LAYER is a tar, plain or packed with gzip or zstd; `-` is standard input. ROOT
is made if it is not there. Nothing outside ROOT is touched, whatever LAYER
holds. What is malformed is an error. A failed apply, or one that is stopped
(Ctrl-C), removes what it made; in a ROOT that held something it says how many
entries were applied, and leaves them.

Whiteouts, what becomes of the ".wh." names of a layer:
  remove   what they hide is removed from ROOT (the default)
  overlay  they become marks of overlayfs: ROOT is an upper directory
  keep     they stay as files
  none     they are names like others: LAYER is no layer

Examples:
  lamina apply layer.tar.gz rootfs
      Adds the layer to rootfs, and removes what it hides.
  curl https://example.org/layer | lamina apply --expect-digest sha256:... - new
      From a pipe; what does not have the digest leaves nothing.
  lamina apply --whiteouts overlay --lower base layer.tar upper
      The layer by itself, to be mounted above base.
  lamina apply --whiteouts none --strip 1 --owner none package.tgz package
      A source or npm package, as an ordinary user.)";

class ApplyCommand final : public Command {
 public:
  CLI::App& declare(CLI::App& app) override;
  std::optional<std::string> check() override;
  Result<void> run() override;

 private:
  Result<archive::ApplyReport> apply(StopOnSignals& signals);

  ApplyWords words_;
  bool json_ = false;
  archive::ApplyOptions options_;
};

CLI::App& ApplyCommand::declare(CLI::App& app) {
  CLI::App& sub = *app.add_subcommand("apply", kAbout);
  sub.add_option("LAYER", words_.layer, "The layer, or - for standard input")
      ->required()
      ->type_name("");
  sub.add_option("ROOT", words_.root, "The tree to apply it to")
      ->required()
      ->type_name("");
  auto word = [&sub](const char* name, std::string& to, const char* type,
                     const char* about) {
    sub.add_option(name, to, about)->type_name(type);
  };
  word("--whiteouts", words_.whiteouts, "FORM",
       "remove, overlay, keep or none: see below");
  sub.add_option("--lower", words_.lower,
                 "A layer below, for links into it; the lowest first")
      ->type_name("DIR")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  word("--expect-diff-id", words_.expect_diff_id, "DIGEST",
       "The digest that LAYER must have when unpacked");
  word("--expect-digest", words_.expect_digest, "DIGEST",
       "The digest that LAYER must have as it comes");
  word("--strip", words_.strip, "N", "Leave out N leading parts of each name");
  declare_layer_options(sub, words_);
  sub.add_flag("--json", json_, "Print the report as one JSON object");
  sub.footer(kMore);
  return sub;
}

std::optional<std::string> ApplyCommand::check() {
  auto options = parse_apply(words_);
  if (!options) {
    return options.error();
  }
  options_ = std::move(*options);
  if (words_.layer == "-" && ::isatty(STDIN_FILENO) == 1) {
    return "LAYER is standard input, and that is a terminal";
  }
  return std::nullopt;
}

Result<archive::ApplyReport> ApplyCommand::apply(StopOnSignals& signals) {
  Kernel& kernel = real_kernel();
  const std::string shown =
      words_.layer == "-" ? "standard input" : words_.layer;
  TRY_ASSIGN(Fd blob, open_blob(words_.layer));
  TRY_ASSIGN(NamePlace root, open_parent(kernel, words_.root));
  for (const std::string& layer : words_.lower) {
    TRY_ASSIGN(Fd lower, open_directory(kernel, layer));
    options_.lower.push_back(std::make_shared<const Fd>(std::move(lower)));
  }
  archive::FdSource source(kernel, blob, shown);
  copy::Progress progress;
  options_.stop = signals.token();
  options_.bytes_in = &progress.bytes;
  ProgressBar bar(
      "applying", progress,
      [total = bytes_left(blob)](const std::stop_token&) { return total; },
      Measure::bytes);
  auto report = archive::apply_layer(source, root, options_);
  options_.bytes_in = nullptr;
  if (!report) {
    Error error =
        explain_stop(std::move(report.error()), "apply", words_.root, signals);
    if (error.subject.empty()) {
      error.subject = shown;
    }
    return fail(std::move(error));
  }
  return report;
}

Result<void> ApplyCommand::run() {
  StopOnSignals signals("what was made is left in '" +
                        escape_name(words_.root) + "'");
  TRY_ASSIGN(archive::ApplyReport report, apply(signals));
  return say(json_ ? apply_report_json(report) : apply_report_text(report));
}

}  // namespace

std::unique_ptr<Command> make_apply_command() {
  return std::make_unique<ApplyCommand>();
}

}  // namespace lamina::cli
