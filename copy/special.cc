// Devices, fifos and sockets: made as nodes, never opened.
#include <cerrno>

#include "base/kernel.h"
#include "copy/copy_visitor.h"

namespace lamina::copy {

Result<void> CopyVisitor::copy_special(const Entry& entry,
                                       const struct stat& stat) {
  TRY_ASSIGN(Wanted wanted, metadata_.wanted(stat));
  mode_t kind = stat.st_mode & S_IFMT;
  mode_t mode = metadata_.birth_mode(wanted, 0);
  if (kernel_.mknodat(entry.target, entry.name(), kind | mode, stat.st_rdev) !=
      0) {
    return fail(last_error(kMakeNode, ""));
  }
  TRY(finish({entry.source, entry.name()},
             {{entry.target, entry.name()}, kind, born(mode)}, wanted,
             *entry.dir.abilities));
  count(&Tally::specials);
  return {};
}

}  // namespace lamina::copy
