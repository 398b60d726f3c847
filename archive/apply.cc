#include "archive/apply.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "archive/applier.h"
#include "archive/apply_state.h"
#include "archive/tar_reader.h"
#include "base/fs_kind.h"
#include "base/kernel.h"
#include "base/umask.h"
#include "base/worker_pool.h"
#include "copy/destination.h"
#include "copy/width.h"

namespace lamina::archive {

namespace {

constexpr size_t kSlabs = 32;
constexpr int kDirectoryFlags =
    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
constexpr mode_t kNewRootMode = 0755;

// The root of an apply: taken over like a copy's if it is absent or empty, or
// simply opened if it holds something.
class Root {
 public:
  Result<void> open(Kernel& kernel, const NamePlace& place) {
    auto prepared = copy::Destination::prepare(kernel, place.parent, place.name,
                                               place.shown);
    if (prepared) {
      taken_ = std::move(*prepared);
      return {};
    }
    if (prepared.error().code != ENOTEMPTY) {
      return fail(std::move(prepared.error()));
    }
    fd_.reset(kernel.openat(place.parent.get(), place.name.c_str(),
                            kDirectoryFlags, 0));
    if (!fd_.valid()) {
      return fail(last_error("open", place.shown));
    }
    if (kernel.fstat(fd_.get(), &stat_) != 0) {
      return fail(last_error("fstat", place.shown));
    }
    return {};
  }

  const Fd& fd() const { return taken_ ? taken_->root() : fd_; }
  const struct stat& stat() const { return taken_ ? taken_->stat() : stat_; }
  bool was_empty() const { return taken_.has_value(); }

  Result<void> undo(WorkerPool& pool) {
    return taken_ ? taken_->undo(pool) : Result<void>();
  }

  // Gives a root that the layer does not name its own attributes.
  Result<void> settle(Kernel& kernel, std::string_view shown) {
    if (!taken_) {
      timespec times[2] = {stat_.st_atim, stat_.st_mtim};
      if (kernel.futimens(fd_.get(), times) != 0) {
        return fail(last_error("utimensat", shown));
      }
      return {};
    }
    if (!taken_->made()) {
      return taken_->restore();
    }
    if (kernel.fchmod(taken_->root().get(), kNewRootMode) != 0) {
      return fail(last_error("chmod", shown));
    }
    return {};
  }

 private:
  std::optional<copy::Destination> taken_;
  Fd fd_;
  struct stat stat_ {};
};

Error stopped() {
  return make_error(ECANCELED, "apply", "", "stopped");
}

class Apply {
 public:
  Apply(const ApplyOptions& options, Kernel& kernel, WorkerPool& pool)
      : options_(options),
        kernel_(kernel),
        pool_(pool),
        state_(options, kernel) {}

  Result<ApplyReport> run(Source& source, const NamePlace& place) {
    const auto begun = std::chrono::steady_clock::now();
    TRY(root_.open(kernel_, place));
    auto applied = apply(source, place);
    if (applied) {
      applied->seconds = std::chrono::steady_clock::now() - begun;
      return applied;
    }
    Error error = std::move(applied.error());
    bool kept = options_.leftovers == copy::Leftovers::kept;
    if (!kept) {
      if (auto undone = root_.undo(pool_); !undone) {
        error.text +=
            " (what was made stays: " + undone.error().message() + ")";
      }
    }
    if (kept || !root_.was_empty()) {
      error.text += error.text.empty() ? "" : " ";
      error.text +=
          "(" + std::to_string(entries_) + " entries were applied and stay)";
    }
    return fail(std::move(error));
  }

 private:
  Result<ApplyReport> apply(Source& source, const NamePlace& place) {
    state_.umask = read_umask();
    state_.birth.uid = geteuid();
    state_.birth.gid = getegid();
    state_.birth.owner_known = root_.stat().st_uid == state_.birth.uid &&
                               (root_.stat().st_gid == state_.birth.gid);
    TRY_ASSIGN(FsKind kind, fs_kind_of(kernel_, root_.fd(), place.shown));
    unsigned width = options_.workers != 0
                         ? options_.workers
                         : copy::best_width(kind, usable_cpus());
    TaskGroup group(pool_, root_.stat().st_dev, width, Owner::produces);
    SlabRing ring(kSlabs);
    Applier applier(
        state_, root_.fd(), root_.stat(),
        root_.was_empty() ? Applier::Lower::none : Applier::Lower::present,
        group);
    auto read = read_all(source, ring, applier, group);
    entries_ = applier.report().entries;
    if (!read) {
      if (!root_.was_empty() || options_.leftovers == copy::Leftovers::kept) {
        // What was applied is to look as finished as it can.
        [[maybe_unused]] auto finished = applier.finish_directories();
        if (!applier.root_named()) {
          [[maybe_unused]] auto settled = root_.settle(kernel_, place.shown);
        }
      }
      return fail(std::move(read.error()));
    }
    TRY(applier.finish_directories());
    if (!applier.root_named()) {
      TRY(root_.settle(kernel_, place.shown));
    }
    return fill_report(applier.report(), *read, group.workers_used());
  }

