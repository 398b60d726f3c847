// Symbolic links: never followed, kept with owner, attributes and times.
#include <linux/limits.h>

#include <cerrno>

#include "base/kernel.h"
#include "copy/copy_visitor.h"

namespace lamina::copy {

Result<void> CopyVisitor::copy_symlink(const Entry& entry,
                                       const struct stat& stat) {
  // No file system stores a longer one, symlink(2).
  char text[PATH_MAX + 1];
  ssize_t n = kernel_.readlinkat(entry.source, entry.name(), text, PATH_MAX);
  if (n < 0) {
    return fail(last_error("readlinkat", ""));
  }
  text[n] = '\0';
  TRY_ASSIGN(Wanted wanted, metadata_.wanted(stat));
  if (kernel_.symlinkat(text, entry.target, entry.name()) != 0) {
    return fail(last_error("symlinkat", ""));
  }
  TRY(finish({entry.source, entry.name()},
             {{entry.target, entry.name()}, S_IFLNK, 0}, wanted,
             *entry.dir.abilities));
  count(&Tally::symlinks);
  return {};
}

}  // namespace lamina::copy
