// Tasks of a batch: files to be written by whichever thread comes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/worker_pool.h"
#include "copy/batch_file.h"
#include "copy/batch_state.h"

namespace lamina::copy {

// What a turn does at most.
inline constexpr size_t kTurnEntries = 64;
inline constexpr uint64_t kTurnBytes = FileData::kStepBytes;

// Files one after the other, in the order given.
class BatchChunk : public Task {
 public:
  explicit BatchChunk(BatchState& state)
      : state_(state),
        file_(state) {}

  void add(const BatchJob& job) { jobs_.push_back(job); }
  size_t size() const { return jobs_.size(); }

  Turn run(Worker& worker) final;

 protected:
  BatchState& state() { return state_; }

 private:
  // True when the job is done with; its bytes are added to `moved`.
  bool work(const BatchJob& job, const Worker& worker, uint64_t& moved);
  Result<bool> write(const BatchJob& job, const Worker& worker);
  void count(const BatchJob& job);
  virtual void wrote(const BatchJob& /*job*/, const BatchFile& /*file*/) {}

  BatchState& state_;
  std::vector<BatchJob> jobs_;
  size_t next_ = 0;
  bool begun_ = false;  // The next job's file is.
  BatchFile file_;
  BatchReport tally_;
};

// All files of one directory that folds case. Only the file system knows which
// of their names are one, so they are written in their order, and an inode that
// goes shows which entry it was.
class FoldingChunk final : public BatchChunk {
 public:
  using BatchChunk::BatchChunk;

 private:
  void wrote(const BatchJob& job, const BatchFile& file) override;

  std::map<ino_t, uint32_t> entry_of_;
};

}  // namespace lamina::copy
