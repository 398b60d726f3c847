// Walks a tree in parallel and hands every entry to a visitor.
//
// The walk owns order, depth, descriptors, splitting and the first error; the
// visitor owns what is done. Work is a Walker: a depth-first path through part
// of the tree. When the pool has nothing to do, a walker splits off a
// subdirectory of its shallowest directory, or a chunk of at most 64 entries of
// a large one. A directory is entered once, before its first child, and left
// after its last. Names of subdirectories are held for one buffer of entries at
// a time, so memory follows the open directories and not the tree.
//
// A tree that changes under the walk cannot make it endless: a directory that
// gains more than kNewcomers entries while it is read is an error.
#pragma once

#include <ctime>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/dir_reader.h"
#include "base/error.h"
#include "base/worker_pool.h"
#include "copy/dir.h"
#include "copy/first_error.h"
#include "copy/open_dirs.h"

namespace lamina {
class Kernel;
}

namespace lamina::copy {

// An entry as a visitor sees it.
struct Entry {
  Dir& dir;
  const DirEntry& listed;
  int source;  // Descriptor of the directory in the source tree.
  int target;  // And in the target tree, -1 where the walk has none.

  const char* name() const { return listed.name; }
  std::string path() const { return dir.path_of(listed.name_view()); }
};

// What remains of an entry after a visit.
enum class Visit {
  done,
  again,  // A large file: call resume() until it is done.
  enter,  // It is a directory: enter it later.
};

class Visitor {
 public:
  Visitor() = default;
  Visitor(const Visitor&) = delete;
  Visitor& operator=(const Visitor&) = delete;
  virtual ~Visitor() = default;

  // A visitor of the same kind for another walker; what they share is theirs to
  // guard. Each is used by one thread at a time.
  virtual std::unique_ptr<Visitor> fork() = 0;

  // Called when a thread takes the walker up and when it puts it down.
  virtual void begin_turn(const Worker& worker) = 0;
  virtual void end_turn() = 0;

  // Opens `dir` (a name in its parent, whose descriptors are given) and hands
  // its descriptors to `open`. Sets Dir::stat. Returning false skips it.
  virtual Result<bool> enter(Dir& dir, int parent_source, int parent_target,
                             OpenDirs& open) = 0;

  // Works on an entry that the listing calls something else than a directory,
  // or does not classify.
  virtual Result<Visit> visit(const Entry& entry) = 0;
  // Goes on with the entry that answered `again`; at most 16 MiB a call.
  virtual Result<Visit> resume(const Entry& entry) = 0;

  // Finishes a directory whose children are all done.
  virtual Result<void> leave(Dir& dir, OpenDirs& open) = 0;
};

// How many trees a walk has open side by side.
enum class Trees { source_only, source_and_target };

struct WalkOptions {
  Kernel& kernel;
  WorkerPool& pool;
  Trees trees = Trees::source_only;
  dev_t device = 0;    // Whose writers are bounded.
  unsigned width = 1;  // By how many.
  std::stop_token stop;
};

class Walk {
 public:
  static constexpr size_t kTurnEntries = 64;
  static constexpr uint32_t kNewcomers = 1 << 16;

  explicit Walk(const WalkOptions& options);
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  // Walks the tree whose root is already entered: `root` has its stat and its
  // descriptors are in open(). Returns the first error in walk order; ECANCELED
  // when the stop token asked to end.
  Result<void> run(std::shared_ptr<Dir> root, std::unique_ptr<Visitor> visitor);

  OpenDirs& open() { return open_; }
  FirstError& errors() { return errors_; }
  unsigned workers_used() const { return group_.workers_used(); }

 private:
  friend class Walker;

  Kernel& kernel_;
  const Trees trees_;
  std::stop_token stop_;
  OpenDirs open_;
  FirstError errors_;
  TaskGroup group_;
};

}  // namespace lamina::copy
