// `lamina cache`: ready-made trees by key.
#include <cerrno>
#include <functional>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/kernel.h"
#include "base/path.h"
#include "cache/cache.h"
#include "cli/cache_get.h"
#include "cli/cache_report.h"
#include "cli/cache_request.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/signals.h"

namespace lamina::cli {

namespace {

constexpr const char* kAbout =
    "Keep ready-made trees by key and hand them out by reflink or hard link";

constexpr const char* kMore =
    R"(Examples:
  lamina cache add toolchain /srv/toolchain
  lamina cache get toolchain /build/1/toolchain
  lamina cache list
`lamina cache COMMAND --help` shows the options of each.)";

constexpr const char* kMoreGet =
    R"(DEST must not exist, or be an empty directory. Its files are read-only, its
directories can be written to. With --manifest, a tree that is not there is
built first, from blobs in --blobs (files called by their digest) and in the
cache; without, an unknown KEY is an error.

With --batch there are no arguments: requests are read from standard input, an
object a line with "key", "destination" and perhaps "manifest", "blobs" and
"mode", and each is answered by a line.

Modes: auto (reflink where the file system has it, else hardlink; the default),
reflink, hardlink. What cannot be linked is copied and counted.

Examples:
  lamina cache get toolchain /build/1/toolchain
  lamina cache get --manifest inputs.json --blobs /srv/cas K /build/2
  echo '{"key": "K", "destination": "/build/3"}' | lamina cache get --batch)";

constexpr const char* kMoreAdd =
    R"(The files' bytes go into the cache once each, however many trees have them.
Symbolic links are kept; owners, times and attributes are not, and of a file's
mode only whether its owner may execute it. A tree that is there by this KEY is
replaced.

Example:
  lamina cache add toolchain /srv/toolchain)";

constexpr const char* kMoreList =
    R"(The least recently used entry comes first; below are the totals, and how often
requests were answered from the cache (hits), by building (built), and without
it (direct).

Example:
  lamina cache list --json | jq .hits)";

constexpr const char* kMoreEvict =
    R"(Entries go, the least recently used first, as long as one of the options asks
for it. Those that are being handed out stay. Trees that were handed out are not
touched.

Examples:
  lamina cache evict toolchain
  lamina cache evict --older-than 30d --to 5G)";

constexpr const char* kMoreVerify =
    R"(Every file of every entry, or of those of the KEYs, is read and compared with
its digest, and so are the cache's own blobs. What differs is named, and the
exit code is 1. Nothing is changed: `lamina cache evict KEY` drops an entry.

Example:
  lamina cache verify)";

constexpr const char* kDefaultMostBytes = "10G";
constexpr const char* kNoLimit = "none";

class CacheCommand final : public Command {
 public:
  CLI::App& declare(CLI::App& app) override;
  std::optional<std::string> check() override;
  Result<void> run() override;

 private:
  using Run = Result<void> (CacheCommand::*)(cache::Cache&, StopOnSignals&);
  using Check = std::optional<std::string> (CacheCommand::*)();
  struct Part {
    CLI::App* app;
    Check check;
    Run run;
  };

  CLI::App& part(CLI::App& cache, const char* name, const char* about,
                 const char* more);
  void add_limits(CLI::App& sub);
  void declare_get(CLI::App& cache);
  void declare_add(CLI::App& cache);
  void declare_list(CLI::App& cache);
  void declare_evict(CLI::App& cache);
  void declare_verify(CLI::App& cache);

  std::optional<std::string> check_limits();
  std::optional<std::string> check_get_words();
  std::optional<std::string> check_add();
  std::optional<std::string> check_evict();
  std::optional<std::string> check_nothing() { return std::nullopt; }

  Result<void> get(cache::Cache& cache, StopOnSignals& signals);
  Result<void> add(cache::Cache& cache, StopOnSignals& signals);
  Result<void> list(cache::Cache& cache, StopOnSignals& signals);
  Result<void> evict(cache::Cache& cache, StopOnSignals& signals);
  Result<void> verify(cache::Cache& cache, StopOnSignals& signals);

  std::vector<Part> parts_;
  const Part* chosen_ = nullptr;

  std::string root_;
  bool json_ = false;
  std::string max_bytes_ = kDefaultMostBytes;
  std::string max_entries_ = kNoLimit;
  cache::Limits limits_;
  GetWords get_;
  bool batch_ = false;
  std::string tree_;
  std::vector<std::string> keys_;
  std::string older_than_;
  std::string to_bytes_;
  std::string to_entries_;
};

