#include "copy/write_batch.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "base/kernel.h"
#include "base/path.h"
#include "base/umask.h"
#include "base/worker_pool.h"
#include "copy/batch_aliases.h"
#include "copy/batch_chunk.h"
#include "copy/batch_state.h"
#include "copy/width.h"

namespace lamina::copy {

namespace {

using Clock = std::chrono::steady_clock;

constexpr mode_t kRootMode = 0755;
// A chunk of small files is a turn; of larger ones less, so that all threads
// have some of a batch of few.
constexpr uint64_t kChunkBytes = uint64_t{4} * 1024 * 1024;
// What a file counts that is not looked at before its turn.
constexpr uint64_t kUnseenBytes = uint64_t{256} * 1024;
// Chunks that wait for a thread. More would only make directories so early that
// their descriptors are closed again before they are written to.
constexpr size_t kWaitingChunks = 4;

// One batch whose names are good.
class Batch {
 public:
  Batch(std::span<const BatchEntry> entries, BatchPlan plan,
        const BatchOptions& options, Kernel& kernel)
      : state_(entries, std::move(plan), options, kernel, read_umask()),
        aliases_(state_.plan) {}

  BatchResult run(const Fd& root) {
    auto begun = Clock::now();
    if (auto started = state_.dirs.start(root); !started) {
      return tl::unexpected(
          BatchFailure{std::move(started.error()), std::nullopt, {}});
    }
    write_all_entries();
    repair();
    BatchReport report = make_report();
    report.seconds = Clock::now() - begun;
    if (auto failure = state_.failure.get()) {
      std::optional<size_t> index;
      if (failure->number) {
        index = *failure->number;
      }
      return tl::unexpected(
          BatchFailure{std::move(failure->error), index, std::move(report)});
    }
    return report;
  }

 private:
  // An entry that is the same file as one that may be under way.
  struct Later {
    BatchJob job;
    uint32_t before;  // That one.
  };

  void write_all_entries() {
    const BatchOptions& options = state_.options;
    unsigned width = options.workers != 0
                         ? options.workers
                         : best_width(state_.dirs.kind(), usable_cpus());
    WorkerPool& pool =
        options.pool != nullptr ? *options.pool : WorkerPool::shared();
    TaskGroup group(pool, state_.dirs.device(), width);
    waiting_ = width == 1 ? 1 : kWaitingChunks;
    try {
      hand_out(group);
    } catch (...) {
      // Nothing may be under way when this returns, however it does.
      state_.failure.end(make_error(ECANCELED, "write", ""));
      group.run();
      throw;
    }
    group.run();
    workers_ = group.workers_used();
    write_later();
  }

  // In the entries' order, so that a disk that fills up fails the last of them.
  void hand_out(TaskGroup& group) {
    const BatchPlan& plan = state_.plan;
    dir_of_.resize(plan.parents.size());
    uint32_t parents = 0;
    for (uint32_t entry = 0; entry < plan.parent_of.size(); ++entry) {
      if (!state_.failure.wants(entry)) {
        break;
      }
      // Parents are numbered as they are met.
      for (; parents <= plan.parent_of[entry]; ++parents) {
        if (const BatchDir* dir = enter(parents)) {
          dir_of_[parents] = dir;
          aliases_.lead(parents, *dir, entry);
        }
      }
      if (plan.superseded_by[entry] == BatchPlan::kNone) {
        hand_out(group, entry);
      }
    }
    submit(group, std::move(chunk_));
    for (auto& [id, chunk] : folding_) {
      submit(group, std::move(chunk));
    }
  }

  void hand_out(TaskGroup& group, uint32_t entry) {
    const BatchDir* dir = dir_of_[state_.plan.parent_of[entry]];
    if (dir == nullptr) {
      return;
    }
    BatchJob job{entry, dir};
    if (aliases_.is_shared(*dir) &&
        state_.dirs.knows(*dir, state_.plan.name_of[entry])) {
      note(entry, make_error(EISDIR, "write", ""));
    } else if (dir->folds) {
      std::unique_ptr<BatchChunk>& chunk = folding_[dir->id];
      if (!chunk) {
        chunk = std::make_unique<FoldingChunk>(state_);
      }
      chunk->add(job);
    } else if (uint32_t before = aliases_.meet(entry, *dir);
               before != BatchPlan::kNone) {
      later_.push_back({job, before});
    } else {
      add(group, job);
    }
  }

  // The directory of a parent; null when it cannot be had, or is not wanted.
  const BatchDir* enter(uint32_t index) {
    const BatchPlan::Parent& parent = state_.plan.parents[index];
    if (index == 0) {
      return &state_.dirs.root();
    }
    const BatchDir* above = dir_of_[parent.above];
    if (above == nullptr || !state_.failure.wants(parent.first)) {
      return nullptr;
    }
    Result<const BatchDir*> entered =
        aliases_.file(*above, parent.name) == BatchPlan::kNone
            ? state_.dirs.enter(*above, parent.name)
            : fail(make_error(ENOTDIR, "write", "",
                              "a directory on its way is another entry"));
    if (entered) {
      return *entered;
    }
    // All below fails with its lowest entry.
    note(parent.first, std::move(entered.error()));
    return nullptr;
  }

