// One batch, timed: what write_batch takes, without a manifest to be parsed.
//
//   batch_bench ROOT SHAPE WIDTH
//
// SHAPE is one of those below, WIDTH a number of threads, 0 for the table's.
// Prints one JSON object. ROOT is an empty directory.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "copy/write_batch.h"

namespace {

struct Shape {
  const char* name;
  size_t files;
  size_t directories;  // 1: all in the root.
  // The sizes go round.
  std::vector<size_t> bytes;
};

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> known = {
      {"600", 16'004, 1, {600}},
      {"1500", 16'004, 1, {1500}},
      {"many", 29'000, 3'600, {300, 900, 1'500, 2'400, 4'000, 9'000}},
      {"small", 300, 10, {600, 1'500}},
  };
  return known;
}

std::string path_of(const Shape& shape, size_t i) {
  std::string out;
  if (shape.directories > 1) {
    // Three levels, as packages have; consecutive files share a directory.
    size_t d = i * shape.directories / shape.files;
    out = "p" + std::to_string(d / 60) + "/d" + std::to_string(d) + "/";
  }
  return out + "file-" + std::to_string(i) + ".js";
}

double milliseconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e3 +
         static_cast<double>(time.tv_usec) / 1e3;
}

int measure(const char* root, const Shape& shape, unsigned width) {
  std::vector<std::string> paths;
  std::vector<std::string> texts;
  for (size_t size : shape.bytes) {
    texts.emplace_back(size, 'x');
  }
  for (size_t i = 0; i < shape.files; ++i) {
    paths.push_back(path_of(shape, i));
  }
  std::vector<lamina::copy::BatchEntry> entries;
  for (size_t i = 0; i < shape.files; ++i) {
    lamina::copy::BatchEntry entry;
    entry.path = paths[i];
    entry.data = std::as_bytes(std::span(texts[i % texts.size()]));
    entries.push_back(entry);
  }
  lamina::copy::BatchOptions options;
  options.workers = width;
  rusage before{};
  rusage after{};
  getrusage(RUSAGE_SELF, &before);
  auto begun = std::chrono::steady_clock::now();
  auto written = lamina::copy::write_batch(root, entries, options);
  std::chrono::duration<double, std::milli> wall =
      std::chrono::steady_clock::now() - begun;
  getrusage(RUSAGE_SELF, &after);
  if (!written) {
    std::fprintf(stderr, "%s\n", written.error().error.message().c_str());
    return 1;
  }
  std::printf(
      "{\"wall_ms\": %.3f, \"user_ms\": %.3f, \"system_ms\": %.3f, "
      "\"workers\": %u, \"files\": %zu}\n",
      wall.count(),
      milliseconds(after.ru_utime) - milliseconds(before.ru_utime),
      milliseconds(after.ru_stime) - milliseconds(before.ru_stime),
      written->workers, static_cast<size_t>(written->files));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4) {
    for (const Shape& shape : shapes()) {
      if (std::strcmp(argv[2], shape.name) == 0) {
        return measure(
            argv[1], shape,
            static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10)));
      }
    }
  }
  std::fputs("usage: batch_bench ROOT 600|1500|many|small WIDTH\n", stderr);
  return 2;
}
