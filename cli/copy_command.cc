// `lamina copy`: a tree copied, with progress, and reported.
#include <cerrno>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/kernel.h"
#include "base/path.h"
#include "cli/command.h"
#include "cli/copy_request.h"
#include "cli/count_entries.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/report_json.h"
#include "cli/report_text.h"
#include "cli/signals.h"
#include "copy/compare.h"
#include "copy/dir_copy.h"

namespace lamina::cli {

namespace {

// How many names a copy made, its root not counted.
uint64_t entries_of(const copy::Report& report) {
  return report.directories - 1 + report.reflinked + report.linked +
         report.copied_by_range + report.copied_by_read_write +
         report.empty_files + report.links_recreated + report.symlinks +
         report.specials;
}

constexpr const char* kAbout =
    "Make DST a copy of the tree SRC, with nothing lost";

constexpr const char* kMore =
    R"(DST must not exist, or be an empty directory. Hard links, owners, modes,
extended attributes, times, devices and holes arrive as they are; what DST
cannot hold is an error. A copy that fails or is stopped (Ctrl-C) leaves
nothing behind.

Modes, what a regular file becomes:
  auto      a reflink where the file system can, else a copy (the default)
  reflink   a reflink, or an error
  hardlink  another name of the same file, or a copy where that cannot be
  content   a copy of the bytes; holes stay holes

Extended attributes: `image` keeps what belongs into an image: capabilities,
ACLs and user.*, but not trusted.*, labels and overlay's own.

Examples:
  lamina copy rootfs container1
      An independent copy that shares blocks where the file system can.
  lamina copy --mode hardlink /cache/base /build/inputs
      The same files under new names: quick, for trees nobody writes to.
  lamina copy --uid-map 0:100000:65536 --gid-map 0:100000:65536 rootfs mapped
      For a container in a user namespace: root becomes 100000.
  lamina copy --owner none --best-effort --json rootfs mine
      As an ordinary user, with what could not be kept in the report.)";

class CopyCommand final : public Command {
 public:
  CLI::App& declare(CLI::App& app) override;
  std::optional<std::string> check() override;
  Result<void> run() override;

 private:
  Result<copy::Report> copy_tree(StopOnSignals& signals);
  // Counts the entries that were compared.
  Result<uint64_t> verify(const copy::Report& report, StopOnSignals& signals);
  Error explain(Error error, const StopOnSignals& signals) const;

