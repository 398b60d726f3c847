#include "tests/support/descriptor.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "tests/support/tree_text.h"

namespace lamina::test {

void throw_errno(std::string_view op, std::string_view subject) {
  const int code = errno;
  throw SupportError(std::string(op) + " on '" + escape(subject) +
                     "': " + strerrordesc_np(code) + " (" +
                     strerrorname_np(code) + ")");
}

Descriptor open_directory(const std::string& path) {
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid())
    throw_errno("open", path);
  return fd;
}

Descriptor open_directory_at(int parent, const std::string& name) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  // Reading a listing must not change the time of access: tests compare it.
  Descriptor fd(::openat(parent, name.c_str(), kFlags | O_NOATIME));
  if (!fd.valid() && errno == EPERM) {
    fd.reset(::openat(parent, name.c_str(), kFlags));
  }
  if (!fd.valid())
    throw_errno("openat", name);
  return fd;
}

std::string proc_path(int parent, const std::string& name) {
  return "/proc/self/fd/" + std::to_string(parent) + "/" + name;
}

}  // namespace lamina::test
