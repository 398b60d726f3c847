// The root of a copy: made or adopted, and taken back when the copy fails.
//
// An absent destination is made with mode 0700; an empty directory that exists
// is adopted, with what it was remembered. Anything else is refused. Until the
// copy is finished nobody else can look in. Inherited ACLs are shed, so that
// children are not born with them.
#pragma once

#include <sys/stat.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace lamina {
class Kernel;
class WorkerPool;
}  // namespace lamina

namespace lamina::copy {

class Destination {
 public:
  // Makes or adopts `name` in `parent`; `shown` names it in errors. EEXIST when
  // something stands there that is not a directory, ENOTEMPTY when it is not
  // empty. After an error everything is as it was. `parent` must outlive this.
  static Result<Destination> prepare(Kernel& kernel, const Fd& parent,
                                     std::string name, std::string shown);

  const Fd& root() const { return root_; }
  const struct stat& stat() const { return stat_; }

  // True when the destination was absent and has been made.
  bool made() const { return made_; }

  // Gives an adopted root back the mode, owner, times and attributes it had.
  Result<void> restore();

  // Takes back what was made: a destination that was made goes, an adopted one
  // is empty again and gets back mode, owner, times and attributes.
  Result<void> undo(WorkerPool& pool);

 private:
  explicit Destination(Kernel& kernel)
      : kernel_(&kernel) {}

  Result<void> open(const Fd& parent);
  Result<void> remember();
  Result<void> take_over();

  Kernel* kernel_;
  int parent_ = -1;
  std::string name_;
  std::string shown_;
  bool made_ = false;
  Fd root_;
  struct stat stat_ {};    // Of the root as the copy begins.
  struct stat before_ {};  // Of an adopted root as it was found.
  std::vector<std::pair<std::string, std::string>> xattrs_;  // Its attributes.
};

}  // namespace lamina::copy
