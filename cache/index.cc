#include "cache/index.h"

#include <cstring>
#include <ctime>

namespace lamina::cache {

namespace {

constexpr const char* kTables = R"(
  CREATE TABLE IF NOT EXISTS counters(
    name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS entries(
    id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, recipe BLOB NOT NULL,
    tree_inode INTEGER NOT NULL, bytes INTEGER NOT NULL,
    files INTEGER NOT NULL, directories INTEGER NOT NULL,
    symlinks INTEGER NOT NULL, made_ns INTEGER NOT NULL,
    used_ns INTEGER NOT NULL, unlinked BLOB NOT NULL,
    executables BLOB NOT NULL, own_executables BLOB NOT NULL);
  CREATE INDEX IF NOT EXISTS by_use ON entries(used_ns, id);
  INSERT OR IGNORE INTO counters VALUES
    ('next', 0), ('hit', 0), ('built', 0), ('direct', 0), ('evicted', 0);
  PRAGMA user_version = 1)";

constexpr int64_t kVersion = 1;

constexpr const char* kColumns =
    "id, key, recipe, tree_inode, bytes, files, directories, symlinks, "
    "made_ns, used_ns";

std::string pack(const std::vector<uint64_t>& numbers) {
  std::string out(numbers.size() * sizeof(uint64_t), '\0');
  if (!numbers.empty()) {
    std::memcpy(out.data(), numbers.data(), out.size());
  }
  return out;
}

std::vector<uint64_t> unpack(const std::string& bytes) {
  std::vector<uint64_t> out(bytes.size() / sizeof(uint64_t));
  if (!out.empty()) {
    std::memcpy(out.data(), bytes.data(), out.size() * sizeof(uint64_t));
  }
  return out;
}

int64_t as_signed(uint64_t number) {
  return static_cast<int64_t>(number);
}

EntryRow read_row(const Statement& from) {
  auto number = [&from](int at) {
    return static_cast<uint64_t>(from.integer(at));
  };
  EntryRow out;
  out.id = from.integer(0);
  out.key = from.bytes(1);
  out.recipe = from.bytes(2);
  out.tree_inode = number(3);
  out.facts.bytes = number(4);
  out.facts.files = number(5);
  out.facts.directories = number(6);
  out.facts.symlinks = number(7);
  out.made_ns = from.integer(8);
  out.used_ns = from.integer(9);
  return out;
}

// What is still too much while entries are chosen.
class Excess {
 public:
  Excess(const Limits& limits, uint64_t bytes, uint64_t entries)
      : limits_(limits),
        bytes_(bytes),
        entries_(entries) {}

  bool has_to_go(const EntryRow& row) const {
    return (limits_.bytes && bytes_ > *limits_.bytes) ||
           (limits_.entries && entries_ > *limits_.entries) ||
           (limits_.unused_since_ns && row.used_ns < *limits_.unused_since_ns);
  }
  void gone(const EntryRow& row) {
    bytes_ -= row.facts.bytes;
    --entries_;
  }

 private:
  const Limits& limits_;
  uint64_t bytes_;
  uint64_t entries_;
};

}  // namespace

int64_t now_ns() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::hit:
      return "hit";
    case Outcome::built:
      return "built";
    case Outcome::direct:
      break;
  }
  return "direct";
}

Result<void> Index::open(const std::string& path, std::string_view shown) {
  std::lock_guard lock(mutex_);
  TRY(database_.open(path, shown));
  TRY_ASSIGN(Statement version, database_.prepare("PRAGMA user_version"));
  TRY(version.step());
  int64_t found = version.integer(0);
  version.reset();
  if (found == 0) {
    TRY(make_tables());
  } else if (found != kVersion) {
    return fail(make_error(0, "sqlite", shown,
                           "it is of another version of this program"));
  }
  // A power cut may lose the last answers counted, not the database.
  TRY(database_.run("PRAGMA synchronous = NORMAL"));
  return prepare();
}

// Requires that one process at a time comes here (Root holds a lock).
Result<void> Index::make_tables() {
  TRY(database_.run("PRAGMA journal_mode = WAL"));
  Transaction transaction(database_);
  TRY(transaction.begin());
  TRY(database_.run(kTables));
  return transaction.commit();
}

Result<void> Index::prepare() {
  TRY_ASSIGN(next_, database_.prepare("UPDATE counters SET value = value + 1 "
                                      "WHERE name = 'next' RETURNING value"));
  TRY_ASSIGN(find_,
             database_.prepare(std::string("SELECT ") + kColumns +
                               ", unlinked, executables, own_executables "
                               "FROM entries WHERE key = ?1"));
  TRY_ASSIGN(insert_,
             database_.prepare("INSERT OR REPLACE INTO entries VALUES(?1, ?2, "
                               "?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?10, ?11, "
                               "?12)"));
  TRY_ASSIGN(touch_, database_.prepare(
                         "UPDATE entries SET used_ns = ?2 WHERE key = ?1"));
  TRY_ASSIGN(count_, database_.prepare("UPDATE counters SET value = value + ?2 "
                                       "WHERE name = CAST(?1 AS TEXT)"));
  TRY_ASSIGN(remove_, database_.prepare("DELETE FROM entries WHERE id = ?1"));
  return {};
}

Result<int64_t> Index::next_id() {
  std::lock_guard lock(mutex_);
  TRY(next_.step());
  int64_t id = next_.integer(0);
  TRY(next_.run());
  return id;
}