  void note(uint32_t entry, Error error) {
    if (error.subject.empty()) {
      error.subject = std::string(state_.entries[entry].path);
    }
    state_.failure.note(entry, std::move(error));
  }

  void add(TaskGroup& group, const BatchJob& job) {
    if (!chunk_) {
      chunk_ = std::make_unique<BatchChunk>(state_);
      chunk_bytes_ = 0;
    }
    chunk_->add(job);
    const BatchEntry& entry = state_.entries[job.entry];
    chunk_bytes_ += entry.from.empty() ? entry.data.size() : kUnseenBytes;
    if (chunk_->size() == kTurnEntries || chunk_bytes_ >= kChunkBytes) {
      submit(group, std::move(chunk_));
    }
  }

  void submit(TaskGroup& group, std::unique_ptr<BatchChunk> chunk) {
    if (chunk) {
      queue_.push(std::move(chunk));
      group.submit(std::make_unique<NextChunk>(queue_));
    }
    while (group.waiting() >= waiting_ && group.help()) {
    }
  }

  // Aliases that were met when the entry before them might have been under way;
  // now nothing is.
  void write_later() {
    for (const Later& later : later_) {
      if (write_here(later.job)) {
        state_.plan.superseded_by[later.before] = later.job.entry;
      }
    }
  }

  bool write_here(const BatchJob& job) {
    BatchChunk chunk(state_);
    chunk.add(job);
    Worker worker;
    while (chunk.run(worker) == Task::Turn::again) {
    }
    return state_.written[job.entry] != 0;
  }

  // After a failure: an entry below it whose place a later one was to take,
  // which was not written, is due after all.
  void repair() {
    auto failure = state_.failure.get();
    if (!failure || !failure->number) {
      return;
    }
    BatchPlan& plan = state_.plan;
    for (auto i = static_cast<uint32_t>(*failure->number); i-- > 0;) {
      uint32_t winner = plan.winner(i);
      if (winner == i || state_.written[winner] != 0) {
        continue;
      }
      const BatchDir* dir = dir_of_[plan.parent_of[i]];
      if (dir != nullptr && write_here({i, dir})) {
        // From now on it is the one that others gave way to.
        plan.superseded_by[i] = BatchPlan::kNone;
        plan.superseded_by[winner] = i;
      }
    }
  }

  BatchReport make_report() const {
    BatchReport report = state_.sum();
    report.workers = workers_;
    report.directories = state_.dirs.made();
    const BatchPlan& plan = state_.plan;
    for (uint32_t i = 0; i < plan.superseded_by.size(); ++i) {
      uint32_t winner = plan.winner(i);
      if (winner == i) {
        report.files += state_.written[i];
      } else if (winner > i && state_.written[winner] != 0) {
        report.superseded.push_back(i);
      }
    }
    return report;
  }

  BatchState state_;
  BatchAliases aliases_;
  std::vector<const BatchDir*> dir_of_;  // By parent.
  ChunkQueue queue_;
  std::unique_ptr<BatchChunk> chunk_;
  uint64_t chunk_bytes_ = 0;
  std::map<uint32_t, std::unique_ptr<BatchChunk>> folding_;  // By directory.
  std::vector<Later> later_;
  size_t waiting_ = 1;
  unsigned workers_ = 1;
};

Kernel& kernel_of(const BatchOptions& options) {
  return options.kernel != nullptr ? *options.kernel : real_kernel();
}

// Opens the root, which is made where it is absent.
Result<Fd> open_root(Kernel& kernel, std::string_view path) {
  auto opened = open_directory(kernel, path);
  if (opened || opened.error().code != ENOENT) {
    return opened;
  }
  TRY_ASSIGN(NamePlace place, open_parent(kernel, path));
  if (kernel.mkdirat(place.parent.get(), place.name.c_str(), kRootMode) != 0) {
    return fail(last_error("mkdir", path));
  }
  TRY_ASSIGN(Fd root, open_directory(kernel, path));
  if ((kRootMode & read_umask()) != 0 &&
      kernel.fchmod(root.get(), kRootMode) != 0) {
    return fail(last_error("chmod", path));
  }
  return root;
}

BatchFailure without_index(Error error) {
  return {std::move(error), std::nullopt, {}};
}

}  // namespace

BatchResult write_batch(const Fd& root, std::span<const BatchEntry> entries,
                        const BatchOptions& options) {
  auto plan = BatchPlan::make(entries);
  if (!plan) {
    return tl::unexpected(std::move(plan.error()));
  }
  return Batch(entries, std::move(*plan), options, kernel_of(options))
      .run(root);
}

BatchResult write_batch(std::string_view root,
                        std::span<const BatchEntry> entries,
                        const BatchOptions& options) {
  auto plan = BatchPlan::make(entries);
  if (!plan) {
    return tl::unexpected(std::move(plan.error()));
  }
  auto opened = open_root(kernel_of(options), root);
  if (!opened) {
    return tl::unexpected(without_index(std::move(opened.error())));
  }
  auto done = Batch(entries, std::move(*plan), options, kernel_of(options))
                  .run(*opened);
  if (!done && done.error().error.subject.empty()) {
    done.error().error.subject = std::string(root);
  }
  return done;
}

}  // namespace lamina::copy
