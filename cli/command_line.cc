#include "cli/command_line.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "cli/output.h"
#include "cli/version.h"

namespace lamina::cli {

namespace {

constexpr const char* kAbout =
    "Copies container image layers to disk: whole trees, fast, with nothing "
    "lost.";

constexpr const char* kMore =
    R"(Try:
  lamina copy rootfs rootfs.new     a copy; bytes are shared where they can be
  lamina apply layer.tar.gz rootfs  a layer, as a tarball
  lamina unpack image:tag rootfs    every layer of an image
  lamina changes base rootfs        what differs between two trees
  lamina diff base rootfs -o a.tar  the same as a layer
  lamina probe .                    what the file system of this directory can do
  lamina COMMAND --help             what a command does, with examples

Exit codes: 0 done, 1 failed (one line says what, on which file, and why),
2 wrong usage. The manual: man lamina)";

// The parser takes "[a,b]" for a list where several arguments may stand, and
// would remove `a` and `b` instead of the tree that is called so. "./[a,b]" is
// the same tree and no list.
void protect_brackets(std::vector<std::string>& arguments) {
  for (std::string& argument : arguments) {
    if (argument.size() > 1 && argument.front() == '[' &&
        argument.back() == ']') {
      argument.insert(0, "./");
    }
  }
}

// The parser only says that a command is missing when an unknown one is given.
std::string reason(const CLI::App& app, const CLI::ParseError& error,
                   const std::string& first) {
  if (app.get_subcommands().empty() && !first.empty() && first[0] != '-') {
    return "there is no command '" + escape_name(first) + "'";
  }
  return escape_name(error.what());
}

int complain_of_usage(const std::string& line, const CLI::App& app) {
  std::string name =
      app.get_parent() == nullptr ? "lamina" : "lamina " + app.get_name();
  complain(line + " (see " + name + " --help)");
  return kWrongUsage;
}

}  // namespace

CommandLine::CommandLine()
    : app_(std::make_unique<CLI::App>(kAbout, "lamina")) {
  app_->set_version_flag("--version", "lamina " + std::string(version()),
                         "Print the version and exit");
  app_->set_help_flag("--help", "Print this help and exit");
  app_->require_subcommand(1);
  app_->footer(kMore);
  app_->get_formatter()->column_width(26);
  for (auto make : {make_copy_command, make_apply_command, make_unpack_command,
                    make_write_command, make_changes_command, make_diff_command,
                    make_remove_command, make_lock_command, make_unlock_command,
                    make_cache_command, make_probe_command}) {
    std::unique_ptr<Command> command = make();
    CLI::App& declared = command->declare(*app_);
    commands_.push_back({std::move(command), &declared});
  }
}

CommandLine::~CommandLine() = default;

int CommandLine::parse(std::vector<std::string> arguments, Command** chosen) {
  *chosen = nullptr;
  if (!arguments.empty() && arguments.front() == "remove") {
    protect_brackets(arguments);
  }
  const std::string first = arguments.empty() ? "" : arguments.front();
  // It takes the arguments from the end.
  std::reverse(arguments.begin(), arguments.end());
  const CLI::App* at = app_.get();
  auto given = [this, &at, chosen] {
    for (Known& known : commands_) {
      if (known.app->parsed()) {
        at = known.app;
        *chosen = known.command.get();
      }
    }
  };
  try {
    app_->parse(std::move(arguments));
    given();
    return kDone;
  } catch (const CLI::CallForVersion& call) {
    return say(std::string(call.what()) + "\n") ? kDone : kFailed;
  } catch (const CLI::Success&) {
    return say(app_->help()) ? kDone : kFailed;
  } catch (const CLI::ParseError& error) {
    given();
    *chosen = nullptr;
    return complain_of_usage(reason(*app_, error, first), *at);
  }
}

int CommandLine::run(std::vector<std::string> arguments) {
  Command* chosen = nullptr;
  int code = parse(std::move(arguments), &chosen);
  if (chosen == nullptr) {
    return code;
  }
  if (auto wrong = chosen->check()) {
    return complain_of_usage(*wrong, *app_->get_subcommands().front());
  }
  if (auto done = chosen->run(); !done) {
    complain(done.error().message());
    return kFailed;
  }
  return kDone;
}

}  // namespace lamina::cli
