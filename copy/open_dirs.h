// The open directories of one walk, within a budget of descriptors.
//
// Directories that have not been used for longest are closed when the budget is
// passed, and found again when needed: through ".." of a child that is open,
// else by their names from the nearest open ancestor, device and inode checked
// either way. The budget is one for the process, half of RLIMIT_NOFILE's soft
// limit; a walk always may hold a few. The root stays open. Any thread may call
// any function.
#pragma once

#include <list>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "base/fd.h"
#include "copy/dir.h"

namespace lamina {
class Kernel;
}

namespace lamina::copy {

class OpenDirs {
 public:
  explicit OpenDirs(Kernel& kernel);
  OpenDirs(const OpenDirs&) = delete;
  OpenDirs& operator=(const OpenDirs&) = delete;
  // Closes every directory.
  ~OpenDirs();

  // Takes a descriptor that was just opened for one side of `dir`.
  SharedFd put(Dir& dir, Side side, Fd fd);

  // The descriptor of one side, opened again if it was closed. An Error says
  // ESTALE when another directory stands there now.
  Result<SharedFd> get(Dir& dir, Side side);

  // Opens the parent of `dir` again through "..", while `dir` is still open:
  // one call instead of a walk from the top. Failures are left to get().
  void reopen_parent(Dir& dir);

  // Notes which inode the target of `dir` is, while it is open, so that get()
  // can find it again after forget(). Costs a call the first time.
  Result<void> remember(Dir& dir);

  // Closes both sides of a directory that is done.
  void forget(Dir& dir);

 private:
  SharedFd find(Dir& dir, Side side);
  Result<Fd> reopen(Dir& dir, Side side);
  bool is_same(const Dir& dir, Side side, const Fd& fd) const;
  void keep(Dir& dir, Side side, SharedFd fd);
  void shrink();
  void close(Dir& dir);
  bool note_target(Dir& dir);

  Kernel& kernel_;
  std::mutex mutex_;
  // Shares: a directory that is done is opened again when a hard link needs it,
  // and must not go while it is listed.
  std::list<std::shared_ptr<Dir>>
      used_;  // The most recently used at the front.
  std::weak_ptr<Dir> root_;
  size_t open_ = 0;
};

}  // namespace lamina::copy
