#include "archive/changes.h"

#include "archive/change_walk.h"
#include "base/kernel.h"

namespace lamina::archive {

Result<void> find_changes(const Fd& lower, const Fd& upper, ChangeSink& sink,
                          const ChangeOptions& options, Deletions deletions) {
  Kernel& kernel = options.kernel != nullptr ? *options.kernel : real_kernel();
  return ChangeWalk(kernel, options, deletions, sink).run(lower, upper);
}

}  // namespace lamina::archive
