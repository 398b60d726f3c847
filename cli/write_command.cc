// `lamina write`: many files below one root, from a manifest.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <istream>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/kernel.h"
#include "cli/batch_manifest.h"
#include "cli/batch_report.h"
#include "cli/command.h"
#include "cli/fd_stream.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/words.h"

namespace lamina::cli {

namespace {

constexpr const char* kAbout = "Write many files below one directory";

constexpr const char* kMore =
    R"(The manifest is a JSON array of outputs, or one output a line:
  {"path": "src/a.txt", "data": "text"}
  {"path_b64": "Y2Fm6Q==", "data_b64": "AAH/", "mode": "755"}
  {"path": "lib/b.so", "from": "/build/b.so"}
A mode is a string of octal digits, or a number that is the mode itself (493 is
0755); without one it is 0644. All names are checked first; a bad one leaves
ROOT untouched. Of outputs that are the same file the last one wins. What stands
at a name is replaced by a new file, never written to.

The last line of standard output is one JSON object:
  {"ok": true, "error_index": null, "superseded": [0], ...}

Examples:
  lamina write inputs --manifest inputs.json
  generate | lamina write inputs --manifest -)";

class WriteCommand final : public Command {
 public:
  CLI::App& declare(CLI::App& app) override {
    CLI::App& sub = *app.add_subcommand("write", kAbout);
    sub.add_option("ROOT", root_, "The directory; made if it is absent")
        ->required()
        ->type_name("");
    sub.add_option("--manifest", manifest_,
                   "What to write; - is standard input")
        ->required()
        ->type_name("FILE");
    sub.add_option("--workers", workers_word_,
                   "Threads; default: the best for the file system")
        ->type_name("N");
    sub.footer(kMore);
    return sub;
  }

  std::optional<std::string> check() override {
    auto workers = parse_workers(workers_word_);
    if (!workers) {
      return workers.error();
    }
    workers_ = *workers;
    if (root_.empty()) {
      return "ROOT must not be empty";
    }
    if (manifest_.empty()) {
      return "--manifest must not be empty";
    }
    return std::nullopt;
  }

  Result<void> run() override {
    copy::BatchResult result = read_and_write();
    TRY(say(batch_json(result)));
    if (result) {
      return {};
    }
    return fail(std::move(result.error().error));
  }

 private:
  copy::BatchResult read_and_write() const {
    auto manifest = read();
    if (!manifest) {
      return tl::unexpected(
          copy::BatchFailure{std::move(manifest.error()), std::nullopt, {}});
    }
    std::vector<copy::BatchEntry> entries = manifest->entries();
    if (manifest->fault) {
      return tl::unexpected(fault(*manifest->fault, entries));
    }
    return write(entries);
  }

  // Before this a signal ends the program at once: nothing is made yet, and a
  // manifest that comes through a pipe may never end.
  copy::BatchResult write(std::span<const copy::BatchEntry> entries) const {
    StopOnSignals signals("some files are written in '" + escape_name(root_) +
                          "', others are not");
    copy::Progress progress;
    copy::BatchOptions options;
    options.workers = workers_;
    options.stop = signals.token();
    options.progress = &progress;
    ProgressBar bar("writing", progress,
                    [&](const std::stop_token&) { return entries.size(); });
    auto result = copy::write_batch(root_, entries, options);
    if (!result && result.error().error.code == ECANCELED &&
        signals.signal() != 0) {
      result.error().error =
          make_error(ECANCELED, "write", root_,
                     "stopped by " + signal_name(signals.signal()));
    }
    return result;
  }

  Result<Manifest> read() const {
    Fd file;
    if (manifest_ != "-") {
      // Waits for whoever writes to a pipe.
      file.reset(real_kernel().openat(AT_FDCWD, manifest_.c_str(),
                                      O_RDONLY | O_CLOEXEC | O_NOCTTY, 0));
      if (!file.valid()) {
        return fail(last_error("open", manifest_));
      }
    }
    Fd standard_input(STDIN_FILENO);
    FdStream buffer(file.valid() ? file : standard_input);
    std::istream in(&buffer);
    Manifest manifest = read_manifest(in);
    // Not ours to close.
    [[maybe_unused]] int left_open = standard_input.release();
    if (buffer.error() != 0) {
      return fail(make_error(buffer.error(), "read", shown()));
    }
    return manifest;
  }

  // A bad name before what cannot be read is the lower failure.
  copy::BatchFailure fault(const Manifest::Fault& fault,
                           std::span<const copy::BatchEntry> entries) const {
    if (auto lower = copy::check_batch(entries)) {
      return std::move(*lower);
    }
    return {make_error(0, "read manifest", shown(),
                       "output " + std::to_string(fault.index) + ": " +
                           escape_name(fault.text)),
            fault.index,
            {}};
  }

  std::string shown() const {
    return manifest_ == "-" ? "standard input" : manifest_;
  }

  std::string root_;
  std::string manifest_;
  std::string workers_word_;
  unsigned workers_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_write_command() {
  return std::make_unique<WriteCommand>();
}

}  // namespace lamina::cli
