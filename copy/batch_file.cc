#include "copy/batch_file.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <random>
#include <utility>

#include "base/kernel.h"
#include "base/path.h"
#include "copy/write_all.h"

namespace lamina::copy {

namespace {

constexpr int kCreateFlags =
    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
constexpr mode_t kPermissions = 0777;
// Not known, so that it is set.
constexpr mode_t kUnknown = ~mode_t{0};

// A name that nobody else has thought of. Where somebody did, O_EXCL tells.
std::string temporary_name() {
  static const uint64_t seed = [] {
    std::random_device device;
    return uint64_t{device()} << 32U | device();
  }();
  static std::atomic<uint64_t> count{0};
  return ".lamina-" + std::to_string(seed) + "-" + std::to_string(++count);
}

}  // namespace

Result<void> BatchFile::begin(const BatchJob& job, const Worker& worker) {
  const BatchEntry& entry = state_.entries[job.entry];
  job_ = job;
  name_ = state_.plan.name_of[job.entry];
  temporary_ = false;
  made_ = false;
  at_ = 0;
  inode_ = 0;
  replaced_inode_ = 0;
  moved_ = Moved::nothing;
  source_.reset();
  wanted_ = entry.mode.value_or(BatchEntry::kDefaultMode);
  if (!entry.from.empty()) {
    // Before the target is made: a source that is not there makes no file.
    TRY(open_source(std::string(entry.from)));
  }
  if (dir_of_ != job.dir) {
    TRY_ASSIGN(dir_, state_.dirs.fd(*job.dir));
    dir_of_ = job.dir;
  }
  // Writing would clear set-id bits; they come last.
  mode_t mode = wanted_ & kPermissions;
  TRY(create(mode));
  born_ = job.dir->default_acl   ? kUnknown
          : worker.has_own_umask ? mode
                                 : mode & ~state_.umask;
  if (source_.valid()) {
    Abilities* abilities = state_.abilities.find(source_stat_.st_dev);
    if (abilities == nullptr) {
      TRY_ASSIGN(FsKind kind, fs_kind_of(kernel_, source_, ""));
      abilities = state_.abilities.add(source_stat_.st_dev, kind);
    }
    data_.begin(kernel_, {source_.get(), target_.get(), source_stat_},
                *abilities, Sharing::automatic, buffer_);
  }
  return {};
}

Result<void> BatchFile::open_source(const std::string& from) {
  TRY_ASSIGN(source_, open_file(kernel_, from));
  if (kernel_.fstat(source_.get(), &source_stat_) != 0) {
    return fail(last_error("fstat", from));
  }
  if (!S_ISREG(source_stat_.st_mode)) {
    return fail(make_error(EINVAL, "open", from, "it is not a regular file"));
  }
  return {};
}

// Asks for nothing first: that the name is free is the usual case.
Result<void> BatchFile::create(mode_t mode) {
  target_.reset(kernel_.openat(dir_->get(), name_.c_str(), kCreateFlags, mode));
  if (!target_.valid() && errno == EEXIST && job_.dir->folds) {
    TRY(note_replaced());
    errno = EEXIST;
  }
  constexpr int kTries = 100;
  for (int i = 0; !target_.valid() && errno == EEXIST && i < kTries; ++i) {
    temporary_ = true;
    spare_ = temporary_name();
    target_.reset(
        kernel_.openat(dir_->get(), spare_.c_str(), kCreateFlags, mode));
  }
  if (!target_.valid()) {
    return fail(last_error("openat", ""));
  }
  made_ = true;
  return {};
}

Result<void> BatchFile::note_replaced() {
  struct stat stat {};
  if (kernel_.fstatat(dir_->get(), name_.c_str(), &stat, AT_SYMLINK_NOFOLLOW) ==
      0) {
    replaced_inode_ = stat.st_ino;
  } else if (errno != ENOENT) {
    return fail(last_error("fstatat", ""));
  }
  return {};
}

Result<bool> BatchFile::step() {
  TRY_ASSIGN(bool all, move());
  if (all) {
    TRY(finish());
  }
  return all;
}

Result<bool> BatchFile::move() {
  if (source_.valid()) {
    auto moved = data_.step();
    if (!moved) {
      moved.error().subject = std::string(state_.entries[job_.entry].from);
      return moved;
    }
    if (*moved) {
      size_ = static_cast<uint64_t>(source_stat_.st_size);
      moved_ = data_.moved();
    }
    return moved;
  }
  std::span<const std::byte> data = state_.entries[job_.entry].data;
  size_t now = std::min<size_t>(data.size() - at_, FileData::kStepBytes);
  TRY(write_all(kernel_, target_.get(), data.subspan(at_, now),
                static_cast<off_t>(at_)));
  at_ += now;
  size_ = at_;
  return at_ == data.size();
}

Result<void> BatchFile::finish() {
  if (born_ != wanted_ && kernel_.fchmod(target_.get(), wanted_) != 0) {
    return fail(last_error("chmod", ""));
  }
  if (job_.dir->folds || (wanted_ & S_ISGID) != 0) {
    struct stat stat {};
    if (kernel_.fstat(target_.get(), &stat) != 0) {
      return fail(last_error("fstat", ""));
    }
    // chmod(2) leaves it off, without a word, for a group of others.
    if ((stat.st_mode & S_ISGID) != (wanted_ & S_ISGID)) {
      return fail(make_error(EPERM, "chmod", "",
                             "the set-group-id bit cannot be given to a file "
                             "of another group"));
    }
    inode_ = stat.st_ino;
  }
  source_.reset();
  TRY(target_.close(kernel_, ""));
  if (temporary_ && kernel_.renameat2(dir_->get(), spare_.c_str(), dir_->get(),
                                      name_.c_str(), 0) != 0) {
    return fail(last_error("rename", ""));
  }
  made_ = false;
  return {};
}

void BatchFile::drop() {
  source_.reset();
  target_.reset();
  // The error that led here is the one to report, so a failure is not.
  if (std::exchange(made_, false)) {
    [[maybe_unused]] int ignored =
        kernel_.unlinkat(dir_->get(), made_name().c_str(), 0);
  }
}

}  // namespace lamina::copy
