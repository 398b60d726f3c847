#include "copy/dir_copy.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <ctime>
#include <utility>
#include <vector>

#include "base/kernel.h"
#include "base/mounts.h"
#include "base/umask.h"
#include "base/worker_pool.h"
#include "copy/copy_visitor.h"
#include "copy/destination.h"
#include "copy/width.h"

namespace lamina::copy {

namespace {

// What below the source is a mount, or nothing where that cannot be known.
struct MountWatch {
  bool known = false;
  std::vector<Mount> below;

  // Fails without /proc: then listings are not trusted, and all is asked for.
  Result<void> look(Kernel& kernel, const Fd& source) {
    TRY_ASSIGN(std::string absolute, path_of(kernel, source));
    TRY_ASSIGN(below, mounts_below(absolute));
    known = true;
    return {};
  }
};

// True when a mount elsewhere makes `inner` a part of `outer`. False also where
// the table cannot be read: then the walk itself finds out.
bool reached_by_mounts(Kernel& kernel, const Fd& outer, const Fd& inner) {
  auto outer_path = path_of(kernel, outer);
  auto inner_path = path_of(kernel, inner);
  return outer_path && inner_path &&
         walk_reaches(*outer_path, *inner_path).value_or(false);
}

Result<void> check_options(const Options& options, Labeller& labeller) {
  if (options.label && !labeller.enabled()) {
    return fail(make_error(EOPNOTSUPP, "set label", *options.label,
                           "SELinux is not enabled"));
  }
  bool alters = options.owner == Owner::mapped || options.label.has_value();
  if (options.sharing == Sharing::hardlink && alters) {
    return fail(make_error(EINVAL, "copy", "",
                           "hard links share owner and label with the source, "
                           "so neither can be changed"));
  }
  if (options.owner == Owner::mapped && options.uid_map.empty() &&
      options.gid_map.empty()) {
    return fail(
        make_error(EINVAL, "copy", "", "mapped owners need a uid or gid map"));
  }
  return {};
}

// Refuses a copy into itself, before anything is made.
Result<void> check_apart(Kernel& kernel, const Fd& source,
                         std::string_view shown, const NamePlace& place) {
  TRY_ASSIGN(bool inside, lies_within(kernel, place.parent, source));
  if (inside || reached_by_mounts(kernel, source, place.parent)) {
    return fail(make_error(EINVAL, "copy", place.shown,
                           "the destination lies inside the source"));
  }
  Fd existing(kernel.openat(place.parent.get(), place.name.c_str(),
                            O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0));
  if (existing.valid()) {
    TRY_ASSIGN(bool contains, lies_within(kernel, source, existing));
    if (contains) {
      return fail(make_error(EINVAL, "copy", shown,
                             "the source lies inside the destination"));
    }
    if (reached_by_mounts(kernel, source, existing)) {
      return fail(make_error(EINVAL, "copy", place.shown,
                             "the destination lies inside the source"));
    }
  }
  return {};
}

// One copy, from its checks to its report.
class Copy {
 public:
  Copy(const Options& options, Kernel& kernel, Labeller& labeller,
       WorkerPool& pool)
      : state_(options, kernel, labeller),
        kernel_(kernel),
        pool_(pool) {}

  Result<Report> run(const Fd& source, std::string_view shown,
                     const NamePlace& place) {
    auto begun = std::chrono::steady_clock::now();
    TRY(check_options(state_.options, state_.labeller));
    TRY(check_apart(kernel_, source, shown, place));
    TRY_ASSIGN(Destination destination, prepare(place));
    auto copied = copy_into(destination, source, shown);
    if (!copied) {
      Error error = std::move(copied.error());
      if (state_.options.leftovers == Leftovers::removed) {
        if (auto undone = destination.undo(pool_); !undone) {
          error.text += error.text.empty() ? "" : " ";
          error.text +=
              "(what was made stays: " + undone.error().message() + ")";
        }
      }
      return fail(std::move(error));
    }
    Report report = state_.counters.get();
    report.workers = workers_;
    report.seconds = std::chrono::steady_clock::now() - begun;
    return report;
  }

 private:
  Result<Destination> prepare(const NamePlace& place) {
    LabelScope label;
    if (state_.options.label) {
      TRY(label.begin(state_.labeller, *state_.options.label));
    }
    return Destination::prepare(kernel_, place.parent, place.name, place.shown);
  }

