// Writes one file of a batch, in steps: created, filled, finished, closed, and
// given its name.
//
// One thread at a time; reused for one file after the other.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "base/worker_pool.h"
#include "copy/batch_state.h"
#include "copy/data.h"

namespace lamina::copy {

class BatchFile {
 public:
  explicit BatchFile(BatchState& state)
      : state_(state),
        kernel_(state.kernel) {}
  BatchFile(const BatchFile&) = delete;
  BatchFile& operator=(const BatchFile&) = delete;

  // Creates the file: under its own name where that is free, else under a
  // temporary one.
  Result<void> begin(const BatchJob& job, const Worker& worker);

  // Moves the next bytes, at most FileData::kStepBytes; true when the file is
  // whole and has its name.
  Result<bool> step();

  // Takes back what begin() made, after a failure of either.
  void drop();

  // Of the file written last. Inodes are only known where the directory folds
  // case; that of what was replaced is 0 when nothing was.
  uint64_t size() const { return size_; }
  bool replaced() const { return temporary_; }
  ino_t inode() const { return inode_; }
  ino_t replaced_inode() const { return replaced_inode_; }
  Moved moved() const { return moved_; }

 private:
  Result<void> open_source(const std::string& from);
  Result<void> create(mode_t mode);
  Result<void> note_replaced();
  Result<bool> move();
  Result<void> finish();
  const std::string& made_name() const { return temporary_ ? spare_ : name_; }

  BatchState& state_;
  Kernel& kernel_;
  BatchJob job_;
  SharedFd dir_;
  const BatchDir* dir_of_ = nullptr;
  std::string name_;
  std::string spare_;  // The temporary name.
  bool temporary_ = false;
  bool made_ = false;
  Fd target_;
  mode_t wanted_ = 0;
  mode_t born_ = 0;
  uint64_t at_ = 0;
  uint64_t size_ = 0;
  ino_t inode_ = 0;
  ino_t replaced_inode_ = 0;

  Fd source_;
  struct stat source_stat_ {};
  FileData data_;
  CopyBuffer buffer_;
  Moved moved_ = Moved::nothing;
};

}  // namespace lamina::copy
