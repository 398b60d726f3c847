#include "archive/lower_stack.h"

#include <fcntl.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <utility>

#include "base/kernel.h"
#include "copy/path_in_root.h"

namespace lamina::archive {

namespace {

constexpr int kDirectoryFlags =
    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;

bool is_whiteout(const struct stat& stat) {
  return S_ISCHR(stat.st_mode) && stat.st_rdev == makedev(0, 0);
}

}  // namespace

LowerStack::LowerStack(Kernel& kernel, const std::vector<SharedFd>& layers)
    : kernel_(kernel),
      roots_(layers.rbegin(), layers.rend()) {}

bool LowerStack::has(const SharedFd& dir, const std::string& name) const {
  struct stat stat {};
  return kernel_.fstatat(dir->get(), name.c_str(), &stat,
                         AT_SYMLINK_NOFOLLOW) == 0;
}

// overlayfs.rst of the kernel; OCI image specification, layer.md.
bool LowerStack::is_opaque(const Fd& dir) const {
  for (const char* mark : {"trusted.overlay.opaque", "user.overlay.opaque"}) {
    char value = 0;
    if (kernel_.fgetxattr(dir.get(), mark, &value, 1) == 1 && value == 'y') {
      return true;
    }
  }
  struct stat stat {};
  return kernel_.fstatat(dir.get(), ".wh..wh..opq", &stat,
                         AT_SYMLINK_NOFOLLOW) == 0;
}

// Adds a layer's directory. False: what is below it does not show.
Result<bool> LowerStack::enter(const SharedFd& dir, const std::string& name,
                               Seen& seen) const {
  Fd opened(kernel_.openat(dir->get(), name.c_str(), kDirectoryFlags, 0));
  if (!opened.valid()) {
    return fail(last_error("openat", name));
  }
  bool through = !is_opaque(opened);
  seen.dirs.push_back(std::make_shared<const Fd>(std::move(opened)));
  return through;
}

Result<std::optional<LowerStack::Seen>> LowerStack::look(
    const Level& level, const std::string& name) const {
  Seen seen;
  for (const SharedFd& dir : level.dirs) {
    struct stat stat {};
    if (kernel_.fstatat(dir->get(), name.c_str(), &stat, AT_SYMLINK_NOFOLLOW) !=
        0) {
      if (errno != ENOENT) {
        return fail(last_error("fstatat", name));
      }
    } else if (is_whiteout(stat)) {
      break;
    } else if (!S_ISDIR(stat.st_mode)) {
      if (seen.dirs.empty()) {
        seen.in = dir;
        seen.stat = stat;
      }
      break;
    } else {
      if (seen.dirs.empty()) {
        seen.in = dir;
        seen.stat = stat;
      }
      TRY_ASSIGN(bool through, enter(dir, name, seen));
      if (!through) {
        break;
      }
    }
    if (has(dir, ".wh." + name)) {
      break;
    }
  }
  if (!seen.in) {
    return std::optional<Seen>();
  }
  return std::optional<Seen>(std::move(seen));
}

Result<std::optional<LowerStack::Found>> LowerStack::find(
    std::string_view path) const {
  std::vector<Level> trail{{"", roots_}};
  copy::PathInRoot rest(path);
  std::string name;
  while (rest.take(&name)) {
    if (name == "." || name == "..") {  // Only a symlink's target has these.
      if (name == ".." && trail.size() > 1) {
        trail.pop_back();
      }
      continue;
    }
    Level& level = trail.back();
    TRY_ASSIGN(std::optional<Seen> seen, look(level, name));
    if (!seen) {
      return std::optional<Found>();
    }
    std::string at = level.path.empty() ? name : level.path + "/" + name;
    if (rest.at_end()) {
      return std::optional<Found>(
          Found{std::move(at), seen->in, name, seen->stat});
    }
    if (!seen->dirs.empty()) {
      trail.push_back({std::move(at), std::move(seen->dirs)});
      continue;
    }
    TRY_ASSIGN(std::optional<copy::PathInRoot::Start> start,
               rest.follow(kernel_, seen->in->get(), name));
    if (!start) {
      return std::optional<Found>();  // No symlink, and no directory.
    }
    if (*start == copy::PathInRoot::Start::root) {
      trail.resize(1);
    }
  }
  return std::optional<Found>();
}

}  // namespace lamina::archive