  Result<void> copy_into(const Destination& destination, const Fd& source,
                         std::string_view shown) {
    auto root = std::make_shared<Dir>(nullptr, "");
    MountWatch before;
    [[maybe_unused]] auto unknown = before.look(kernel_, source);
    state_.listings_trusted = before.known && before.below.empty();
    TRY(fill_state(destination, source, shown, *root));
    auto walked = walk(destination, source, shown, std::move(root));
    if (!walked) {
      return walked;
    }
    if (!before.known) {
      return {};
    }
    MountWatch after;
    TRY(after.look(kernel_, source));
    if (before.below != after.below) {
      return fail(make_error(ESTALE, "copy", shown,
                             "mounts below the source changed meanwhile"));
    }
    return {};
  }

  Result<void> fill_state(const Destination& destination, const Fd& source,
                          std::string_view shown, Dir& root) {
    state_.birth.uid = geteuid();
    state_.birth.gid = getegid();
    state_.birth.owner_known = destination.stat().st_uid == state_.birth.uid &&
                               destination.stat().st_gid == state_.birth.gid;
    state_.caller_umask = read_umask();
    state_.target_device = destination.stat().st_dev;
    state_.target_inode = destination.stat().st_ino;
    clock_gettime(CLOCK_REALTIME, &state_.started);
    if (kernel_.fstat(source.get(), &root.stat) != 0) {
      return fail(last_error("fstat", shown));
    }
    state_.source_device = root.stat.st_dev;
    TRY_ASSIGN(root.abilities, state_.abilities_for(root.stat.st_dev, source));
    root.born_mode = 0700;
    return {};
  }

  Result<void> walk(const Destination& destination, const Fd& source,
                    std::string_view shown, std::shared_ptr<Dir> root) {
    TRY_ASSIGN(FsKind kind, fs_kind_of(kernel_, destination.root(), shown));
    unsigned width = state_.options.workers != 0
                         ? state_.options.workers
                         : best_width(kind, usable_cpus());
    Walk walk({kernel_, pool_, Trees::source_and_target, state_.target_device,
               width, state_.options.stop});
    TRY(open_roots(walk.open(), destination, source, shown, *root));
    auto visitor = std::make_unique<CopyVisitor>(state_);
    visitor->set_open_dirs(walk.open());
    auto walked = walk.run(std::move(root), std::move(visitor));
    workers_ = walk.workers_used();
    if (!walked && walked.error().subject.empty()) {
      walked.error().subject = std::string(shown);
    }
    return walked;
  }

  // The walk reads through descriptors of its own: the caller's keep their
  // offset.
  Result<void> open_roots(OpenDirs& open, const Destination& destination,
                          const Fd& source, std::string_view shown, Dir& root) {
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    Fd in(kernel_.openat(source.get(), ".", kFlags | O_NOATIME, 0));
    if (!in.valid() && errno == EPERM) {
      in.reset(kernel_.openat(source.get(), ".", kFlags, 0));
    }
    if (!in.valid()) {
      return fail(last_error("open", shown));
    }
    Fd out(kernel_.openat(destination.root().get(), ".", kFlags, 0));
    if (!out.valid()) {
      return fail(last_error("open", shown));
    }
    open.put(root, Side::source, std::move(in));
    open.put(root, Side::target, std::move(out));
    return {};
  }

  CopyState state_;
  Kernel& kernel_;
  WorkerPool& pool_;
  unsigned workers_ = 1;
};

}  // namespace

Result<Report> dir_copy(const Fd& source, std::string_view shown,
                        const NamePlace& destination, const Options& options) {
  Copy copy(options,
            options.kernel != nullptr ? *options.kernel : real_kernel(),
            options.labeller != nullptr ? *options.labeller : real_labeller(),
            options.pool != nullptr ? *options.pool : WorkerPool::shared());
  return copy.run(source, shown, destination);
}

Result<Report> dir_copy(std::string_view source, std::string_view destination,
                        const Options& options) {
  Kernel& kernel = options.kernel != nullptr ? *options.kernel : real_kernel();
  TRY_ASSIGN(Fd from, open_directory(kernel, source));
  TRY_ASSIGN(NamePlace to, open_parent(kernel, destination));
  return dir_copy(from, source, to, options);
}

}  // namespace lamina::copy