Result<std::optional<EntryRow>> Index::find(std::string_view key) {
  std::lock_guard lock(mutex_);
  TRY_ASSIGN(bool found, find_.bind(1, key).step());
  std::optional<EntryRow> out;
  if (found) {
    out = read_row(find_);
    out->facts.unlinked = unpack(find_.bytes(10));
    out->facts.executables = find_.bytes(11);
    out->facts.own_executables = find_.bytes(12);
  }
  find_.reset();
  return out;
}

Result<void> Index::insert(const EntryRow& row,
                           const std::function<Result<void>()>& publish) {
  std::lock_guard lock(mutex_);
  Transaction transaction(database_);
  TRY(transaction.begin());
  insert_.bind(1, row.id).bind(2, row.key).bind(3, row.recipe);
  insert_.bind(4, as_signed(row.tree_inode));
  insert_.bind(5, as_signed(row.facts.bytes));
  insert_.bind(6, as_signed(row.facts.files));
  insert_.bind(7, as_signed(row.facts.directories));
  insert_.bind(8, as_signed(row.facts.symlinks)).bind(9, now_ns());
  insert_.bind(10, pack(row.facts.unlinked));
  insert_.bind(11, row.facts.executables).bind(12, row.facts.own_executables);
  TRY(insert_.run());
  TRY(publish());
  return transaction.commit();
}

Result<void> Index::count(Outcome outcome, std::string_view key) {
  std::lock_guard lock(mutex_);
  Transaction transaction(database_);
  TRY(transaction.begin());
  if (outcome != Outcome::direct) {
    TRY(touch_.bind(1, key).bind(2, now_ns()).run());
  }
  TRY(count_.bind(1, to_string(outcome)).bind(2, int64_t{1}).run());
  return transaction.commit();
}

Result<bool> Index::remove(std::string_view key, const Take& take) {
  std::lock_guard lock(mutex_);
  Transaction transaction(database_);
  TRY(transaction.begin());
  TRY_ASSIGN(bool found, find_.bind(1, key).step());
  int64_t id = found ? find_.integer(0) : 0;
  find_.reset();
  if (!found || !take(id)) {
    return false;
  }
  TRY(remove_.bind(1, id).run());
  TRY(add_evicted(1));
  TRY(transaction.commit());
  return true;
}

Result<void> Index::add_evicted(size_t count) {
  return count_.bind(1, "evicted").bind(2, static_cast<int64_t>(count)).run();
}

Result<std::vector<int64_t>> Index::trim(const Limits& limits, const Take& take,
                                         uint64_t* bytes) {
  std::lock_guard lock(mutex_);
  Transaction transaction(database_);
  TRY(transaction.begin());
  TRY_ASSIGN(Statement sums,
             database_.prepare(
                 "SELECT COALESCE(SUM(bytes), 0), COUNT(*) FROM entries"));
  TRY(sums.step());
  Excess excess(limits, static_cast<uint64_t>(sums.integer(0)),
                static_cast<uint64_t>(sums.integer(1)));
  sums.reset();
  TRY_ASSIGN(Statement oldest,
             database_.prepare(std::string("SELECT ") + kColumns +
                               " FROM entries ORDER BY used_ns, id"));
  std::vector<int64_t> gone;
  for (;;) {
    TRY_ASSIGN(bool more, oldest.step());
    if (!more) {
      break;
    }
    EntryRow row = read_row(oldest);
    if (!excess.has_to_go(row)) {
      break;
    }
    if (take(row.id)) {
      gone.push_back(row.id);
      excess.gone(row);
      *bytes += row.facts.bytes;
    }
  }
  oldest.reset();
  for (int64_t id : gone) {
    TRY(remove_.bind(1, id).run());
  }
  if (!gone.empty()) {
    TRY(add_evicted(gone.size()));
  }
  TRY(transaction.commit());
  return gone;
}

Result<std::vector<EntryRow>> Index::list() {
  std::lock_guard lock(mutex_);
  TRY_ASSIGN(Statement all,
             database_.prepare(std::string("SELECT ") + kColumns +
                               " FROM entries ORDER BY used_ns, id"));
  std::vector<EntryRow> out;
  for (;;) {
    TRY_ASSIGN(bool more, all.step());
    if (!more) {
      return out;
    }
    out.push_back(read_row(all));
  }
}

Result<std::vector<int64_t>> Index::ids() {
  std::lock_guard lock(mutex_);
  TRY_ASSIGN(Statement all, database_.prepare("SELECT id FROM entries"));
  std::vector<int64_t> out;
  for (;;) {
    TRY_ASSIGN(bool more, all.step());
    if (!more) {
      return out;
    }
    out.push_back(all.integer(0));
  }
}

Result<Counts> Index::counts() {
  std::lock_guard lock(mutex_);
  TRY_ASSIGN(Statement one, database_.prepare("SELECT value FROM counters "
                                              "WHERE name = CAST(?1 AS TEXT)"));
  auto value = [&one](std::string_view name) -> Result<uint64_t> {
    TRY(one.bind(1, name).step());
    int64_t found = one.integer(0);
    one.reset();
    return static_cast<uint64_t>(found);
  };
  Counts out;
  TRY_ASSIGN(out.hits, value("hit"));
  TRY_ASSIGN(out.built, value("built"));
  TRY_ASSIGN(out.direct, value("direct"));
  TRY_ASSIGN(out.evicted, value("evicted"));
  return out;
}

}  // namespace lamina::cache
