#include "copy/compare.h"

#include <fcntl.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/kernel.h"
#include "base/worker_pool.h"
#include "copy/compare_visitor.h"
#include "copy/open_quietly.h"

namespace lamina::copy {

namespace {

// More readers than this only make a disk seek.
constexpr unsigned kMostReaders = 4;

}  // namespace

std::string Difference::message() const {
  return "'" + escape_name(path.empty() ? "." : path) + "': " + text;
}

Result<Comparison> compare_trees(const Fd& source, const Fd& copy,
                                 const Options& options, Links links) {
  Kernel& kernel = options.kernel != nullptr ? *options.kernel : real_kernel();
  WorkerPool& pool =
      options.pool != nullptr ? *options.pool : WorkerPool::shared();
  CompareState state{options, kernel, links, 0, {}, {}, {}, {}};
  struct stat source_stat {};
  struct stat copy_stat {};
  if (kernel.fstat(source.get(), &source_stat) != 0 ||
      kernel.fstat(copy.get(), &copy_stat) != 0) {
    return fail(last_error("fstat", ""));
  }
  state.source_device = source_stat.st_dev;
  unsigned width = options.workers != 0 ? options.workers
                                        : std::min(usable_cpus(), kMostReaders);
  Walk walk({kernel, pool, Trees::source_and_target, copy_stat.st_dev, width,
             options.stop});
  // The walk reads through descriptors of its own: the caller's keep their
  // offset.
  TRY_ASSIGN(Fd own_source,
             open_quietly(kernel, source.get(), ".", O_DIRECTORY));
  TRY_ASSIGN(Fd own_copy, open_quietly(kernel, copy.get(), ".", O_DIRECTORY));
  auto root = std::make_shared<Dir>(nullptr, "");
  auto visitor = std::make_unique<CompareVisitor>(state);
  TRY(visitor->compare_directories(*root, std::move(own_source),
                                   std::move(own_copy), walk.open()));
  TRY(walk.run(std::move(root), std::move(visitor)));
  Comparison out;
  out.entries = state.entries;
  state.differences.take(out);
  return out;
}

}  // namespace lamina::copy
