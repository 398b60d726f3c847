// The directory that a cache lives in.
//
//   ROOT/lock             held, shared, by everyone who has the cache open
//   ROOT/index.db         which entries there are (index.h), with -wal and -shm
//   ROOT/entries/N/tree   the tree of entry N; whoever hands it out holds a
//   ROOT/entries/N/...    shared lock on the directory N: a pin
//   ROOT/blobs/sha256/HEX the bytes of files, mode 0444, as in an OCI layout
//   ROOT/variants/HEX     the same bytes, mode 0555, while they may be wanted
//   ROOT/staging/N        what is being made, locked by who makes it
//   ROOT/trash/N          what is being deleted
//   ROOT/locks/...        one for each key or variant that is being made
//
// Everything is made with mode 0700 or stricter below ROOT: files that can be
// reached through a handed-out tree are only seen there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "cache/file_lock.h"

namespace lamina::cache {

struct Root {
  std::string shown;
  Fd dir;
  Fd entries;
  Fd blobs;  // blobs/sha256
  Fd variants;
  Fd staging;
  Fd trash;
  Fd locks;
  FileLock lock;
};

// Opens the root at `path`, made where it is missing (its parents too), and
// holds its lock alone when nobody else has it open.
Result<Root> open_root(std::string_view path);

// An entry, or one being made, that cannot go while this lives.
class Pin {
 public:
  Pin() = default;

  // Pins the directory `name` of `where`; nullopt when it is not there or
  // somebody holds it in a way that this hold cannot be had beside.
  static Result<std::optional<Pin>> take(const Fd& where,
                                         const std::string& name, Hold hold);

  // Makes the directory, of a name that nobody else uses, and pins it, shared.
  static Result<Pin> make(const Fd& where, const std::string& name);

  const Fd& dir() const { return lock_.fd(); }
  bool valid() const { return lock_.valid(); }

 private:
  FileLock lock_;
};

// Opens the directory `name` in `dir`, not through a symlink.
Result<Fd> open_below(const Fd& dir, const char* name);

}  // namespace lamina::cache