CLI::App& CacheCommand::declare(CLI::App& app) {
  CLI::App& cache = *app.add_subcommand("cache", kAbout);
  cache.require_subcommand(1);
  cache.footer(kMore);
  declare_get(cache);
  declare_add(cache);
  declare_list(cache);
  declare_evict(cache);
  declare_verify(cache);
  return cache;
}

CLI::App& CacheCommand::part(CLI::App& cache, const char* name,
                             const char* about, const char* more) {
  CLI::App& sub = *cache.add_subcommand(name, about);
  sub.add_option("--root", root_,
                 "Where the cache lies (default: see lamina(1))")
      ->type_name("DIR");
  sub.add_flag("--json", json_, "Print the report as one JSON object");
  sub.footer(more);
  return sub;
}

void CacheCommand::add_limits(CLI::App& sub) {
  sub.add_option("--max-bytes", max_bytes_,
                 "Evict to hold this; none, or default 10G")
      ->type_name("SIZE");
  sub.add_option("--max-entries", max_entries_,
                 "The same for entries; default none")
      ->type_name("N");
}

void CacheCommand::declare_get(CLI::App& cache) {
  CLI::App& sub =
      part(cache, "get", "Hand out the tree of KEY at DEST", kMoreGet);
  sub.add_option("KEY", get_.key, "What the tree is known by")->type_name("");
  sub.add_option("DEST", get_.destination, "What to make: new, or empty")
      ->type_name("");
  sub.add_option("--manifest", get_.manifest,
                 "What the tree is, to build it if it is not there")
      ->type_name("FILE");
  sub.add_option("--blobs", get_.blobs, "Where the files' bytes are")
      ->type_name("DIR");
  sub.add_option("--mode", get_.mode, "auto, reflink or hardlink: see below")
      ->type_name("MODE");
  sub.add_flag("--batch", batch_, "Read requests from standard input");
  add_limits(sub);
  parts_.push_back({&sub, &CacheCommand::check_get_words, &CacheCommand::get});
}

void CacheCommand::declare_add(CLI::App& cache) {
  CLI::App& sub = part(cache, "add", "Take the tree TREE in as KEY", kMoreAdd);
  sub.add_option("KEY", get_.key, "What the tree is to be known by")
      ->required()
      ->type_name("");
  sub.add_option("TREE", tree_, "The directory to take in")
      ->required()
      ->type_name("");
  add_limits(sub);
  parts_.push_back({&sub, &CacheCommand::check_add, &CacheCommand::add});
}

void CacheCommand::declare_list(CLI::App& cache) {
  CLI::App& sub = part(cache, "list", "Say what the cache holds", kMoreList);
  parts_.push_back({&sub, &CacheCommand::check_nothing, &CacheCommand::list});
}

void CacheCommand::declare_evict(CLI::App& cache) {
  CLI::App& sub = part(cache, "evict", "Remove entries", kMoreEvict);
  // Else the parser takes "[a,b]" for two keys.
  sub.add_option("KEY", keys_, "Entries to remove")
      ->type_name("")
      ->allow_extra_args(false);
  sub.add_option("--older-than", older_than_,
                 "Those not used for: 90s, 15m, 12h, 30d, 8w")
      ->type_name("AGE");
  sub.add_option("--to", to_bytes_, "Until their files take this at most")
      ->type_name("SIZE");
  sub.add_option("--to-entries", to_entries_, "Until at most N are left")
      ->type_name("N");
  parts_.push_back({&sub, &CacheCommand::check_evict, &CacheCommand::evict});
}

void CacheCommand::declare_verify(CLI::App& cache) {
  CLI::App& sub =
      part(cache, "verify", "Read all back and name what was tampered with",
           kMoreVerify);
  sub.add_option("KEY", keys_, "Only these entries")
      ->type_name("")
      ->allow_extra_args(false);
  parts_.push_back({&sub, &CacheCommand::check_nothing, &CacheCommand::verify});
}

std::optional<std::string> CacheCommand::check() {
  for (const Part& part : parts_) {
    if (part.app->parsed()) {
      chosen_ = &part;
    }
  }
  for (const std::string& key : keys_) {
    if (key.empty()) {
      return "KEY must not be empty";
    }
  }
  return (this->*chosen_->check)();
}

std::optional<std::string> CacheCommand::check_limits() {
  if (max_bytes_ != kNoLimit) {
    auto bytes = parse_size("--max-bytes", max_bytes_);
    if (!bytes) {
      return bytes.error();
    }
    limits_.bytes = *bytes;
  }
  if (max_entries_ != kNoLimit) {
    auto entries = parse_count("--max-entries", max_entries_);
    if (!entries) {
      return entries.error();
    }
    limits_.entries = *entries;
  }
  return std::nullopt;
}

