// Directories: made or adopted when their header comes, finished when the layer
// has ended, since everything in between touches their times.
#include <fcntl.h>
#include <linux/limits.h>

#include <cerrno>
#include <utility>

#include "archive/applier.h"
#include "base/kernel.h"

namespace lamina::archive {

namespace {

// What making children needs of a directory.
constexpr mode_t kMakerBits = 0700;

}  // namespace

Result<void> Applier::make_directory(const TarEntry& entry) {
  TRY_ASSIGN(copy::Wanted wanted, wanted_of(writer_, entry));
  ++report_.directories;
  if (entry.path == ".") {
    remember(Directories::kRoot, entry, wanted);
    return {};
  }
  TRY_ASSIGN(Place at, place(entry));
  TRY_ASSIGN(NodeId id, directory_node(entry, at, wanted));
  remember(id, entry, wanted);
  dirs_.mark_content(id);
  return {};
}

// The node of a directory that the layer names, made if it is not there.
Result<NodeId> Applier::directory_node(const TarEntry& /*entry*/,
                                       const Place& place,
                                       const copy::Wanted& wanted) {
  if (auto known = dirs_.find(place.parent, place.name)) {
    return *known;
  }
  mode_t mode = writer(place.parent).birth_mode(wanted, kMakerBits);
  const char* name = place.name.c_str();
  bool made = kernel_.mkdirat(place.dir->get(), name, mode) == 0;
  bool opaque = false;
  if (!made && errno != EEXIST) {
    return fail(last_error("mkdirat", ""));
  }
  if (!made) {
    auto adopted = dirs_.adopt(place.parent, place.name);
    if (adopted && *adopted) {
      return **adopted;
    }
    if (!adopted && adopted.error().code != ENOTDIR &&
        adopted.error().code != ELOOP) {
      return fail(std::move(adopted.error()));
    }
    // A directory over the mark of a whiteout hides all that is below.
    if (state_.options.whiteouts == Whiteouts::overlay) {
      TRY_ASSIGN(opaque, is_mark(place.dir->get(), place.name));
    }
    TRY(make_way(place));
    if (kernel_.mkdirat(place.dir->get(), name, mode) != 0) {
      return fail(last_error("mkdirat", ""));
    }
  }
  TRY_ASSIGN(NodeId id, dirs_.add_made(place.parent, place.name, mode));
  dirs_[id].opaque = opaque;
  dirs_.mark_content(place.parent);
  return id;
}

void Applier::remember(NodeId id, const TarEntry& entry,
                       const copy::Wanted& wanted) {
  DirNode& node = dirs_[id];
  node.named = true;
  node.mode = wanted.mode;
  node.uid = wanted.uid;
  node.gid = wanted.gid;
  node.atime = wanted.times[0].tv_sec;
  node.atime_ns = static_cast<uint32_t>(wanted.times[0].tv_nsec);
  node.mtime = wanted.times[1].tv_sec;
  node.mtime_ns = static_cast<uint32_t>(wanted.times[1].tv_nsec);
  dir_xattrs_.erase(id);
  if (!entry.xattrs.empty()) {
    std::vector<OwnXattr>& own = dir_xattrs_[id];
    for (const Xattr& xattr : entry.xattrs) {
      own.push_back({std::string(xattr.name), std::string(xattr.value)});
    }
  }
}

Result<void> Applier::finish_directories() {
  // Children before parents: a parent may end up closed to us.
  for (NodeId id = dirs_.count(); id-- > 0;) {
    if (dirs_.is_gone(id)) {
      continue;
    }
    if (auto finished = finish_directory(id); !finished) {
      if (finished.error().subject.empty()) {
        finished.error().subject = dirs_.path(id);
      }
      return finished;
    }
  }
  return {};
}

Result<void> Applier::finish_directory(NodeId id) {
  const DirNode& node = dirs_[id];
  if (id == Directories::kRoot && !node.named) {
    return {};  // The root's attributes are given back by its owner.
  }
  bool owner_right = state_.birth.owner_known && node.uid == state_.birth.uid &&
                     node.gid == state_.birth.gid;
  bool times_only =
      node.named ? node.made && owner_right && node.mode == node.born_mode &&
                       !dirs_[node.parent].inherits && !dir_xattrs_.contains(id)
                 : !node.made || node.mode == node.born_mode;
  if (times_only && !node.opaque) {
    return finish_by_name(id);
  }
  TRY_ASSIGN(SharedFd fd, dirs_.fd(id));
  if (node.opaque) {
    // overlayfs.rst of the kernel: an opaque directory.
    if (kernel_.fsetxattr(fd->get(), "trusted.overlay.opaque", "y", 1) != 0 &&
        (errno != EPERM ||
         kernel_.fsetxattr(fd->get(), "user.overlay.opaque", "y", 1) != 0)) {
      return fail(last_error("setxattr(overlay.opaque)", ""));
    }
  }
  return finish_named(id, fd);
}

// Only the times are to be set: one call, and nothing is opened.
Result<void> Applier::finish_by_name(NodeId id) {
  const DirNode& node = dirs_[id];
  timespec times[2] = {{node.atime, node.atime_ns},
                       {node.mtime, node.mtime_ns}};
  TRY_ASSIGN(SharedFd parent, dirs_.fd(node.parent));
  std::string name(dirs_.name(id));
  if (kernel_.utimensat(parent->get(), name.c_str(), times) != 0) {
    return fail(last_error("utimensat", ""));
  }
  return {};
}

Result<void> Applier::finish_named(NodeId id, const SharedFd& fd) {
  const DirNode& node = dirs_[id];
  TarEntry entry;
  entry.type = EntryType::directory;
  entry.mode = node.mode;
  entry.mtime = {node.mtime, node.mtime_ns};
  entry.atime = timespec{node.atime, node.atime_ns};
  if (auto own = dir_xattrs_.find(id); own != dir_xattrs_.end()) {
    for (const OwnXattr& xattr : own->second) {
      entry.xattrs.push_back({xattr.name, xattr.value});
    }
  }
  if (node.named && !node.made) {
    TRY(shed_xattrs(id, fd));
  }
  // Ids were mapped when the header came.
  copy::Options metadata = state_.metadata;
  if (metadata.owner == copy::Owner::mapped) {
    metadata.owner = copy::Owner::keep;
  }
  bool implied = !node.named && node.made;
  if (implied) {
    metadata.owner =
        copy::Owner::none;  // An implied directory is the caller's.
  }
  entry.uid = node.uid;
  entry.gid = node.gid;
  bool known = node.made && !dirs_[node.parent].inherits;
  copy::MetadataWriter writer(kernel_, metadata,
                              known ? state_.birth : state_.unknown_birth);
  return finish_inode(state_, writer, {fd->get(), nullptr}, entry,
                      known ? node.born_mode : ~mode_t{0});
}

// A directory that was there gets the layer's attributes, not the layer's
// besides its own.
Result<void> Applier::shed_xattrs(NodeId /*id*/, const SharedFd& fd) {
  std::string names(XATTR_LIST_MAX, '\0');
  ssize_t n = kernel_.flistxattr(fd->get(), names.data(), names.size());
  for (ssize_t at = 0; at < n;) {
    const char* name = names.c_str() + at;
    at += static_cast<ssize_t>(std::string_view(name).size()) + 1;
    if (!is_forbidden_xattr(name) && copy::wants_xattr(state_.rules, name) &&
        kernel_.fremovexattr(fd->get(), name) != 0 && errno != ENODATA) {
      return fail(last_error("removexattr", ""));
    }
  }
  return {};
}

}  // namespace lamina::archive
