// What the parser knows, the help, the manual and the completion all name the
// same options. Each is read as a person would meet it.
#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include "cli/command_line.h"

namespace lamina::cli {
namespace {

using Options = std::set<std::string>;
// By command; "" is the program itself.
using Table = std::map<std::string, Options>;

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty())
      << path << " cannot be read: run this where the sources are";
  return text.str();
}

Options options_in(const std::string& text) {
  static const std::regex word("--[a-z][a-z-]*");
  return {std::sregex_token_iterator(text.begin(), text.end(), word),
          std::sregex_token_iterator()};
}

Options known_to(const CLI::App& app) {
  Options out;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      out.insert("--" + name);
    }
    // -o as everybody has it, always beside its long name.
    EXPECT_TRUE(option->get_snames().empty() ||
                option->get_name(false, true) == "-o,--output")
        << option->get_name(false, true) << " is short";
  }
  return out;
}

// Every command by its words, "cache" and "cache get" too.
std::map<std::string, const CLI::App*> commands_of(CommandLine& line) {
  std::map<std::string, const CLI::App*> out;
  for (const CLI::App* command : line.app().get_subcommands({})) {
    out[command->get_name()] = command;
    for (const CLI::App* part : command->get_subcommands({})) {
      out[command->get_name() + " " + part->get_name()] = part;
    }
  }
  return out;
}

Table from_parser() {
  CommandLine line;
  Table out = {{"", known_to(line.app())}};
  for (const auto& [name, command] : commands_of(line)) {
    out[name] = known_to(*command);
  }
  return out;
}

// The help's option column: lines that begin with two blanks and a dash.
Table from_help() {
  CommandLine line;
  auto listed = [](const std::string& help) {
    std::istringstream lines(help);
    Options out;
    for (std::string text; std::getline(lines, text);) {
      if (text.starts_with("  --") || text.starts_with("  -o,--")) {
        out.merge(options_in(text.substr(0, text.find(' ', 2))));
      }
    }
    return out;
  };
  Table out = {{"", listed(line.app().help())}};
  for (const auto& [name, command] : commands_of(line)) {
    out[name] = listed(command->help());
  }
  return out;
}

// The manual's tags: the line behind .TP, in the subsection of a command.
Table from_manual() {
  std::string text = std::regex_replace(read_file("docs/man/lamina.1"),
                                        std::regex("\\\\-"), "-");
  std::istringstream lines(text);
  Table out;
  std::string command = "none";
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(".SS lamina")) {
      std::istringstream words(line);
      std::string skipped;
      std::string part;
      command.clear();
      words >> skipped >> skipped >> command >> part;
      // Arguments are in italics.
      if (!part.empty() && part[0] != '\\') {
        command += " " + part;
      }
      out[command];
    } else if (line.starts_with(".SH")) {
      command = "none";
    } else if (line == ".TP" && std::getline(lines, line) &&
               command != "none") {
      out[command].merge(options_in(line));
    }
  }
  return out;
}

// --help is explained once for all, in the manual's general part.
Table without_common_help(Table table) {
  for (auto& [command, options] : table) {
    if (!command.empty()) {
      options.erase("--help");
    }
  }
  return table;
}

TEST(Options, HelpListsWhatTheParserKnows) {
  EXPECT_EQ(from_help(), from_parser());
}

TEST(Options, ManualListsWhatTheParserKnows) {
  EXPECT_EQ(from_manual(), without_common_help(from_parser()));
}

TEST(Options, CompletionOffersWhatTheParserKnows) {
  Options offered = options_in(read_file("cli/completion/lamina.bash"));

  Options known;
  for (const auto& [command, options] : from_parser()) {
    known.insert(options.begin(), options.end());
  }
  EXPECT_EQ(offered, known);
}

TEST(Options, EveryCommandAndOptionSaysWhatItIsFor) {
  CommandLine line;
  for (const auto& [name, command] : commands_of(line)) {
    EXPECT_FALSE(command->get_description().empty()) << name;
    EXPECT_NE(command->get_footer().find("Example"), std::string::npos)
        << name << " has no example";
    for (const CLI::Option* option : command->get_options()) {
      EXPECT_FALSE(option->get_description().empty()) << option->get_name();
    }
  }
}

TEST(Options, HelpFitsATerminal) {
  CommandLine line;
  for (const auto& [name, command] : commands_of(line)) {
    std::istringstream lines(command->help());
    for (std::string text; std::getline(lines, text);) {
      EXPECT_LE(text.size(), 80U) << name << ": " << text;
    }
  }
}

}  // namespace
}  // namespace lamina::cli
