// `lamina lock` and `lamina unlock`: the modes of a tree that is kept.
#include <cerrno>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/kernel.h"
#include "base/path.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/report_text.h"
#include "cli/signals.h"
#include "copy/permissions.h"

namespace lamina::cli {

namespace {

constexpr const char* kAboutLock =
    "Make a tree's files read-only and its directories 0755";

constexpr const char* kMoreLock =
    R"(Files lose their write bits and keep the others (0644 becomes 0444, 0755
becomes 0555); directories become 0755, so that entries can still be added and
removed. Symbolic links, devices, fifos and sockets stay as they are. A file
that would change and has a hard link outside TREE is an error that names it,
and then nothing is changed: it is not TREE's alone.

Example:
  lamina lock /cache/base)";

constexpr const char* kAboutUnlock = "Make a tree's directories 0755";

constexpr const char* kMoreUnlock =
    R"(Directories become 0755, so that their owner can change and remove what is
in them. No file is touched.

Example:
  lamina unlock /cache/base && lamina remove /cache/base)";

using Walk = Result<copy::PermissionsReport> (*)(
    const NamePlace&, const copy::PermissionsOptions&);

// Both commands differ in their words and in the walk they call.
struct Kind {
  const char* name;
  const char* about;
  const char* more;
  Walk walk;
};

class LockCommand final : public Command {
 public:
  explicit LockCommand(const Kind& kind)
      : kind_(kind) {}

  CLI::App& declare(CLI::App& app) override {
    CLI::App& sub = *app.add_subcommand(kind_.name, kind_.about);
    sub.add_option("TREE", tree_, "The directory")->required()->type_name("");
    sub.footer(kind_.more);
    return sub;
  }

  std::optional<std::string> check() override {
    if (tree_.empty()) {
      return "TREE must not be empty";
    }
    return std::nullopt;
  }

  Result<void> run() override {
    StopOnSignals signals("modes are changed in part of '" +
                          escape_name(tree_) + "'");
    auto report = walk(signals);
    if (!report) {
      Error& error = report.error();
      if (error.code == ECANCELED && signals.signal() != 0) {
        error = make_error(ECANCELED, kind_.name, tree_,
                           "stopped by " + signal_name(signals.signal()));
      }
      return fail(std::move(error));
    }
    return say("  changed         " + with_commas(report->files) + " files, " +
               with_commas(report->directories) + " directories\n");
  }

 private:
  Result<copy::PermissionsReport> walk(const StopOnSignals& signals) {
    TRY_ASSIGN(NamePlace place, open_parent(real_kernel(), tree_));
    copy::Progress progress;
    copy::PermissionsOptions options;
    options.stop = signals.token();
    options.progress = &progress;
    ProgressBar bar(std::string(kind_.name) + "ing", progress, nullptr);
    return kind_.walk(place, options);
  }

  const Kind kind_;
  std::string tree_;
};

}  // namespace

std::unique_ptr<Command> make_lock_command() {
  return std::make_unique<LockCommand>(
      Kind{"lock", kAboutLock, kMoreLock, copy::lock});
}

std::unique_ptr<Command> make_unlock_command() {
  return std::make_unique<LockCommand>(
      Kind{"unlock", kAboutUnlock, kMoreUnlock, copy::unlock_directories});
}

}  // namespace lamina::cli
