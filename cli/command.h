// A command of the program, `lamina NAME`: its options and what it does.
//
// 1. declare() adds its words to the parser.
// 2. check() after parsing: turns the words into a request, or says why not.
// 3. run() does it.
//
// Each is used once, by the main thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/error.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the parser's.
class App;
}

namespace lamina::cli {

class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;

  // Adds the subcommand to `app` and returns it. What it binds lives in this
  // object, which must outlive `app`.
  virtual CLI::App& declare(CLI::App& app) = 0;

  // What is wrong with the words given, one escaped line; nullopt when nothing
  // is.
  virtual std::optional<std::string> check() { return std::nullopt; }

  // Does the work and says how it went on standard output.
  virtual Result<void> run() = 0;
};

std::unique_ptr<Command> make_copy_command();
std::unique_ptr<Command> make_apply_command();
std::unique_ptr<Command> make_unpack_command();
std::unique_ptr<Command> make_changes_command();
std::unique_ptr<Command> make_diff_command();
std::unique_ptr<Command> make_remove_command();
std::unique_ptr<Command> make_lock_command();
std::unique_ptr<Command> make_unlock_command();
std::unique_ptr<Command> make_cache_command();
std::unique_ptr<Command> make_probe_command();
std::unique_ptr<Command> make_write_command();

}  // namespace lamina::cli
