// The first rung: share all extents with ioctl_ficlone(2).
#include <ctime>

#include "base/kernel.h"
#include "copy/abilities.h"
#include "copy/data.h"
#include "copy/width.h"

namespace lamina::copy {

namespace {
// Older files have been written back by the kernel's flusher, see
// dirty_expire_centisecs in proc_sys_vm(5).
constexpr time_t kFreshSeconds = 35;
}  // namespace

// Some file systems write back a dirty file before they clone it, one by one.
// True where everything should be written back once instead.
bool FileData::flush_first() {
  if (!flushes_before_cloning(abilities_->source_kind) ||
      abilities_->flushed.load(std::memory_order_relaxed)) {
    return false;
  }
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return stat_.st_mtim.tv_sec > now.tv_sec - kFreshSeconds ||
         stat_.st_ctim.tv_sec > now.tv_sec - kFreshSeconds;
}

Result<FileData::Rung> FileData::clone() {
  if (sharing_ == Sharing::content || stat_.st_size == 0) {
    return Rung::not_here;
  }
  // Asked for in so many words, each file gets the kernel's own answer.
  bool required = sharing_ == Sharing::reflink;
  if (!required && abilities_->no_clone.load(std::memory_order_relaxed)) {
    return Rung::not_here;
  }
  if (flush_first() && !abilities_->flushed.exchange(true) &&
      kernel_->syncfs(source_) != 0) {
    return fail(last_error("syncfs", ""));
  }
  if (kernel_->ficlone(target_, source_) == 0) {
    moved_ = Moved::cloned;
    return Rung::done;
  }
  Error error = last_error("ioctl(FICLONE)", "");
  if (required || !is_unsupported(Method::clone, error.code)) {
    return fail(std::move(error));
  }
  if (is_refusal(Method::clone, error.code)) {
    abilities_->no_clone.store(true, std::memory_order_relaxed);
  }
  return Rung::not_here;
}

}  // namespace lamina::copy
