// A request, from the key to the tree at its destination.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/fs_kind.h"
#include "base/kernel.h"
#include "base/worker_pool.h"
#include "cache/cache.h"
#include "copy/abilities.h"
#include "copy/destination.h"
#include "copy/dir_copy.h"
#include "copy/remove_tree.h"

namespace lamina::cache {

namespace {

uint64_t files_of(const copy::Report& report) {
  return report.linked + report.reflinked + report.copied_by_range +
         report.copied_by_read_write + report.empty_files;
}

bool is_whole(const copy::Report& report, const TreeFacts& facts) {
  return report.directories == facts.directories &&
         report.symlinks == facts.symlinks && files_of(report) == facts.files;
}

void count_facts(const TreeFacts& facts, Answer* answer) {
  answer->bytes = facts.bytes;
  answer->files = facts.files;
  answer->directories = facts.directories;
  answer->symlinks = facts.symlinks;
}

// The destination is in the way, so no other way to make the tree would help.
bool is_occupied(const Error& error, const NamePlace& destination) {
  return error.subject == destination.shown &&
         (error.code == EEXIST || error.code == ENOTEMPTY ||
          error.code == ENOTDIR);
}

// What stood at a destination before anything was done to it.
struct Before {
  bool there = false;
  struct stat stat {};

  explicit Before(const NamePlace& place) {
    there = real_kernel().fstatat(place.parent.get(), place.name.c_str(), &stat,
                                  AT_SYMLINK_NOFOLLOW) == 0;
  }

