#include "tests/support/program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "tests/support/descriptor.h"

namespace lamina::test {
namespace {

struct Pipe {
  Descriptor read;
  Descriptor write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw_errno("pipe2", "");
  return {.read = Descriptor(ends[0]), .write = Descriptor(ends[1])};
}

// Both at once: a program that fills one pipe may be waiting for the other.
void read_both(Pipe& out, Pipe& err, Ran& ran) {
  std::array<pollfd, 2> polled = {
      pollfd{.fd = out.read.get(), .events = POLLIN, .revents = 0},
      pollfd{.fd = err.read.get(), .events = POLLIN, .revents = 0}};
  const std::array<std::string*, 2> texts = {&ran.out, &ran.err};
  std::array<char, 65536> buffer;
  while (polled[0].fd >= 0 || polled[1].fd >= 0) {
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) {
      throw_errno("poll", "");
    }
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].fd < 0 || polled[i].revents == 0)
        continue;
      const ssize_t n = ::read(polled[i].fd, buffer.data(), buffer.size());
      if (n > 0) {
        texts[i]->append(buffer.data(), static_cast<std::size_t>(n));
      } else {
        polled[i].fd = -1;
      }
    }
  }
}

}  // namespace

Ran run_program(const std::vector<std::string>& arguments) {
  Pipe out = make_pipe();
  Pipe err = make_pipe();
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.write.get(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, err.write.get(), 2);
  std::vector<std::string> copies = arguments;
  std::vector<char*> argv;
  for (std::string& argument : copies)
    argv.push_back(argument.data());
  argv.push_back(nullptr);

  pid_t pid = 0;
  errno =
      ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (errno != 0)
    throw_errno("posix_spawnp", arguments[0]);
  out.write.reset();
  err.write.reset();

  Ran ran;
  read_both(out, err, ran);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR)
      throw_errno("waitpid", arguments[0]);
  }
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

bool has_program(const std::string& name) {
  const char* from_environment = std::getenv("PATH");
  std::string places = from_environment ? from_environment : "";
  places += ":/usr/sbin:/sbin";
  for (std::size_t begin = 0; begin < places.size();) {
    const std::size_t end = std::min(places.find(':', begin), places.size());
    const std::string path = places.substr(begin, end - begin) + "/" + name;
    if (::access(path.c_str(), X_OK) == 0)
      return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace lamina::test
