// Directories: entered (made) before their children, left (finished) after.
#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "base/kernel.h"
#include "copy/copy_visitor.h"

namespace lamina::copy {

namespace {

constexpr int kDirectoryFlags =
    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
// What making children needs.
constexpr mode_t kMakerBits = 0700;

}  // namespace

Result<bool> CopyVisitor::enter(Dir& dir, int parent_source, int parent_target,
                                OpenDirs& open) {
  ++entries_;
  if (turn_error_) {
    return fail(*turn_error_);
  }
  TRY_ASSIGN(Fd source,
             open_source(parent_source, dir.name().c_str(), O_DIRECTORY));
  if (kernel_.fstat(source.get(), &dir.stat) != 0) {
    return fail(last_error("fstat", ""));
  }
  if (dir.stat.st_dev == state_.target_device &&
      dir.stat.st_ino == state_.target_inode) {
    return fail(make_error(EINVAL, "copy", "",
                           "the destination lies inside the source"));
  }
  TRY_ASSIGN(dir.abilities, state_.abilities_for(dir.stat.st_dev, source));
  open.put(dir, Side::source, std::move(source));
  TRY(make_directory(dir, parent_target, open));
  if (state_.options.crossing == Crossing::forbidden &&
      dir.stat.st_dev != state_.source_device) {
    TRY(leave(dir, open));  // The mount point is made, and not entered.
    return false;
  }
  return true;
}

Result<void> CopyVisitor::make_directory(Dir& dir, int parent_target,
                                         OpenDirs& open) {
  TRY_ASSIGN(Wanted wanted, metadata_.wanted(dir.stat));
  mode_t mode = metadata_.birth_mode(wanted, kMakerBits);
  const char* name = dir.name().c_str();
  if (kernel_.mkdirat(parent_target, name, mode) != 0) {
    return fail(last_error("mkdirat", ""));
  }
  dir.born_mode = born(mode);
  Fd target(kernel_.openat(parent_target, name, kDirectoryFlags, 0));
  if (!target.valid()) {
    return fail(last_error("openat", ""));
  }
  open.put(dir, Side::target, std::move(target));
  return {};
}

Result<void> CopyVisitor::leave(Dir& dir, OpenDirs& open) {
  TRY_ASSIGN(SharedFd target, open.get(dir, Side::target));
  TRY_ASSIGN(Wanted wanted, metadata_.wanted(dir.stat));
  bool no_xattrs = state_.options.xattrs == Xattrs::none ||
                   dir.abilities->no_list_xattrs.load();
  SharedFd source;
  if (!no_xattrs) {
    TRY_ASSIGN(source, open.get(dir, Side::source));
  }
  count(&Tally::directories);
  auto finished = finish({source ? source->get() : -1, nullptr},
                         {{target->get(), nullptr}, S_IFDIR, dir.born_mode},
                         wanted, *dir.abilities);
  if (!finished && finished.error().subject.empty()) {
    finished.error().subject = dir.path();
  }
  return finished;
}

}  // namespace lamina::copy
