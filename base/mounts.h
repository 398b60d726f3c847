// The mount table, by libmount.
//
// A snapshot: what was mounted when it was read. Any thread may read one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace lamina {

struct Mount {
  std::string target;  // Where, as proc_pid_mountinfo(5) field 5, unescaped.
  std::string root;    // Which directory of the file system, field 4.
  std::string fs_type;
  int id = 0;  // Field 1, unique among the mounts of the moment.

  friend bool operator==(const Mount&, const Mount&) = default;
};

// The mounts strictly below `path` (absolute, without symlinks) in this
// process's mount namespace, in the order of the table.
Result<std::vector<Mount>> mounts_below(std::string_view path);

// True when a walk of `outer` that crosses mounts would come to the directory
// `inner` by any way, so also when only a bind mount leads from the one to the
// other. Both are absolute and without symlinks. Compared by file system and by
// the place in it, which is all that a walk upwards by ".." cannot see.
Result<bool> walk_reaches(std::string_view outer, std::string_view inner);

}  // namespace lamina
