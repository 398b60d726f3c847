// The tree cache: ready-made trees by key, handed out by reflink or hard link.
//
//   lamina::cache::Cache cache("/var/cache/lamina");
//   auto recipe = lamina::cache::ManifestRecipe::of_json(json, "inputs",
//   &blobs); auto answer = cache.get({key, destination, &*recipe}); if (answer)
//   { std::cout << to_string(answer->outcome) << '\n'; }
//
// get() builds a tree the first time its key is asked for, once however many
// threads and processes ask, and hands it out from then on. Files are handed
// out read-only and directories writable; whoever is given a tree may add to
// it. What is handed out by hard link shares its inodes with the cache: root,
// or an owner who changes a file's mode, can write through; verify() tells.
//
// Any thread may call any function. Nothing process-wide is changed and nothing
// is logged. root.h says how the directory is laid out.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/path.h"
#include "cache/index.h"
#include "cache/recipe.h"
#include "cache/root.h"
#include "copy/options.h"
#include "copy/report.h"

namespace lamina::cache {

struct CacheOptions {
  // Held to when a tree was added; unused_since_ns is not looked at.
  Limits limits;
  std::stop_token stop;  // Ends any call with ECANCELED.
};

struct Request {
  std::string_view key;  // Opaque bytes.
  // Absent, or an empty directory.
  const NamePlace& destination;
  // How to make the tree if it is not there; null: then that is an error.
  Recipe* recipe = nullptr;
  // automatic: a reflink where both sides lie on a file system that has them,
  // else a hard link. What can be neither is copied and counted.
  copy::Sharing sharing = copy::Sharing::automatic;
};

struct Answer {
  Outcome outcome = Outcome::hit;
  // Why it was not a hit, or what a hit lacked; "" when there is nothing to
  // say.
  std::string reason;
  uint64_t bytes = 0;  // Sum of the sizes of its files.
  uint64_t files = 0;
  uint64_t directories = 0;  // The destination counted.
  uint64_t symlinks = 0;
  // How the files came to the destination.
  uint64_t linked = 0;
  uint64_t reflinked = 0;
  uint64_t copied = 0;  // Those that are empty counted.
  // How the entry was built, for `built` and `direct`.
  BuiltTree build;
  std::chrono::duration<double> seconds{0};
};

struct Added {
  std::string manifest;  // The JSON form.
  std::string recipe;    // Its digest.
  bool present = false;  // The same tree was there under this key.
  uint64_t bytes = 0;
  uint64_t files = 0;
  uint64_t blobs = 0;        // New ones,
  uint64_t bytes_added = 0;  // and their bytes.
};

struct Contents {
  std::vector<EntryRow> entries;  // The least recently used first.
  std::vector<bool> in_use;       // Beside them: handed out at this moment.
  Counts counts;
};

struct Evicted {
  uint64_t entries = 0;
  uint64_t bytes = 0;   // Sum of the sizes of their files.
  uint64_t in_use = 0;  // Left because they were being handed out.
  uint64_t blobs = 0;   // Of the cache's own that nothing needs any more.
};

// Something that is not as it was made.
struct Fault {
  std::string key;   // "" for a blob.
  std::string path;  // In the tree of the entry, or in the root.
  std::string what;
};

struct Verified {
  uint64_t entries = 0;
  uint64_t blobs = 0;
  uint64_t bytes = 0;  // That were hashed.
  std::vector<Fault> faults;
};

class Cache {
 public:
  // Nothing is opened yet.
  explicit Cache(std::string root, CacheOptions options = {});
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  ~Cache();

  // Opens the root, made where it is missing, and sweeps what a crash left.
  // Called by all other functions; for who wants to know early.
  Result<void> open();

  // Hands out a tree. After an error the destination is what it was. If the
  // cache fails and there is a recipe, the tree is made at the destination
  // without it, and the answer is `direct` with the reason.
  Result<Answer> get(const Request& request);

  // Takes the tree below `tree`, called `shown` in errors, in under `key`: its
  // files go to the cache's own blobs. A tree that is there by this key is
  // replaced.
  Result<Added> add(std::string_view key, const Fd& tree,
                    std::string_view shown);

  Result<Contents> list();

  // Removes the least recently used entries until the limits hold, and blobs of
  // the cache's own that nothing needs any more. Entries in use stay.
  Result<Evicted> evict(const Limits& limits);
  // Removes the entry of a key. ENOENT when there is none, EBUSY when it is in
  // use.
  Result<Evicted> evict(std::string_view key);

  // Reads everything and compares it with the manifests and digests. With a key
  // that entry alone (ENOENT when there is none). Changes nothing.
  Result<Verified> verify();
  Result<Verified> verify(std::string_view key);

 private:
  // An entry that stays while this lives.
  struct Held {
    EntryRow row;
    Pin pin;
    Fd tree;
  };

  // cache.cc
  Result<std::optional<Held>> hold(std::string_view key,
                                   std::string_view recipe,
                                   std::string* why_not);
  Result<Held> build(std::string_view key, Recipe& recipe, BuiltTree* built);
  Result<void> fill(const Pin& staged, Recipe& recipe, EntryRow* row,
                    BuiltTree* built);
  Result<FileLock> use_blobs(Hold hold);
  Result<NameLock> lock_key(std::string_view key);

  // get.cc
  Result<void> serve(const Request& request, Answer* answer);
  Result<Held> find_or_build(const Request& request, Answer* answer);
  Result<copy::Report> copy_out(const Request& request, const Held& held);
  Result<bool> may_reflink(const NamePlace& destination);
  Result<void> learn_no_reflinks(const NamePlace& destination);
  static Result<void> settle_copies(const Request& request,
                                    const TreeFacts& facts,
                                    const copy::Report& report);
  Result<void> note(const Request& request, const Held& held,
                    const copy::Report& report, Answer* answer);
  Result<void> forget(std::string_view key);
  Result<void> make_direct(const Request& request, Answer* answer);

  // evict.cc
  bool throw_away(int64_t id);
  Result<Evicted> trim(const Limits& limits);
  Result<void> empty_trash(int64_t id);
  Result<void> hold_limits();
  Result<uint64_t> drop_blobs();
  Result<void> sweep_unfinished(const Fd& dir);
  Result<void> sweep_unknown();
  Result<void> sweep_variants();

  // verify.cc
  Result<void> verify_entry(const EntryRow& row, Verified* out);
  Result<void> verify_blobs(Verified* out);

  const std::string path_;
  const CacheOptions options_;
  std::mutex opening_;
  bool opened_ = false;  // Guarded by opening_; what follows is constant then.
  Root root_;
  Index index_;
  std::mutex learning_;
  std::set<dev_t> no_reflinks_;  // Guarded by learning_: to these devices.
};

}  // namespace lamina::cache
