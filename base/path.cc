#include "base/path.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/kernel.h"

namespace lamina {

namespace {

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY;

Result<void> check_path(std::string_view path) {
  if (path.empty()) {
    return fail(make_error(ENOENT, "open", path, "an empty path"));
  }
  if (path.find('\0') != std::string_view::npos) {
    return fail(make_error(EINVAL, "open", path, "a NUL in a path"));
  }
  return {};
}

Result<struct stat> stat_of(Kernel& kernel, int fd) {
  struct stat stat {};
  if (kernel.fstat(fd, &stat) != 0) {
    return fail(last_error("fstat", ""));
  }
  return stat;
}

bool same_inode(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

Result<Fd> open_directory(Kernel& kernel, std::string_view path) {
  TRY(check_path(path));
  Fd fd(kernel.openat(AT_FDCWD, std::string(path).c_str(), kDirectoryFlags, 0));
  if (!fd.valid()) {
    return fail(last_error("open", path));
  }
  return fd;
}

Result<Fd> open_file(Kernel& kernel, std::string_view path) {
  constexpr int kFlags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
  TRY(check_path(path));
  Fd fd(kernel.openat(AT_FDCWD, std::string(path).c_str(), kFlags, 0));
  if (!fd.valid()) {
    return fail(last_error("open", path));
  }
  return fd;
}

Result<NamePlace> open_parent(Kernel& kernel, std::string_view path) {
  TRY(check_path(path));
  NamePlace place;
  place.shown = std::string(path);
  while (path.size() > 1 && path.back() == '/') {
    path.remove_suffix(1);
  }
  size_t slash = path.rfind('/');
  std::string_view above = slash == std::string_view::npos ? "."
                           : slash == 0                    ? "/"
                                        : path.substr(0, slash);
  std::string_view name =
      slash == std::string_view::npos ? path : path.substr(slash + 1);
  place.name = name.empty() ? "." : std::string(name);
  TRY_ASSIGN(place.parent, open_directory(kernel, above));
  return place;
}

Result<bool> lies_within(Kernel& kernel, const Fd& inner, const Fd& outer) {
  TRY_ASSIGN(struct stat goal, stat_of(kernel, outer.get()));
  TRY_ASSIGN(struct stat at, stat_of(kernel, inner.get()));
  Fd held;
  while (!same_inode(at, goal)) {
    int from = held.valid() ? held.get() : inner.get();
    Fd up(kernel.openat(from, "..", kDirectoryFlags | O_PATH, 0));
    if (!up.valid()) {
      return fail(last_error("openat", ".."));
    }
    TRY_ASSIGN(struct stat above, stat_of(kernel, up.get()));
    if (same_inode(at, above)) {
      return false;  // ".." of the root is the root.
    }
    at = above;
    held = std::move(up);
  }
  return true;
}

Result<std::string> path_of(Kernel& kernel, const Fd& fd) {
  std::string link = "/proc/self/fd/" + std::to_string(fd.get());
  char text[PATH_MAX];
  ssize_t n = kernel.readlinkat(AT_FDCWD, link.c_str(), text, sizeof text);
  if (n < 0) {
    return fail(last_error("readlink", link));
  }
  std::string path(text, static_cast<size_t>(n));
  if (path.size() == sizeof text || path.empty() || path[0] != '/') {
    return fail(make_error(ENAMETOOLONG, "readlink", link));
  }
  return path;
}

}  // namespace lamina
