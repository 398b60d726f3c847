// `lamina diff`: the difference of two trees as a layer tarball.
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <CLI/CLI.hpp>

#include "archive/diff.h"
#include "base/kernel.h"
#include "cli/changes_request.h"
#include "cli/command.h"
#include "cli/diff_report.h"
#include "cli/output.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/signals.h"

namespace lamina::cli {

namespace {

constexpr const char* kAbout =
    "Write the difference of two trees as a layer tarball";

constexpr const char* kMore =
    R"(Applied to a copy of LOWER, the layer gives UPPER. The same trees give the same
bytes. An empty LOWER gives all of UPPER; equal trees give an empty layer, 1024
zero bytes. Names of one inode stay hard links, what is gone is a whiteout
(.wh.NAME), sockets are left out and counted, and nothing is said of the root
itself. Files that are one inode in both trees (lamina copy --mode hardlink) are
not read.

Without -o the layer goes to standard output; a failed diff then ends so that no
reader takes it for a whole one. FILE appears when it is complete.

Examples:
  lamina diff base rootfs -o layer.tar
  lamina diff base rootfs | gzip -n > layer.tar.gz
  mkdir none && lamina diff none rootfs -o rootfs.tar
      A whole tree as one layer.)";

class DiffCommand final : public Command {
 public:
  CLI::App& declare(CLI::App& app) override;
  std::optional<std::string> check() override;
  Result<void> run() override;

 private:
  bool to_standard_output() const { return file_.empty(); }
  Result<archive::DiffReport> write(const OpenTrees& trees, const Fd& to);
  Result<archive::DiffReport> write_file(const OpenTrees& trees);
  Result<void> refuse_inside(const OpenTrees& trees, const Fd& directory) const;
  Result<void> tell(const archive::DiffReport& report) const;

  ChangesWords words_;
  std::string file_;
  bool best_effort_ = false;
  bool json_ = false;
  archive::DiffOptions options_;
};

CLI::App& DiffCommand::declare(CLI::App& app) {
  CLI::App& sub = *app.add_subcommand("diff", kAbout);
  declare_changes(sub, words_);
  sub.add_option("-o,--output", file_, "Write the layer to FILE")
      ->type_name("FILE");
  sub.add_flag("--best-effort", best_effort_,
               "Leave out attributes that a tar cannot hold, and tell");
  sub.add_flag("--json", json_,
               "Print a report as JSON; on standard error without -o");
  sub.footer(kMore);
  return sub;
}

std::optional<std::string> DiffCommand::check() {
  auto options = parse_changes(words_);
  if (!options) {
    return options.error();
  }
  options_.changes = std::move(*options);
  options_.loss = best_effort_ ? copy::Loss::forgiven : copy::Loss::refused;
  bool silent = to_standard_output() && !json_;
  options_.hash =
      silent ? archive::DiffOptions::Hash::no : archive::DiffOptions::Hash::yes;
  if (to_standard_output() && ::isatty(STDOUT_FILENO) == 1) {
    return "the layer is not written to a terminal: use -o FILE, or a pipe";
  }
  return std::nullopt;
}

// The layer would become part of itself.
Result<void> DiffCommand::refuse_inside(const OpenTrees& trees,
                                        const Fd& directory) const {
  for (const Fd* tree : {&trees.lower, &trees.upper}) {
    TRY_ASSIGN(bool inside, lies_within(real_kernel(), directory, *tree));
    if (inside) {
      return fail(make_error(0, "diff", file_,
                             std::string("it lies inside ") +
                                 (tree == &trees.lower ? "LOWER" : "UPPER")));
    }
  }
  return {};
}

Result<archive::DiffReport> DiffCommand::write(const OpenTrees& trees,
                                               const Fd& to) {
  copy::Progress progress;
  options_.bytes_out = &progress.bytes;
  ProgressBar bar("writing", progress, nullptr, Measure::bytes);
  auto report = archive::write_diff(
      trees.lower, trees.upper,
      archive::fd_sink(real_kernel(), to,
                       to_standard_output() ? "standard output" : file_),
      options_);
  options_.bytes_out = nullptr;
  return report;
}

Result<archive::DiffReport> DiffCommand::write_file(const OpenTrees& trees) {
  TRY_ASSIGN(OutputFile file, OutputFile::open(real_kernel(), file_));
  TRY(refuse_inside(trees, file.parent()));
  TRY_ASSIGN(archive::DiffReport report, write(trees, file.fd()));
  TRY(file.complete());
  return report;
}

Result<void> DiffCommand::tell(const archive::DiffReport& report) const {
  if (!to_standard_output()) {
    return say(json_ ? diff_report_json(report) : diff_report_text(report));
  }
  if (json_) {
    return say_aside(diff_report_json(report));
  }
  if (report.dropped_xattrs != 0) {
    complain("left out " + std::to_string(report.dropped_xattrs) +
             " attributes, the first: " + report.first_dropped);
  }
  return {};
}

Result<void> DiffCommand::run() {
  StopOnSignals signals(to_standard_output()
                            ? "the layer is not complete"
                            : "a temporary file is left beside '" +
                                  escape_name(file_) + "'");
  options_.changes.stop = signals.token();
  TRY_ASSIGN(OpenTrees trees, open_trees(words_));
  Fd standard_output(STDOUT_FILENO);
  auto report =
      to_standard_output() ? write(trees, standard_output) : write_file(trees);
  [[maybe_unused]] int kept = standard_output.release();
  if (!report) {
    Error& error = report.error();
    if (error.code == ECANCELED && signals.signal() != 0) {
      error = make_error(ECANCELED, "diff", words_.upper,
                         "stopped by " + signal_name(signals.signal()));
    } else if (error.subject.empty()) {
      error.subject = words_.upper;
    }
    return fail(std::move(error));
  }
  return tell(*report);
}

}  // namespace

std::unique_ptr<Command> make_diff_command() {
  return std::make_unique<DiffCommand>();
}

}  // namespace lamina::cli
