#include "copy/batch_chunk.h"

#include <cerrno>
#include <utility>

namespace lamina::copy {

Task::Turn BatchChunk::run(const Worker& worker) {
  uint64_t moved = 0;
  size_t done = 0;
  while (next_ < jobs_.size() && done < kTurnEntries && moved < kTurnBytes) {
    if (work(jobs_[next_], worker, moved)) {
      begun_ = false;
      ++next_;
      ++done;
    }
  }
  state_.add(tally_);
  return next_ < jobs_.size() ? Task::Turn::again : Task::Turn::done;
}

bool BatchChunk::work(const BatchJob& job, const Worker& worker,
                      uint64_t& moved) {
  if (state_.options.stop.stop_requested()) {
    state_.failure.end(make_error(ECANCELED, "write", "", "stopped"));
  }
  if (!state_.failure.wants(job.entry)) {
    if (begun_) {
      file_.drop();
    }
    return true;
  }
  auto whole = write(job, worker);
  if (!whole) {
    file_.drop();
    if (whole.error().subject.empty()) {
      whole.error().subject = std::string(state_.entries[job.entry].path);
    }
    state_.failure.note(job.entry, std::move(whole.error()));
    return true;
  }
  if (!*whole) {
    moved += FileData::kStepBytes;
    return false;
  }
  moved += file_.size() % FileData::kStepBytes;
  count(job);
  wrote(job, file_);
  return true;
}

Result<bool> BatchChunk::write(const BatchJob& job, const Worker& worker) {
  if (!begun_) {
    begun_ = true;
    TRY(file_.begin(job, worker));
  }
  return file_.step();
}

void BatchChunk::count(const BatchJob& job) {
  state_.written[job.entry] = 1;
  tally_.replaced += file_.replaced() ? 1 : 0;
  tally_.bytes += file_.size();
  switch (file_.moved()) {
    case Moved::nothing:
      break;
    case Moved::cloned:
      ++tally_.reflinked;
      break;
    case Moved::by_range:
      ++tally_.copied_by_range;
      break;
    case Moved::by_read_write:
      ++tally_.copied_by_read_write;
      break;
  }
  if (Progress* progress = state_.options.progress) {
    progress->entries.fetch_add(1, std::memory_order_relaxed);
    progress->bytes.fetch_add(file_.size(), std::memory_order_relaxed);
  }
}

void FoldingChunk::wrote(const BatchJob& job, const BatchFile& file) {
  if (auto old = entry_of_.find(file.replaced_inode());
      old != entry_of_.end()) {
    state().plan.superseded_by[old->second] = job.entry;
    entry_of_.erase(old);
  }
  entry_of_[file.inode()] = job.entry;
}

void ChunkQueue::push(std::unique_ptr<BatchChunk> chunk) {
  std::lock_guard lock(mutex_);
  chunks_.push_back(std::move(chunk));
}

std::unique_ptr<BatchChunk> ChunkQueue::pop() {
  std::lock_guard lock(mutex_);
  std::unique_ptr<BatchChunk> chunk = std::move(chunks_.front());
  chunks_.pop_front();
  return chunk;
}

Task::Turn NextChunk::run(Worker& worker) {
  if (!chunk_) {
    chunk_ = queue_.pop();
  }
  return chunk_->run(worker);
}

}  // namespace lamina::copy
