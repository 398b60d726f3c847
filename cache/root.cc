#include "cache/root.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <thread>
#include <utility>

#include "base/kernel.h"
#include "base/path.h"

namespace lamina::cache {

namespace {

constexpr int kDirectory =
    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
constexpr mode_t kPrivate = 0700;

Result<Fd> make_below(const Fd& dir, const char* name) {
  if (real_kernel().mkdirat(dir.get(), name, kPrivate) != 0 &&
      errno != EEXIST) {
    return fail(last_error("mkdirat", name));
  }
  return open_below(dir, name);
}

// Makes what is missing of a path that a person or the environment gave.
Result<void> make_path(std::string_view path) {
  Kernel& kernel = real_kernel();
  for (size_t at = 1; at <= path.size(); ++at) {
    if (at < path.size() && path[at] != '/') {
      continue;
    }
    TRY_ASSIGN(NamePlace place, open_parent(kernel, path.substr(0, at)));
    if (kernel.mkdirat(place.parent.get(), place.name.c_str(), kPrivate) != 0 &&
        errno != EEXIST) {
      return fail(last_error("mkdir", path.substr(0, at)));
    }
  }
  return {};
}

Error in_root(Error error, const std::string& shown) {
  error.subject = shown + "/" + error.subject;
  return error;
}

Result<void> open_parts(Root& root) {
  TRY_ASSIGN(root.entries, make_below(root.dir, "entries"));
  TRY_ASSIGN(Fd blobs, make_below(root.dir, "blobs"));
  TRY_ASSIGN(root.blobs, make_below(blobs, "sha256"));
  TRY_ASSIGN(root.variants, make_below(root.dir, "variants"));
  TRY_ASSIGN(root.staging, make_below(root.dir, "staging"));
  TRY_ASSIGN(root.trash, make_below(root.dir, "trash"));
  TRY_ASSIGN(root.locks, make_below(root.dir, "locks"));
  Fd lock(real_kernel().openat(
      root.dir.get(), "lock",
      O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600));
  if (!lock.valid()) {
    return fail(last_error("openat", "lock"));
  }
  root.lock = FileLock(std::move(lock));
  return {};
}

}  // namespace

Result<Fd> open_below(const Fd& dir, const char* name) {
  Fd out(real_kernel().openat(dir.get(), name, kDirectory, 0));
  if (!out.valid()) {
    return fail(last_error("openat", name));
  }
  return out;
}

Result<Root> open_root(std::string_view path) {
  Kernel& kernel = real_kernel();
  Root root;
  root.shown = std::string(path);
  auto dir = open_directory(kernel, path);
  if (!dir && dir.error().code == ENOENT) {
    TRY(make_path(path));
    dir = open_directory(kernel, path);
  }
  if (!dir) {
    return fail(std::move(dir.error()));
  }
  root.dir = std::move(*dir);
  if (auto opened = open_parts(root); !opened) {
    return fail(in_root(std::move(opened.error()), root.shown));
  }
  return root;
}

Result<std::optional<Pin>> Pin::take(const Fd& where, const std::string& name,
                                     Hold hold) {
  auto dir = open_below(where, name.c_str());
  if (!dir) {
    if (dir.error().code == ENOENT) {
      return std::nullopt;
    }
    return fail(std::move(dir.error()));
  }
  Pin out;
  out.lock_ = FileLock(std::move(*dir));
  TRY_ASSIGN(bool taken, out.lock_.try_take(hold, name));
  if (!taken) {
    return std::nullopt;
  }
  // Between the two calls it may have been thrown away.
  struct stat locked {};
  struct stat named {};
  Kernel& kernel = real_kernel();
  if (kernel.fstat(out.dir().get(), &locked) != 0) {
    return fail(last_error("fstat", name));
  }
  if (kernel.fstatat(where.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) !=
          0 ||
      named.st_ino != locked.st_ino) {
    return std::nullopt;
  }
  return out;
}

Result<Pin> Pin::make(const Fd& where, const std::string& name) {
  for (;;) {
    // A sweep that comes between the two calls takes it for a left-over.
    if (real_kernel().mkdirat(where.get(), name.c_str(), kPrivate) != 0 &&
        errno != EEXIST) {
      return fail(last_error("mkdirat", name));
    }
    TRY_ASSIGN(std::optional<Pin> pin, take(where, name, Hold::shared));
    if (pin) {
      return std::move(*pin);
    }
    std::this_thread::yield();
  }
}

}  // namespace lamina::cache
