// Runs COMMAND and writes to FILE, as one JSON object, what it took. A program
// of its own because a child begins with the peak memory of the process that
// started it: from an interpreter every small tool would look as large as that.
//
// usage: stopwatch FILE COMMAND [ARGUMENT...]

#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

namespace {

double milliseconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e3 +
         static_cast<double>(time.tv_usec) / 1e3;
}

}  // namespace

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  if (argc < 3) {
    fputs("usage: stopwatch FILE COMMAND [ARGUMENT...]\n", stderr);
    return 2;
  }
  pid_t child = 0;
  const Clock::time_point start = Clock::now();
  const int error =
      posix_spawnp(&child, argv[2], nullptr, nullptr, argv + 2, environ);
  if (error != 0) {
    fprintf(stderr, "%s: %s\n", argv[2], strerrordesc_np(error));
    return 127;
  }
  int status = 0;
  rusage used{};
  while (wait4(child, &status, 0, &used) < 0 && errno == EINTR) {
  }
  const std::chrono::duration<double, std::milli> wall = Clock::now() - start;

  FILE* out = fopen(argv[1], "we");
  if (out == nullptr) {
    perror(argv[1]);
    return 126;
  }
  fprintf(out,
          "{\"wall_ms\": %.3f, \"user_ms\": %.3f, \"system_ms\": %.3f, "
          "\"peak_kib\": %ld, \"minor_faults\": %ld, \"voluntary\": %ld, "
          "\"involuntary\": %ld}\n",
          wall.count(), milliseconds(used.ru_utime),
          milliseconds(used.ru_stime), used.ru_maxrss, used.ru_minflt,
          used.ru_nvcsw, used.ru_nivcsw);
  if (fclose(out) != 0) {
    return 126;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
