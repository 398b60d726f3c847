// Locks between threads and processes, by flock(2): they end with the process
// that holds them, however it ends.
//
// A lock belongs to one open file description, so two threads of a process
// exclude each other as two processes do. A child that is forked shares the
// description until it calls exec; letting go is explicit, so it lets go for
// both.
#pragma once

#include <stop_token>
#include <string>

#include "base/error.h"
#include "base/fd.h"

namespace lamina::cache {

enum class Hold { shared, alone };

// A lock on an open file or directory.
class FileLock {
 public:
  FileLock() = default;
  explicit FileLock(Fd fd)
      : fd_(std::move(fd)) {}
  FileLock(FileLock&&) = default;
  FileLock& operator=(FileLock&& other) noexcept;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock() { release(); }

  // Takes the lock, or changes how it is held (then it may be lost for a
  // moment); false when somebody else's is in the way.
  Result<bool> try_take(Hold hold, std::string_view subject);
  // The same, waiting; ECANCELED when stopped.
  Result<void> take(Hold hold, std::string_view subject,
                    const std::stop_token& stop);

  const Fd& fd() const { return fd_; }
  bool valid() const { return fd_.valid(); }
  void release();

 private:
  Fd fd_;
};

// Holds the lock file `name` in the directory `dir` alone; it is made for this
// and removed with the lock.
class NameLock {
 public:
  static Result<NameLock> take(const Fd& dir, std::string name,
                               const std::stop_token& stop);
  NameLock(NameLock&&) = default;
  NameLock& operator=(NameLock&&) = delete;
  NameLock(const NameLock&) = delete;
  NameLock& operator=(const NameLock&) = delete;
  ~NameLock();

 private:
  NameLock(int dir, std::string name, FileLock lock);

  int dir_;
  std::string name_;
  FileLock lock_;
};

}  // namespace lamina::cache
