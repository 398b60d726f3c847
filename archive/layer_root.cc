#include "archive/layer_root.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "base/kernel.h"

namespace lamina::archive {

namespace {

constexpr int kDirectoryFlags =
    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
constexpr mode_t kNewRootMode = 0755;

}  // namespace

Result<void> LayerRoot::open(const NamePlace& place) {
  shown_ = place.shown;
  auto prepared = copy::Destination::prepare(kernel_, place.parent, place.name,
                                             place.shown);
  if (prepared) {
    taken_ = std::move(*prepared);
    return {};
  }
  if (prepared.error().code != ENOTEMPTY) {
    return fail(std::move(prepared.error()));
  }
  fd_.reset(kernel_.openat(place.parent.get(), place.name.c_str(),
                           kDirectoryFlags, 0));
  if (!fd_.valid()) {
    return fail(last_error("open", shown_));
  }
  return {};
}

Result<void> LayerRoot::begin_layer() {
  ++layers_;
  if (kernel_.fstat(fd().get(), &stat_) != 0) {
    return fail(last_error("fstat", shown_));
  }
  return {};
}

Result<void> LayerRoot::end_layer(Named named) {
  if (named == Named::yes) {
    named_ = true;
    return {};
  }
  if (taken_ && !named_) {
    return {};  // finish() will.
  }
  timespec times[2] = {stat_.st_atim, stat_.st_mtim};
  if (kernel_.futimens(fd().get(), times) != 0) {
    return fail(last_error("utimensat", shown_));
  }
  return {};
}

Result<void> LayerRoot::finish() {
  if (!taken_ || named_) {
    return {};
  }
  if (!taken_->made()) {
    return taken_->restore();
  }
  if (kernel_.fchmod(taken_->root().get(), kNewRootMode) != 0) {
    return fail(last_error("chmod", shown_));
  }
  return {};
}

Result<void> LayerRoot::undo(WorkerPool& pool) {
  return taken_ ? taken_->undo(pool) : Result<void>();
}

}  // namespace lamina::archive
