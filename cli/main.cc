#include <sys/stat.h>

#include <exception>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/command_line.h"
#include "cli/output.h"

int main(int argc, char** argv) {
  // Every inode is created with the very mode it shall have. The library leaves
  // the umask of its caller alone, and would have to chmod each file instead.
  ::umask(0);
  try {
    lamina::cli::CommandLine line;
    return line.run(
        std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  } catch (const std::exception& error) {
    lamina::cli::complain(lamina::escape_name(error.what()));
    return lamina::cli::kFailed;
  }
}
