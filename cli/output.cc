#include "cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <string>

namespace lamina::cli {

namespace {

Result<void> write_all(int fd, std::string_view text, std::string_view shown) {
  while (!text.empty()) {
    ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return fail(last_error("write", shown));
    }
    if (n == 0) {
      return fail(make_error(EIO, "write", shown));
    }
    text.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

}  // namespace

Result<void> say(std::string_view text) {
  return write_all(STDOUT_FILENO, text, "standard output");
}

Result<void> say_aside(std::string_view text) {
  return write_all(STDERR_FILENO, text, "standard error");
}

void complain(std::string_view line) {
  std::string text = "lamina: " + std::string(line) + "\n";
  // Where even standard error is closed, the exit code is all that is left.
  [[maybe_unused]] auto ignored =
      write_all(STDERR_FILENO, text, "standard error");
}

}  // namespace lamina::cli
