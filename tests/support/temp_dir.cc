#include "tests/support/temp_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <vector>

namespace lamina::test {
namespace {

// Takes the flags away that forbid removal, where the file system has them.
void clear_flags(int fd) {
  int flags = 0;
  if (::ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0)
    return;
  constexpr unsigned kForbidding = FS_IMMUTABLE_FL | FS_APPEND_FL;
  flags = static_cast<int>(static_cast<unsigned>(flags) & ~kForbidding);
  if (::ioctl(fd, FS_IOC_SETFLAGS, &flags) != 0)
    errno = 0;
}

void clear_flags_at(int parent, const std::string& name) {
  const Descriptor fd(::openat(parent, name.c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (fd.valid())
    clear_flags(fd.get());
}

void remove_name(int parent, const std::string& name, int flags) {
  if (::unlinkat(parent, name.c_str(), flags) == 0)
    return;
  if (errno == EBUSY) {
    const std::string path = proc_path(parent, name);
    if (::umount2(path.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0) {
      throw_errno("umount2", name);
    }
  } else if (errno == EPERM || errno == EACCES) {
    clear_flags(parent);
    clear_flags_at(parent, name);
  } else {
    throw_errno("unlinkat", name);
  }
  if (::unlinkat(parent, name.c_str(), flags) != 0) {
    throw_errno("unlinkat", name);
  }
}

// Opens a directory for emptying, with all rights to do so.
Descriptor enter(int parent, const std::string& name) {
  const Descriptor probe(::openat(
      parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!probe.valid())
    throw_errno("openat", name);
  const std::string path = "/proc/self/fd/" + std::to_string(probe.get());
  struct stat st {};
  if (::fstat(probe.get(), &st) != 0)
    throw_errno("fstat", name);
  if ((st.st_mode & S_IRWXU) != S_IRWXU && ::chmod(path.c_str(), 0700) != 0 &&
      errno == EPERM) {
    clear_flags_at(parent, name);
    if (::chmod(path.c_str(), 0700) != 0)
      throw_errno("chmod", name);
  }
  return open_directory_at(probe.get(), ".");
}

bool is_mount_root(int parent, const std::string& name) {
  struct statx stx {};
  if (::statx(parent, name.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &stx) !=
      0) {
    throw_errno("statx", name);
  }
  return (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

// Removes what is in `directory` but directories, and lists those.
std::vector<std::string> remove_leaves(int directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(
      ::fdopendir(open_directory_at(directory, ".").release()), &::closedir);
  if (!dir)
    throw_errno("fdopendir", "");
  std::vector<std::string> directories;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..")
      continue;
    while (is_mount_root(directory, name)) {
      const std::string path = proc_path(directory, name);
      if (::umount2(path.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0) {
        throw_errno("umount2", name);
      }
    }
    struct stat st {};
    if (::fstatat(directory, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
      throw_errno("fstatat", name);
    }
    if (S_ISDIR(st.st_mode)) {
      directories.push_back(name);
    } else {
      remove_name(directory, name, 0);
    }
  }
  return directories;
}

// Empties `here`, holding one directory open however deep it is.
void remove_inside(Descriptor here) {
  struct Frame {
    std::string name;
    std::vector<std::string> left;
  };
  std::vector<Frame> stack;
  stack.push_back({.name = "", .left = remove_leaves(here.get())});
  while (true) {
    Frame& frame = stack.back();
    if (!frame.left.empty()) {
      const std::string name = frame.left.back();
      frame.left.pop_back();
      here = enter(here.get(), name);
      stack.push_back({.name = name, .left = remove_leaves(here.get())});
      continue;
    }
    const std::string name = frame.name;
    stack.pop_back();
    if (stack.empty())
      return;
    here = open_directory_at(here.get(), "..");
    remove_name(here.get(), name, AT_REMOVEDIR);
  }
}

}  // namespace

void remove_all_at(int parent, const std::string& name) {
  struct stat st {};
  if (::fstatat(parent, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
    throw_errno("fstatat", name);
  }
  if (!S_ISDIR(st.st_mode)) {
    remove_name(parent, name, 0);
    return;
  }
  remove_inside(enter(parent, name));
  remove_name(parent, name, AT_REMOVEDIR);
}

TempDir::TempDir(const std::string& parent) {
  const char* from_environment = std::getenv("TMPDIR");
  std::string name = parent;
  if (name.empty())
    name = from_environment ? from_environment : "/tmp";
  name += "/lamina-test.XXXXXX";
  if (::mkdtemp(name.data()) == nullptr)
    throw_errno("mkdtemp", name);
  const std::unique_ptr<char, void (*)(void*)> real(
      ::realpath(name.c_str(), nullptr), &std::free);
  path_ = real ? real.get() : name;
  fd_ = open_directory(path_);
}

TempDir::~TempDir() {
  fd_.reset();
  try {
    remove_all_at(AT_FDCWD, path_);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "TempDir: %s stays: %s\n", path_.c_str(),
                 error.what());
  }
}

}  // namespace lamina::test
