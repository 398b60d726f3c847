#include "tests/support/fixtures.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <memory>

#include "tests/support/descriptor.h"

namespace lamina::test {
namespace {

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

Directory open_listing(const char* path) {
  Directory dir(::opendir(path), &::closedir);
  if (!dir)
    throw_errno("opendir", path);
  return dir;
}

void become(uid_t id) {
  if (::setgroups(0, nullptr) != 0)
    throw_errno("setgroups", "");
  if (::setresgid(id, id, id) != 0)
    throw_errno("setresgid", "");
  if (::setresuid(id, id, id) != 0)
    throw_errno("setresuid", "");
  // Without it, /proc/self belongs to root, and its links cannot be used.
  if (::prctl(PR_SET_DUMPABLE, 1) != 0)
    throw_errno("prctl", "");
}

std::string answer(const std::function<std::string()>& body, uid_t id) {
  try {
    become(id);
    return body();
  } catch (const std::exception& error) {
    return std::string("exception: ") + error.what();
  }
}

}  // namespace

std::vector<std::string> open_descriptors() {
  const Directory dir = open_listing("/proc/self/fd");
  std::vector<std::string> found;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string name = entry->d_name;
    if (name[0] == '.' || name == std::to_string(::dirfd(dir.get())))
      continue;
    std::array<char, 4096> target;
    const ssize_t n = ::readlinkat(::dirfd(dir.get()), name.c_str(),
                                   target.data(), target.size());
    found.push_back(
        name + " -> " +
        std::string(target.data(), n < 0 ? 0 : static_cast<std::size_t>(n)));
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::size_t thread_count() {
  const Directory dir = open_listing("/proc/self/task");
  std::size_t count = 0;
  while (const dirent* entry = ::readdir(dir.get())) {
    if (entry->d_name[0] != '.')
      ++count;
  }
  return count;
}

std::string as_ordinary_user(const std::function<std::string()>& body,
                             uid_t id) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw_errno("pipe2", "");
  const Descriptor read_end(ends[0]);
  Descriptor write_end(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0)
    throw_errno("fork", "");
  if (pid == 0) {
    const std::string text = answer(body, id);
    const char* bytes = text.data();
    for (std::size_t left = text.size(); left > 0;) {
      const ssize_t n = ::write(write_end.get(), bytes, left);
      if (n <= 0)
        ::_exit(1);
      bytes += n;
      left -= static_cast<std::size_t>(n);
    }
    ::_exit(0);
  }
  write_end.reset();
  std::string text;
  std::array<char, 4096> buffer;
  ssize_t n = 0;
  while ((n = ::read(read_end.get(), buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid)
    throw_errno("waitpid", "");
  if (WIFSIGNALED(status))
    return "signal " + std::to_string(WTERMSIG(status));
  return text;
}

bool may_become_other_users() {
  return ::geteuid() == 0;
}

LimitScope::LimitScope(int resource, rlim_t soft)
    : resource_(resource) {
  const auto which = static_cast<__rlimit_resource>(resource_);
  if (::getrlimit(which, &before_) != 0)
    throw_errno("getrlimit", "");
  rlimit lowered = before_;
  lowered.rlim_cur = std::min(soft, before_.rlim_max);
  if (::setrlimit(which, &lowered) != 0)
    throw_errno("setrlimit", "");
}

LimitScope::~LimitScope() {
  ::setrlimit(static_cast<__rlimit_resource>(resource_), &before_);
}

}  // namespace lamina::test
