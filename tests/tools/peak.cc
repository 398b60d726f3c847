// Says how much memory a command took at most.
//
//   peak FILE COMMAND...   writes the largest resident size, in KiB, to FILE
//
// Exits with the command's status, 128 + N when signal N ended it. Forks
// while it is still small: a child's peak begins at its parent's size.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("peak: FILE COMMAND...\n", stderr);
    return 2;
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ::execvp(argv[2], argv + 2);
    std::perror(argv[2]);
    ::_exit(127);
  }
  int status = 0;
  rusage usage{};
  if (child < 0 || ::wait4(child, &status, 0, &usage) != child) {
    std::perror("peak");
    return 2;
  }
  std::FILE* file = std::fopen(argv[1], "w");
  if (file == nullptr || std::fprintf(file, "%ld\n", usage.ru_maxrss) < 0 ||
      std::fclose(file) != 0) {
    std::perror(argv[1]);
    return 2;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
