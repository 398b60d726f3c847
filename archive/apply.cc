#include "archive/apply.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "archive/applier.h"
#include "archive/apply_state.h"
#include "archive/layer_root.h"
#include "archive/tar_reader.h"
#include "base/fs_kind.h"
#include "base/kernel.h"
#include "base/umask.h"
#include "base/worker_pool.h"
#include "copy/width.h"

namespace lamina::archive {

namespace {

constexpr size_t kSlabs = 32;

WorkerPool& pool_of(const ApplyOptions& options) {
  return options.pool != nullptr ? *options.pool : WorkerPool::shared();
}

Error stopped() {
  return make_error(ECANCELED, "apply", "", "stopped");
}

// One layer on its way to a root.
class Apply {
 public:
  Apply(LayerRoot& root, const ApplyOptions& options, Kernel& kernel)
      : root_(root),
        options_(options),
        kernel_(kernel),
        state_(options, kernel) {}

  Result<ApplyReport> run(Source& source) {
    const auto begun = std::chrono::steady_clock::now();
    TRY(root_.begin_layer());
    state_.umask = read_umask();
    state_.birth.uid = geteuid();
    state_.birth.gid = getegid();
    state_.birth.owner_known = root_.stat().st_uid == state_.birth.uid &&
                               (root_.stat().st_gid == state_.birth.gid);
    TRY_ASSIGN(FsKind kind, fs_kind_of(kernel_, root_.fd(), root_.shown()));
    unsigned width = options_.workers != 0
                         ? options_.workers
                         : copy::best_width(kind, usable_cpus());
    TaskGroup group(pool_of(options_), root_.stat().st_dev, width,
                    Owner::produces);
    SlabRing ring(kSlabs);
    Applier applier(
        state_, root_.fd(), root_.stat(),
        root_.holds_layers() ? Applier::Lower::present : Applier::Lower::none,
        group);
    auto read = read_all(source, ring, applier, group);
    entries_ = applier.report().entries;
    if (!read) {
      if (!root_.was_empty() || options_.leftovers == copy::Leftovers::kept) {
        // What was applied is to look as finished as it can.
        [[maybe_unused]] auto finished = finish(applier);
      }
      return fail(std::move(read.error()));
    }
    TRY(finish(applier));
    ApplyReport report =
        full_report(applier.report(), *read, group.workers_used());
    report.seconds = std::chrono::steady_clock::now() - begun;
    return report;
  }

  uint64_t entries() const { return entries_; }

 private:
  Result<void> finish(Applier& applier) {
    TRY(applier.finish_directories());
    return root_.end_layer(applier.root_named() ? LayerRoot::Named::yes
                                                : LayerRoot::Named::no);
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

  ApplyReport full_report(ApplyReport report, const DecodeSummary& summary,
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

  LayerRoot& root_;
  const ApplyOptions& options_;
  Kernel& kernel_;
  ApplyState state_;
  uint64_t entries_ = 0;
};

}  // namespace

Kernel& kernel_of(const ApplyOptions& options) {
  return options.kernel != nullptr ? *options.kernel : real_kernel();
}

Result<ApplyReport> apply_next_layer(Source& source, LayerRoot& root,
                                     const ApplyOptions& options) {
  return Apply(root, options, kernel_of(options)).run(source);
}

Error give_up(LayerRoot& root, const ApplyOptions& options, Error error,
              std::string_view applied) {
  bool kept = options.leftovers == copy::Leftovers::kept;
  if (kept) {
    [[maybe_unused]] auto finished = root.finish();
  } else if (auto undone = root.undo(pool_of(options)); !undone) {
    error.text += " (what was made stays: " + undone.error().message() + ")";
  }
  if (kept || !root.was_empty()) {
    error.text += error.text.empty() ? "(" : " (";
    error.text += std::string(applied) + " were applied and stay)";
  }
  return error;
}

Result<ApplyReport> apply_layer(Source& source, const NamePlace& place,
                                const ApplyOptions& options) {
  Kernel& kernel = kernel_of(options);
  LayerRoot root(kernel);
  TRY(root.open(place));
  Apply apply(root, options, kernel);
  auto applied = apply.run(source);
  if (!applied) {
    return fail(give_up(root, options, std::move(applied.error()),
                        std::to_string(apply.entries()) + " entries"));
  }
  if (auto finished = root.finish(); !finished) {
    return fail(
        give_up(root, options, std::move(finished.error()), "all entries"));
  }
  return applied;
}

}  // namespace lamina::archive
