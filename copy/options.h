// What a copy was asked to do.
//
// A plain struct, const once a copy has begun. Each word a user may give is
// parsed here and nowhere else; an unknown one is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/id_map.h"

namespace lamina {
class Kernel;
class WorkerPool;
}  // namespace lamina

namespace lamina::copy {

class Labeller;
struct Progress;

// What a regular file becomes.
enum class Sharing {
  automatic,  // A reflink, else a content copy.
  reflink,    // A reflink, else an error.
  hardlink,   // A link to the source inode, else as `automatic`.
  content,    // A copy of the bytes; holes stay holes.
};

// What happens where Sharing::hardlink cannot be: copy that file, or fail.
enum class Strictness { fall_back, strict };

// Which extended attributes are kept.
enum class Xattrs {
  all,
  image,  // security.capability, user.* but user.overlay.*, system.posix_acl_*.
  none,
};

// Whose the new inodes are.
enum class Owner {
  keep,    // The source's ids.
  mapped,  // The source's ids through uid_map and gid_map.
  none,    // The caller's. Set-id bits are left off where the owner differs.
};

// What happens to an owner, an attribute or a device that the destination
// refuses.
enum class Loss {
  refused,   // The copy fails.
  forgiven,  // It is counted and reported.
};

// Whether directories of other file systems below SRC are entered. Where they
// are not, the mount point itself is made, empty.
enum class Crossing { allowed, forbidden };

// What becomes of several names of one inode. Split, each is a file of its own:
// for trees whose files share inodes with something else than themselves.
enum class HardLinks { recreated, split };

// What a failed copy leaves behind.
enum class Leftovers { removed, kept };

struct Options {
  // Behaviour.
  Sharing sharing = Sharing::automatic;
  Strictness strictness = Strictness::fall_back;
  Xattrs xattrs = Xattrs::all;
  Owner owner = Owner::keep;
  Loss loss = Loss::refused;
  Crossing crossing = Crossing::allowed;
  Leftovers leftovers = Leftovers::removed;
  HardLinks hard_links = HardLinks::recreated;
  // Inode numbers, ascending, of files that Sharing::hardlink copies all the
  // same. Null for none; must outlive the copy.
  const std::vector<uint64_t>* unlinked = nullptr;
  IdMap uid_map;  // For Owner::mapped.
  IdMap gid_map;
  // An SELinux context every new inode is born with; none by default.
  std::optional<std::string> label;

  // Performance. 0: the width that was measured best for the destination's file
  // system, at most the CPUs this process may use (copy/width.h).
  unsigned workers = 0;

  // Control. Asking to stop ends the copy with ECANCELED, as a failure.
  std::stop_token stop;
  // Counted up while the copy runs; may be null.
  Progress* progress = nullptr;

  // Seams; null for the real ones.
  Kernel* kernel = nullptr;
  WorkerPool* pool = nullptr;
  Labeller* labeller = nullptr;
};

// The words of the command line and of configuration files; nullopt for an
// unknown one.
std::optional<Sharing> parse_sharing(std::string_view word);
std::optional<Xattrs> parse_xattrs(std::string_view word);
std::optional<Owner> parse_owner(std::string_view word);
std::string_view to_string(Sharing sharing);

}  // namespace lamina::copy