  CopyWords words_;
  bool verify_ = false;
  bool json_ = false;
  copy::Options options_;
};

CLI::App& CopyCommand::declare(CLI::App& app) {
  CLI::App& sub = *app.add_subcommand("copy", kAbout);
  sub.add_option("SRC", words_.source, "The directory to copy")
      ->required()
      ->type_name("");
  sub.add_option("DST", words_.destination, "What to make: new, or empty")
      ->required()
      ->type_name("");
  auto word = [&sub](const char* name, std::string& to, const char* type,
                     const char* about) {
    sub.add_option(name, to, about)->type_name(type);
  };
  word("--mode", words_.mode, "MODE",
       "auto, reflink, hardlink or content: see below");
  word("--xattrs", words_.xattrs, "WHICH",
       "Extended attributes: all (default), image, none");
  word("--owner", words_.owner, "HOW",
       "Owners: keep (default), mapped, none (yours)");
  word("--uid-map", words_.uid_map, "MAP",
       "FIRST:NEW:COUNT[,...]: user FIRST becomes NEW");
  word("--gid-map", words_.gid_map, "MAP", "The same for groups");
  word("--label", words_.label, "LABEL",
       "SELinux context that everything is made with");
  sub.add_flag("--one-file-system", words_.one_file_system,
               "Do not enter mounts below SRC");
  word("--workers", words_.workers, "N",
       "Threads; default: the best for DST's file system");
  sub.add_flag("--strict", words_.strict,
               "A file that --mode hardlink cannot link is an error");
  sub.add_flag("--best-effort", words_.best_effort,
               "Count and report what DST cannot hold, and go on");
  sub.add_flag("--keep-partial", words_.keep_partial,
               "Keep what was made when the copy fails");
  sub.add_flag("--verify", verify_,
               "Compare DST with SRC afterwards, bytes and all");
  sub.add_flag("--json", json_, "Print the report as one JSON object");
  sub.footer(kMore);
  return sub;
}

std::optional<std::string> CopyCommand::check() {
  auto options = parse_copy(words_);
  if (!options) {
    return options.error();
  }
  options_ = *options;
  return std::nullopt;
}

// A copy that was stopped says by what, and what became of DST.
Error CopyCommand::explain(Error error, const StopOnSignals& signals) const {
  if (error.code != ECANCELED || signals.signal() == 0) {
    return error;
  }
  bool undone = error.text == "stopped";
  std::string text = "stopped by " + signal_name(signals.signal());
  if (options_.leftovers == copy::Leftovers::kept) {
    text += ", what was made is kept";
  } else if (undone) {
    text += ", what was made is removed";
  } else {
    text += ": " + error.text;
  }
  return make_error(ECANCELED, "copy", words_.destination, text);
}

Result<copy::Report> CopyCommand::copy_tree(StopOnSignals& signals) {
  Kernel& kernel = real_kernel();
  TRY_ASSIGN(Fd source, open_directory(kernel, words_.source));
  TRY_ASSIGN(NamePlace place, open_parent(kernel, words_.destination));
  copy::Progress progress;
  options_.stop = signals.token();
  options_.progress = &progress;
  ProgressBar bar("copying", progress, [&](std::stop_token stop) {
    return count_entries(source, options_.crossing, std::move(stop))
        .value_or(0);
  });
  auto report = copy::dir_copy(source, words_.source, place, options_);
  options_.progress = nullptr;
  if (!report) {
    return fail(explain(std::move(report.error()), signals));
  }
  return report;
}

// What was copied is read back. A copy that differs stays, to be looked at.
Result<uint64_t> CopyCommand::verify(const copy::Report& report,
                                     StopOnSignals& signals) {
  Kernel& kernel = real_kernel();
  TRY_ASSIGN(Fd source, open_directory(kernel, words_.source));
  TRY_ASSIGN(Fd made, open_directory(kernel, words_.destination));
  copy::Progress progress;
  options_.progress = &progress;
  ProgressBar bar("verifying", progress, [&report](const std::stop_token&) {
    return entries_of(report);
  });
  auto compared = copy::compare_trees(
      source, made, options_,
      report.link_fallbacks == 0 ? copy::Links::exact : copy::Links::may_split);
  options_.progress = nullptr;
  if (!compared) {
    Error& error = compared.error();
    if (error.code == ECANCELED && signals.signal() != 0) {
      error = make_error(
          ECANCELED, "verify", words_.destination,
          "stopped by " + signal_name(signals.signal()) + ", the copy is made");
    } else if (error.subject.empty()) {
      error.subject = words_.destination;
    }
    return fail(std::move(error));
  }
  if (compared->differences != 0) {
    uint64_t more = compared->differences - 1;
    return fail(make_error(
        0, "verify", words_.destination,
        "it differs from its source: " + compared->first.front().message() +
            (more == 0 ? "" : " (and " + with_commas(more) + " more)")));
  }
  return compared->entries;
}

Result<void> CopyCommand::run() {
  StopOnSignals signals("what was made is left in '" +
                        escape_name(words_.destination) + "'");
  TRY_ASSIGN(copy::Report report, copy_tree(signals));
  std::optional<uint64_t> verified;
  if (verify_) {
    TRY_ASSIGN(verified, verify(report, signals));
  }
  return say(json_ ? report_json(report, verified)
                   : report_text(report, verified));
}

}  // namespace

std::unique_ptr<Command> make_copy_command() {
  return std::make_unique<CopyCommand>();
}

}  // namespace lamina::cli
