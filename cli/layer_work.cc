#include "cli/layer_work.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include <CLI/CLI.hpp>

#include "base/kernel.h"

namespace lamina::cli {

void declare_layer_options(CLI::App& sub, ApplyWords& words) {
  auto word = [&sub](const char* name, std::string& to, const char* type,
                     const char* about) {
    sub.add_option(name, to, about)->type_name(type);
  };
  word("--owner", words.owner, "HOW",
       "Owners: keep (default), mapped, none (yours)");
  word("--uid-map", words.uid_map, "MAP",
       "FIRST:NEW:COUNT[,...]: user FIRST becomes NEW");
  word("--gid-map", words.gid_map, "MAP", "The same for groups");
  word("--xattrs", words.xattrs, "WHICH",
       "Extended attributes: image (default), all, none");
  sub.add_flag("--best-effort", words.best_effort,
               "Count and report what ROOT cannot hold, and go on");
  word("--max-size", words.max_size, "BYTES",
       "Largest layer when unpacked, as in 500M or 2G");
  word("--max-entries", words.max_entries, "N", "Most entries of a layer");
  word("--max-ratio", words.max_ratio, "N",
       "Most bytes unpacked for a byte packed");
  word("--max-window", words.max_window, "BYTES",
       "Largest window of zstd; default: 128M");
  word("--workers", words.workers, "N",
       "Threads; default: the best for ROOT's file system");
  sub.add_flag("--keep-partial", words.keep_partial,
               "Keep what was made when it fails");
}

Result<Fd> open_blob(const std::string& path) {
  if (path == "-") {
    Fd copy(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!copy.valid()) {
      return fail(last_error("read", "standard input"));
    }
    return copy;
  }
  // Without O_NONBLOCK a fifo would be waited for where no signal ends it.
  Fd fd(real_kernel().openat(AT_FDCWD, path.c_str(),
                             O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0));
  if (!fd.valid()) {
    return fail(last_error("open", path));
  }
  return fd;
}

uint64_t bytes_left(const Fd& fd) {
  struct stat stat {};
  if (real_kernel().fstat(fd.get(), &stat) != 0 || !S_ISREG(stat.st_mode)) {
    return 0;
  }
  off_t at = ::lseek(fd.get(), 0, SEEK_CUR);
  return at < 0 || at > stat.st_size ? 0
                                     : static_cast<uint64_t>(stat.st_size - at);
}

Error explain_stop(Error error, std::string_view op, const std::string& root,
                   const StopOnSignals& signals) {
  constexpr std::string_view kStopped = "stopped";
  if (error.code != ECANCELED || signals.signal() == 0) {
    return error;
  }
  std::string text = "stopped by " + signal_name(signals.signal());
  if (error.text == kStopped) {
    text += ", what was made is removed";
  } else if (error.text.starts_with(kStopped)) {
    text += error.text.substr(kStopped.size());
  }
  return make_error(ECANCELED, op, root, text);
}

}  // namespace lamina::cli
