#include "copy/copy_visitor.h"

#include <dirent.h>
#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "base/kernel.h"
#include "base/worker_pool.h"

namespace lamina::copy {

namespace {

constexpr int kSourceFlags =
    O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

mode_t kind_of_type(unsigned char type) {
  return type == DT_UNKNOWN ? 0 : static_cast<mode_t>(DTTOIF(type));
}

}  // namespace

CopyVisitor::CopyVisitor(CopyState& state)
    : state_(state),
      kernel_(state.kernel),
      metadata_(state.kernel, state.options, state.birth) {}

std::unique_ptr<Visitor> CopyVisitor::fork() {
  auto other = std::make_unique<CopyVisitor>(state_);
  other->open_ = open_;
  return other;
}

void CopyVisitor::begin_turn(const Worker& worker) {
  umask_ = worker.has_own_umask ? 0 : state_.caller_umask;
  turn_error_.reset();
  if (state_.options.label) {
    if (auto set = label_.begin(state_.labeller, *state_.options.label); !set) {
      turn_error_ = std::move(set.error());
    }
  }
}

void CopyVisitor::end_turn() {
  label_.end();
  if (Progress* progress = state_.options.progress) {
    progress->entries += entries_;
    progress->bytes += tally_.bytes_logical;
  }
  entries_ = 0;
  state_.counters.add(tally_);
}

// Opens a name of the source without following it, waiting on it, or touching
// its access time where that is allowed.
Result<Fd> CopyVisitor::open_source(int dir, const char* name, int flags) {
  Fd fd(kernel_.openat(dir, name, kSourceFlags | O_NOATIME | flags, 0));
  if (!fd.valid() && errno == EPERM) {
    // open(2): O_NOATIME is for the owner and CAP_FOWNER.
    fd.reset(kernel_.openat(dir, name, kSourceFlags | flags, 0));
  }
  if (!fd.valid()) {
    return fail(last_error("openat", ""));
  }
  return fd;
}

Result<struct stat> CopyVisitor::stat_of(const Entry& entry) {
  struct stat stat {};
  if (kernel_.fstatat(entry.source, entry.name(), &stat, AT_SYMLINK_NOFOLLOW) !=
      0) {
    return fail(last_error("fstatat", ""));
  }
  return stat;
}

// A directory that gains names faster than they are copied would never end.
Result<void> CopyVisitor::note_newcomer(const Entry& entry,
                                        const struct stat& stat) {
  if (stat.st_ctim.tv_sec <= state_.started.tv_sec) {
    return {};
  }
  if (++entry.dir.newcomers <= Walk::kNewcomers) {
    return {};
  }
  // Young entries prove nothing where the file system's clock is not ours
  // (NFS); the directory's own time does.
  struct stat now {};
  if (kernel_.fstat(entry.source, &now) != 0) {
    return fail(last_error("fstat", entry.dir.path()));
  }
  if (now.st_mtim.tv_sec == entry.dir.stat.st_mtim.tv_sec &&
      now.st_mtim.tv_nsec == entry.dir.stat.st_mtim.tv_nsec) {
    entry.dir.newcomers = 0;
    return {};
  }
  return fail(make_error(ESTALE, "getdents64", entry.dir.path(),
                         "the directory keeps growing while it is copied"));
}

mode_t CopyVisitor::born(mode_t asked) const {
  return asked & ~umask_;
}

Result<void> CopyVisitor::finish(const InodeEnd& source, const NewInode& target,
                                 const Wanted& wanted, Abilities& abilities) {
  bool refused = abilities.no_list_xattrs.load(std::memory_order_relaxed);
  bool refused_before = refused;
  TRY(metadata_.write(source, target, wanted, &refused, tally_));
  if (refused && !refused_before) {
    abilities.no_list_xattrs.store(true, std::memory_order_relaxed);
  }
  return {};
}

Result<Visit> CopyVisitor::visit(const Entry& entry) {
  ++entries_;
  file_ = OpenFile();
  if (turn_error_) {
    return fail(*turn_error_);
  }
  if (!state_.links.empty() && listing_tells(entry)) {
    InodeKey key{entry.dir.stat.st_dev, entry.listed.inode};
    if (auto place = state_.links.find(key)) {
      return link_further(entry, key, std::move(*place), nullptr);
    }
  }
  mode_t kind = kind_of_type(entry.listed.type);
  if (kind == S_IFREG) {
    return visit_regular(entry, nullptr);
  }
  TRY_ASSIGN(struct stat stat, stat_of(entry));
  if (S_ISDIR(stat.st_mode)) {
    --entries_;
    return Visit::enter;
  }
  TRY(note_newcomer(entry, stat));
  if (S_ISREG(stat.st_mode)) {
    return visit_regular(entry, &stat);
  }
  return copy_other(entry, stat);
}

// `stat` is what fstatat said of the entry, where that was asked.
Result<Visit> CopyVisitor::visit_regular(const Entry& entry,
                                         const struct stat* stat) {
  if (state_.options.sharing == Sharing::hardlink) {
    TRY_ASSIGN(bool link, may_share_inode(entry, stat));
    if (link) {
      TRY_ASSIGN(std::optional<Visit> linked, link_to_source(entry));
      if (linked) {
        return *linked;
      }
    }
  }
  return copy_regular(entry, stat);
}

// A symlink, device, fifo or socket: made once, linked for further names.
Result<Visit> CopyVisitor::copy_other(const Entry& entry,
                                      const struct stat& stat) {
  if (stat.st_nlink <= 1) {
    return make_other(entry, stat, std::nullopt);
  }
  InodeKey key{stat.st_dev, stat.st_ino};
  if (auto place = state_.links.claim(key, stat.st_nlink)) {
    return link_further(entry, key, std::move(*place), &stat);
  }
  return make_other(entry, stat, key);
}

Result<Visit> CopyVisitor::make_other(const Entry& entry,
                                      const struct stat& stat,
                                      std::optional<InodeKey> claimed) {
  Result<void> made = S_ISLNK(stat.st_mode) ? copy_symlink(entry, stat)
                                            : copy_special(entry, stat);
  if (claimed && made) {
    made = publish(entry, *claimed);
  }
  if (claimed && !made) {
    state_.links.abandon(*claimed);
  }
  if (made) {
    return Visit::done;
  }
  Error& error = made.error();
  if (error.op == kMakeNode && state_.options.loss == Loss::forgiven &&
      !is_exhaustion(error.code)) {
    error.subject = entry.path();
    Counters::forgive(tally_, &Tally::forgiven_specials, error);
    return Visit::done;
  }
  return fail(std::move(error));
}

}  // namespace lamina::copy
