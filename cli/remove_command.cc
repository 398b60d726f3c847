// `lamina remove`: trees removed, several directories at a time.
#include <cerrno>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/kernel.h"
#include "base/path.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/words.h"
#include "copy/remove_tree.h"

namespace lamina::cli {

namespace {

constexpr const char* kAbout = "Remove trees, several directories at a time";

constexpr const char* kMore =
    R"(Symbolic links are removed and never followed. A mount inside a TREE is an
error, and so is a TREE that is not there. Removal stops at the first failure;
what was removed by then is gone.

Examples:
  lamina remove container1
  lamina remove old-layer-1 old-layer-2
  lamina remove -- --odd-name)";

class RemoveCommand final : public Command {
 public:
  CLI::App& declare(CLI::App& app) override {
    CLI::App& sub = *app.add_subcommand("remove", kAbout);
    sub.add_option("TREE", trees_, "What to remove")->required()->type_name("");
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
    for (const std::string& tree : trees_) {
      if (tree.empty()) {
        return "TREE must not be empty";
      }
    }
    return std::nullopt;
  }

  Result<void> run() override {
    StopOnSignals signals("what was not yet removed is left");
    for (const std::string& tree : trees_) {
      TRY(remove(tree, signals));
    }
    return {};
  }

 private:
  Result<void> remove(const std::string& tree, const StopOnSignals& signals) {
    TRY_ASSIGN(NamePlace place, open_parent(real_kernel(), tree));
    if (place.name == "." || place.name == "..") {
      return fail(make_error(EINVAL, "remove", tree,
                             "give the tree by its name in its parent"));
    }
    copy::RemoveOptions options;
    options.workers = workers_;
    options.stop = signals.token();
    auto removed = remove(place, options);
    if (!removed) {
      return fail(explain(std::move(removed.error()), place, signals));
    }
    return {};
  }

  // The bar is gone when this returns, so that an error has its line alone.
  static Result<copy::RemoveReport> remove(const NamePlace& place,
                                           copy::RemoveOptions& options) {
    copy::Progress progress;
    options.progress = &progress;
    ProgressBar bar("removing", progress, nullptr);
    return copy::remove_tree(place.parent, place.name, options);
  }

  // Says the path as it was given, and which signal stopped the removal.
  static Error explain(Error error, const NamePlace& place,
                       const StopOnSignals& signals) {
    if (error.subject.starts_with(place.name)) {
      std::string_view above = place.shown;
      while (above.size() > 1 && above.back() == '/') {
        above.remove_suffix(1);
      }
      above.remove_suffix(place.name.size());
      error.subject.insert(0, above);
    }
    if (error.code == ECANCELED && signals.signal() != 0) {
      error.op = "remove";
      error.text = "stopped by " + signal_name(signals.signal());
    }
    return error;
  }

  std::vector<std::string> trees_;
  std::string workers_word_;
  unsigned workers_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_remove_command() {
  return std::make_unique<RemoveCommand>();
}

}  // namespace lamina::cli
