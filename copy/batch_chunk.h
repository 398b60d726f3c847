// Tasks of a batch: files to be written by whichever thread comes.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/worker_pool.h"
#include "copy/batch_file.h"
#include "copy/batch_state.h"

namespace lamina::copy {

// What a turn does at most.
inline constexpr size_t kTurnEntries = 64;
inline constexpr uint64_t kTurnBytes = FileData::kStepBytes;

// Files one after the other, in the order given.
class BatchChunk {
 public:
  explicit BatchChunk(BatchState& state)
      : state_(state),
        file_(state) {}

  BatchChunk(const BatchChunk&) = delete;
  BatchChunk& operator=(const BatchChunk&) = delete;
  virtual ~BatchChunk() = default;

  void add(const BatchJob& job) { jobs_.push_back(job); }
  size_t size() const { return jobs_.size(); }

  // Writes for one turn.
  Task::Turn run(const Worker& worker);

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

// Chunks that wait, the oldest first, where the pool would take the newest task
// first: a disk that fills up is to fail the last entries of a batch.
class ChunkQueue {
 public:
  void push(std::unique_ptr<BatchChunk> chunk);
  std::unique_ptr<BatchChunk> pop();

 private:
  std::mutex mutex_;
  std::deque<std::unique_ptr<BatchChunk>> chunks_;
};

// The task for one chunk of a queue, whichever is next when it begins.
class NextChunk final : public Task {
 public:
  explicit NextChunk(ChunkQueue& queue)
      : queue_(queue) {}

  Turn run(Worker& worker) override;

 private:
  ChunkQueue& queue_;
  std::unique_ptr<BatchChunk> chunk_;
};

}  // namespace lamina::copy