  // Takes back a tree that was handed out there.
  Result<void> restore(const NamePlace& place) const {
    if (!there) {
      TRY(copy::remove_tree(place.parent, place.name));
      return {};
    }
    TRY_ASSIGN(Fd root, open_below(place.parent, place.name.c_str()));
    TRY(copy::remove_children(root, place.shown));
    Kernel& kernel = real_kernel();
    timespec times[2] = {stat.st_atim, stat.st_mtim};
    if (kernel.fchown(root.get(), stat.st_uid, stat.st_gid) != 0 ||
        kernel.fchmod(root.get(), stat.st_mode & 07777) != 0 ||
        kernel.futimens(root.get(), times) != 0) {
      return fail(last_error("restore", place.shown));
    }
    return {};
  }
};

}  // namespace

Result<Answer> Cache::get(const Request& request) {
  auto begun = std::chrono::steady_clock::now();
  Answer answer;
  auto served = serve(request, &answer);
  if (!served) {
    Error why = std::move(served.error());
    if (request.recipe == nullptr || why.code == ECANCELED ||
        is_occupied(why, request.destination)) {
      return fail(std::move(why));
    }
    answer = Answer();
    auto made = make_direct(request, &answer);
    if (!made) {
      Error error = std::move(made.error());
      if (error.message() != why.message()) {
        error.text += (error.text.empty() ? "" : " ");
        error.text += "(and the cache failed: " + why.message() + ")";
      }
      return fail(std::move(error));
    }
    answer.outcome = Outcome::direct;
    answer.reason = why.message();
    // The answer says it; a cache that cannot count must not lose the tree.
    [[maybe_unused]] auto counted =
        open().and_then([&] { return index_.count(Outcome::direct, ""); });
  }
  answer.seconds = std::chrono::steady_clock::now() - begun;
  return answer;
}

Result<void> Cache::serve(const Request& request, Answer* answer) {
  TRY(open());
  // Once more when the entry turns out to be damaged.
  for (int attempt = 0; attempt < 2; ++attempt) {
    TRY_ASSIGN(Held held, find_or_build(request, answer));
    const Before before(request.destination);
    auto report = copy_out(request, held);
    if (report && is_whole(*report, held.row.facts)) {
      auto settled = settle_copies(request, held.row.facts, *report);
      if (settled) {
        return note(request, held, *report, answer);
      }
      TRY(before.restore(request.destination));
      return settled;
    }
    if (!report && report.error().code != ENOENT) {
      return fail(std::move(report.error()));
    }
    if (report) {
      TRY(before.restore(request.destination));
    }
    held.pin = Pin();
    TRY(forget(request.key));
  }
  return fail(make_error(ESTALE, "get", request.destination.shown,
                         "the entry is changed while it is handed out"));
}

Result<Cache::Held> Cache::find_or_build(const Request& request,
                                         Answer* answer) {
  std::string_view recipe =
      request.recipe != nullptr ? request.recipe->id() : "";
  std::string why_not;
  TRY_ASSIGN(std::optional<Held> held, hold(request.key, recipe, &why_not));
  if (!held && request.recipe == nullptr) {
    return fail(make_error(ENOENT, "get", request.key, why_not));
  }
  if (!held) {
    TRY_ASSIGN(NameLock lock, lock_key(request.key));
    // Whoever had the lock before has most likely built it.
    TRY_ASSIGN(held, hold(request.key, recipe, &why_not));
    if (!held) {
      TRY_ASSIGN(held, build(request.key, *request.recipe, &answer->build));
      answer->outcome = Outcome::built;
      answer->reason = why_not;
    }
  }
  if (answer->outcome == Outcome::built) {
    TRY(hold_limits());
  }
  return std::move(*held);
}

Result<copy::Report> Cache::copy_out(const Request& request, const Held& held) {
  copy::Options options;
  options.sharing = request.sharing;
  options.owner = copy::Owner::none;
  options.xattrs = copy::Xattrs::none;
  options.hard_links = copy::HardLinks::split;
  options.unlinked = &held.row.facts.unlinked;
  options.stop = options_.stop;
  const std::string shown =
      root_.shown + "/entries/" + std::to_string(held.row.id) + "/tree";
  if (request.sharing != copy::Sharing::automatic) {
    return copy::dir_copy(held.tree, shown, request.destination, options);
  }
  TRY_ASSIGN(bool reflinks, may_reflink(request.destination));
  if (reflinks) {
    options.sharing = copy::Sharing::reflink;
    auto report =
        copy::dir_copy(held.tree, shown, request.destination, options);
    if (report || report.error().op != "ioctl(FICLONE)" ||
        !copy::is_unsupported(copy::Method::clone, report.error().code)) {
      return report;
    }
    TRY(learn_no_reflinks(request.destination));
  }
  options.sharing = copy::Sharing::hardlink;
  return copy::dir_copy(held.tree, shown, request.destination, options);
}

// Whether reflinks are worth trying: a failed attempt makes a tree and removes
// it again.
Result<bool> Cache::may_reflink(const NamePlace& destination) {
  TRY_ASSIGN(FsKind kind,
             fs_kind_of(real_kernel(), destination.parent, destination.shown));
  if (kind != FsKind::xfs && kind != FsKind::btrfs) {
    return false;
  }
  struct stat stat {};
  if (real_kernel().fstat(destination.parent.get(), &stat) != 0) {
    return fail(last_error("fstat", destination.shown));
  }
  std::lock_guard lock(learning_);
  return no_reflinks_.count(stat.st_dev) == 0;
}

Result<void> Cache::learn_no_reflinks(const NamePlace& destination) {
  struct stat stat {};
  if (real_kernel().fstat(destination.parent.get(), &stat) != 0) {
    return fail(last_error("fstat", destination.shown));
  }
  std::lock_guard lock(learning_);
  no_reflinks_.insert(stat.st_dev);
  return {};
}

// Executables that came as new inodes were open for writing a moment ago.
Result<void> Cache::settle_copies(const Request& request,
                                  const TreeFacts& facts,
                                  const copy::Report& report) {
  bool all = report.linked == 0 || report.link_fallbacks != 0;
  std::string_view paths = all ? facts.executables : facts.own_executables;
  if (paths.empty()) {
    return {};
  }
  const NamePlace& place = request.destination;
  TRY_ASSIGN(Fd root, open_below(place.parent, place.name.c_str()));
  while (!paths.empty()) {
    size_t end = paths.find('\0');
    // The path is looked up in a tree that somebody else may change by now.
    // Nothing is done to what is found there but wait for its writers.
    auto settled = settle(root.get(), paths.data());
    if (!settled && settled.error().code != ENOENT &&
        settled.error().code != EACCES) {
      settled.error().subject = std::string(paths.substr(0, end));
      return settled;
    }
    paths.remove_prefix(end + 1);
  }
  return {};
}

Result<void> Cache::note(const Request& request, const Held& held,
                         const copy::Report& report, Answer* answer) {
  const TreeFacts& facts = held.row.facts;
  count_facts(facts, answer);
  answer->linked = report.linked;
  answer->reflinked = report.reflinked;
  answer->copied = facts.files - report.linked - report.reflinked;
  if (report.link_fallbacks != 0) {
    answer->reason += answer->reason.empty() ? "" : "; ";
    answer->reason += std::to_string(report.link_fallbacks) +
                      " files could not be linked and were copied";
  }
  return index_.count(answer->outcome, request.key);
}

// Drops an entry that is not what the index says.
Result<void> Cache::forget(std::string_view key) {
  int64_t dropped = 0;
  TRY(index_.remove(key, [&](int64_t id) {
    dropped = throw_away(id) ? id : 0;
    return true;  // If somebody reads it, the next sweep takes it.
  }));
  return dropped == 0 ? Result<void>() : empty_trash(dropped);
}

Result<void> Cache::make_direct(const Request& request, Answer* answer) {
  Kernel& kernel = real_kernel();
  const NamePlace& place = request.destination;
  TRY_ASSIGN(copy::Destination destination,
             copy::Destination::prepare(kernel, place.parent, place.name,
                                        place.shown));
  Workshop workshop;
  workshop.stop = options_.stop;
  std::optional<BlobDirectory> blobs;
  if (auto opened = open()) {
    if (auto dir = open_below(root_.blobs, ".")) {
      workshop.blobs = &blobs.emplace(std::move(*dir));
    }
  }
  auto made = request.recipe->make(destination.root(), workshop);
  if (made && kernel.fchmod(destination.root().get(), 0755) != 0) {
    made = fail(last_error("fchmod", place.shown));
  }
  if (!made) {
    Error error = std::move(made.error());
    if (auto undone = destination.undo(WorkerPool::shared()); !undone) {
      error.text += " (what was made stays: " + undone.error().message() + ")";
    }
    return fail(std::move(error));
  }
  answer->build = std::move(*made);
  count_facts(answer->build.facts, answer);
  answer->linked = answer->build.linked;
  answer->copied = answer->files - answer->linked;
  return {};
}

}  // namespace lamina::cache