  // Reads the layer to its end, and waits for all that was begun, whatever
  // happens: tasks refer to what the caller holds.
  Result<DecodeSummary> read_all(Source& source, SlabRing& ring,
                                 Applier& applier, TaskGroup& group) {
    DecodeOptions decoding;
    decoding.window_log = options_.window_log;
    decoding.max_bytes = options_.max_bytes;
    decoding.max_ratio = options_.max_ratio;
    decoding.bytes_in = options_.bytes_in;
    DecodeStream stream(source, ring, decoding);
    {
      // The reader may wait for a sender that is silent.
      std::stop_callback on_stop(options_.stop, [&] {
        source.cancel();
        ring.cancel();
      });
      read_entries(stream, applier);
    }
    applier.flush();
    group.run();
    if (auto error = state_.failure.get()) {
      return fail(error->code == ECANCELED ? stopped() : std::move(*error));
    }
    TRY_ASSIGN(DecodeSummary summary, stream.finish());
    TRY(check_digests(summary));
    return summary;
  }

  // Errors go to the state, where the first in the archive's order stays.
  void read_entries(DecodeStream& stream, Applier& applier) {
    TarLimits limits;
    limits.entries = options_.max_entries;
    TarReader reader(stream, limits);
    while (!state_.failure.any()) {
      if (options_.stop.stop_requested()) {
        state_.failure.note(reader.entries(), stopped());
        return;
      }
      auto entry = reader.next();
      if (!entry) {
        state_.failure.note(reader.entries(), std::move(entry.error()));
        return;
      }
      if (!*entry) {
        return;
      }
      apply_one(std::move(**entry), reader, applier);
    }
  }

  void apply_one(TarEntry entry, TarReader& reader, Applier& applier) {
    uint64_t ordinal = entry.ordinal;
    std::string path(entry.path);
    auto applied = applier.apply(std::move(entry), reader);
    if (!applied) {
      if (applied.error().subject.empty()) {
        applied.error().subject = std::move(path);
      }
      state_.failure.note(ordinal, std::move(applied.error()));
    }
  }

  Result<void> check_digests(const DecodeSummary& summary) {
    TRY(check_digest("diffID", options_.expect_diff_id, summary.diff_id));
    return check_digest("digest", options_.expect_digest, summary.blob_digest);
  }

  Result<void> check_digest(std::string_view which,
                            const std::optional<Digest>& wanted,
                            const std::optional<Digest>& found) {
    if (!wanted || (found && *wanted == *found)) {
      return {};
    }
    return fail(make_error(EBADMSG, "check " + std::string(which), "",
                           "wanted " + wanted->text() + ", the layer has " +
                               (found ? found->text() : std::string("none"))));
  }

  Result<ApplyReport> fill_report(ApplyReport report,
                                  const DecodeSummary& summary,
                                  unsigned workers) {
    copy::Report counted = state_.counters.get();
    report.forgiven_owners = counted.forgiven_owners;
    report.forgiven_xattrs = counted.forgiven_xattrs;
    report.forgiven_specials = counted.forgiven_specials;
    report.forgiven_modes = counted.forgiven_modes;
    report.first_forgiven = counted.first_forgiven;
    report.dropped_xattrs = state_.dropped_xattrs;
    report.bytes_in = summary.bytes_in;
    report.bytes_out = summary.bytes_out;
    report.diff_id = summary.diff_id.value_or(Digest());
    report.digest = summary.blob_digest.value_or(Digest());
    report.workers = workers;
    return report;
  }

  const ApplyOptions& options_;
  Kernel& kernel_;
  WorkerPool& pool_;
  ApplyState state_;
  Root root_;
  uint64_t entries_ = 0;
};

}  // namespace

Result<ApplyReport> apply_layer(Source& source, const NamePlace& root,
                                const ApplyOptions& options) {
  Apply apply(options,
              options.kernel != nullptr ? *options.kernel : real_kernel(),
              options.pool != nullptr ? *options.pool : WorkerPool::shared());
  return apply.run(source, root);
}

}  // namespace lamina::archive
