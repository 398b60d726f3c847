// Applies a layer with a chunk size and a number of workers of one's choice,
// which the command has no words for: chosen once, by what this measures.
//
// usage: chunks_bench CHUNK_ENTRIES WORKERS LAYER ROOT
#include <fcntl.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>

#include "archive/apply.h"
#include "base/kernel.h"
#include "base/path.h"

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: chunks_bench CHUNK_ENTRIES WORKERS LAYER ROOT\n",
               stderr);
    return 2;
  }
  ::umask(0);
  lamina::archive::ApplyOptions options;
  options.chunk_entries =
      static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10));
  options.workers = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
  lamina::Kernel& kernel = lamina::real_kernel();
  lamina::Fd blob(::open(argv[3], O_RDONLY | O_CLOEXEC));
  auto root = lamina::open_parent(kernel, argv[4]);
  if (!blob.valid() || !root) {
    std::perror(blob.valid() ? argv[4] : argv[3]);
    return 1;
  }
  lamina::archive::FdSource source(kernel, blob, argv[3]);
  auto report = lamina::archive::apply_layer(source, *root, options);
  if (!report) {
    std::fprintf(stderr, "%s\n", report.error().message().c_str());
    return 1;
  }
  return 0;
}