std::optional<std::string> CacheCommand::check_get_words() {
  if (auto wrong = check_limits()) {
    return wrong;
  }
  if (!batch_) {
    return check_get(get_);
  }
  if (!get_.key.empty() || !get_.destination.empty() ||
      !get_.manifest.empty()) {
    return "with --batch, KEY, DEST and --manifest come from standard input";
  }
  auto sharing = parse_handing(get_.mode);
  return sharing ? std::nullopt : std::optional(sharing.error());
}

std::optional<std::string> CacheCommand::check_add() {
  if (get_.key.empty()) {
    return "KEY must not be empty";
  }
  if (tree_.empty()) {
    return "TREE must not be empty";
  }
  return check_limits();
}

std::optional<std::string> CacheCommand::check_evict() {
  if (!older_than_.empty()) {
    auto age = parse_age("--older-than", older_than_);
    if (!age) {
      return age.error();
    }
    limits_.unused_since_ns = cache::now_ns() - *age * 1'000'000'000;
  }
  if (!to_bytes_.empty()) {
    auto bytes = parse_size("--to", to_bytes_);
    if (!bytes) {
      return bytes.error();
    }
    limits_.bytes = *bytes;
  }
  if (!to_entries_.empty()) {
    auto entries = parse_count("--to-entries", to_entries_);
    if (!entries) {
      return entries.error();
    }
    limits_.entries = *entries;
  }
  bool limited = limits_.bytes || limits_.entries || limits_.unused_since_ns;
  if (keys_.empty() != limited) {
    return "give either KEYs or one of --older-than, --to and --to-entries";
  }
  return std::nullopt;
}

Result<void> CacheCommand::run() {
  StopOnSignals signals(
      "what was under way is swept by the next `lamina cache`");
  cache::CacheOptions options;
  options.limits = limits_;
  options.stop = signals.token();
  cache::Cache cache(root_.empty() ? default_cache_root() : root_, options);
  auto done = (this->*chosen_->run)(cache, signals);
  if (!done && done.error().code == ECANCELED && signals.signal() != 0) {
    done.error().text = "stopped by " + signal_name(signals.signal());
  }
  return done;
}

Result<void> CacheCommand::get(cache::Cache& cache, StopOnSignals& signals) {
  CacheGetter getter(cache);
  if (batch_) {
    return getter.serve(get_, signals.token());
  }
  TRY_ASSIGN(cache::Answer answer, getter.get(get_));
  return say(json_ ? answer_json(answer) : answer_text(answer));
}

Result<void> CacheCommand::add(cache::Cache& cache, StopOnSignals&) {
  TRY_ASSIGN(Fd tree, open_directory(real_kernel(), tree_));
  TRY_ASSIGN(cache::Added added, cache.add(get_.key, tree, tree_));
  return say(json_ ? added_json(added) : added_text(added));
}

Result<void> CacheCommand::list(cache::Cache& cache, StopOnSignals&) {
  TRY_ASSIGN(cache::Contents contents, cache.list());
  return say(json_ ? contents_json(contents) : contents_text(contents));
}

Result<void> CacheCommand::evict(cache::Cache& cache, StopOnSignals&) {
  cache::Evicted sum;
  if (keys_.empty()) {
    TRY_ASSIGN(sum, cache.evict(limits_));
  }
  for (const std::string& key : keys_) {
    TRY_ASSIGN(cache::Evicted one, cache.evict(key));
    sum.entries += one.entries;
    sum.bytes += one.bytes;
    sum.blobs += one.blobs;
  }
  return say(json_ ? evicted_json(sum) : evicted_text(sum));
}

Result<void> CacheCommand::verify(cache::Cache& cache, StopOnSignals&) {
  cache::Verified sum;
  if (keys_.empty()) {
    TRY_ASSIGN(sum, cache.verify());
  }
  for (const std::string& key : keys_) {
    TRY_ASSIGN(cache::Verified one, cache.verify(key));
    sum.entries += one.entries;
    sum.bytes += one.bytes;
    sum.faults.insert(sum.faults.end(), one.faults.begin(), one.faults.end());
  }
  TRY(say(json_ ? verified_json(sum) : verified_text(sum)));
  if (!sum.faults.empty()) {
    return fail(
        make_error(0, "verify", "cache",
                   std::to_string(sum.faults.size()) + " faults were found"));
  }
  return {};
}

}  // namespace

std::unique_ptr<Command> make_cache_command() {
  return std::make_unique<CacheCommand>();
}

}  // namespace lamina::cli
