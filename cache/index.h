// What the cache holds, in SQLite: entries by key, when they were used, and how
// often requests were answered how.
//
// Only the index says which entries exist; their trees lie beside it under
// their numbers (root.h). Any thread and any number of processes may use one at
// a time; within a process a mutex, between processes SQLite's lock.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cache/sqlite.h"

namespace lamina::cache {

// How a request was answered.
enum class Outcome { hit, built, direct };
std::string_view to_string(Outcome outcome);

// What a finished tree is like, as far as handing it out needs.
struct TreeFacts {
  uint64_t bytes = 0;  // Sum of the sizes of its files.
  uint64_t files = 0;
  uint64_t directories = 0;  // Its root counted.
  uint64_t symlinks = 0;
  // Inode numbers, ascending, of files that must not be handed out as links.
  std::vector<uint64_t> unlinked;
  // Paths of the files that can be executed, each ended by a NUL.
  std::string executables;
  // The same for those among them that are in `unlinked`.
  std::string own_executables;
};

struct EntryRow {
  int64_t id = 0;
  std::string key;
  std::string recipe;  // What it was made from; see Recipe::id.
  uint64_t tree_inode = 0;
  TreeFacts facts;
  int64_t made_ns = 0;  // Since 1970.
  int64_t used_ns = 0;
};

struct Counts {
  uint64_t hits = 0;
  uint64_t built = 0;
  uint64_t direct = 0;
  uint64_t evicted = 0;
};

// What entries have to go; nullopt is no limit.
struct Limits {
  std::optional<uint64_t> bytes;
  std::optional<uint64_t> entries;
  std::optional<int64_t> unused_since_ns;  // Those used last before this.
};

class Index {
 public:
  // Opens or makes the database at `path`, `shown` in errors.
  Result<void> open(const std::string& path, std::string_view shown);

  // A number that no entry had or will have.
  Result<int64_t> next_id();

  Result<std::optional<EntryRow>> find(std::string_view key);

  // Adds an entry in place of one with its key. `publish` puts its tree in
  // place before others can find it; where that fails nothing is added.
  Result<void> insert(const EntryRow& row,
                      const std::function<Result<void>()>& publish);

  // Counts an answer; for a hit or a built entry the entry is used now.
  Result<void> count(Outcome outcome, std::string_view key);

  // Forgets an entry if `take`, asked for its number, agrees.
  using Take = std::function<bool(int64_t id)>;
  Result<bool> remove(std::string_view key, const Take& take);

  // Forgets the least recently used entries until the limits hold, leaving
  // those that `take` does not give. Returns the numbers of those forgotten and
  // adds their bytes to `bytes`.
  Result<std::vector<int64_t>> trim(const Limits& limits, const Take& take,
                                    uint64_t* bytes);

  // All entries without their facts' lists, the least recently used first.
  Result<std::vector<EntryRow>> list();
  Result<std::vector<int64_t>> ids();
  Result<Counts> counts();

 private:
  Result<void> make_tables();
  Result<void> prepare();
  Result<void> add_evicted(size_t count);

  std::mutex mutex_;
  Database database_;
  Statement next_;
  Statement find_;
  Statement insert_;
  Statement touch_;
  Statement count_;
  Statement remove_;
};

// Nanoseconds since 1970.
int64_t now_ns();

}  // namespace lamina::cache
