// The command line of `lamina`: all commands, and from arguments to exit code.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"

namespace lamina::cli {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongUsage = 2;

class CommandLine {
 public:
  CommandLine();
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // Does what the arguments (without the program's name) ask for and returns
  // the exit code. Help and version go to standard output, complaints to
  // standard error as one line.
  int run(std::vector<std::string> arguments);

  // The parser, for the test that compares it with the manual.
  CLI::App& app() { return *app_; }

 private:
  struct Known {
    std::unique_ptr<Command> command;
    CLI::App* app;
  };

  int parse(std::vector<std::string> arguments, Command** chosen);

  std::vector<Known> commands_;
  std::unique_ptr<CLI::App> app_;
};

}  // namespace lamina::cli
