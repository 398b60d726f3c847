#include "archive/directories.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/kernel.h"

namespace lamina::archive {

namespace {

constexpr int kDirectoryFlags =
    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;

// Whether a directory gives its group or its default ACL to its children.
bool gives_away(Kernel& kernel, const Fd& fd, const struct stat& stat) {
  return (stat.st_mode & S_ISGID) != 0 ||
         kernel.fgetxattr(fd.get(), "system.posix_acl_default", nullptr, 0) > 0;
}

}  // namespace

Directories::Directories(Kernel& kernel, const Fd& root,
                         const struct stat& stat, mode_t umask)
    : kernel_(kernel),
      umask_(umask) {
  names_ += '\0';
  DirNode node;
  node.mode = stat.st_mode & 07777;
  node.born_mode = node.mode;
  node.uid = stat.st_uid;
  node.gid = stat.st_gid;
  node.atime = stat.st_atim.tv_sec;
  node.atime_ns = static_cast<uint32_t>(stat.st_atim.tv_nsec);
  node.mtime = stat.st_mtim.tv_sec;
  node.mtime_ns = static_cast<uint32_t>(stat.st_mtim.tv_nsec);
  node.inherits = gives_away(kernel, root, stat);
  nodes_.push_back(node);
  // Not ours to close: shared without an owner.
  root_ = SharedFd(SharedFd(), &root);
  index_.resize(64);
}

std::string_view Directories::name(NodeId id) const {
  return &names_[nodes_[id].name];
}

std::string Directories::path(NodeId id) const {
  std::vector<std::string_view> parts;
  for (; id != kRoot; id = nodes_[id].parent) {
    parts.push_back(name(id));
  }
  std::string out;
  for (size_t i = parts.size(); i-- > 0;) {
    out += out.empty() ? "" : "/";
    out += parts[i];
  }
  return out;
}

uint64_t Directories::hash(NodeId parent, std::string_view name) const {
  // Names are a layer's to choose, but a slow look-up is all a bad choice buys,
  // and std::hash of libstdc++ is murmur.
  return std::hash<std::string_view>()(name) ^
         (uint64_t{parent} * 0x9E3779B97F4A7C15U);
}

std::optional<NodeId> Directories::find(NodeId parent,
                                        std::string_view name) const {
  size_t mask = index_.size() - 1;
  for (size_t i = hash(parent, name) & mask; index_[i] != kRoot;
       i = (i + 1) & mask) {
    const DirNode& node = nodes_[index_[i]];
    if (!node.gone && node.parent == parent &&
        std::string_view(&names_[node.name]) == name) {
      return index_[i];
    }
  }
  return std::nullopt;
}

void Directories::index(NodeId id) {
  size_t mask = index_.size() - 1;
  size_t i = hash(nodes_[id].parent, name(id)) & mask;
  while (index_[i] != kRoot) {
    i = (i + 1) & mask;
  }
  index_[i] = id;
}

void Directories::grow_index() {
  index_.assign(index_.size() * 2, kRoot);
  for (NodeId id = 1; id < count(); ++id) {
    if (!nodes_[id].gone) {
      index(id);
    }
  }
}

NodeId Directories::add(NodeId parent, std::string_view name) {
  DirNode node;
  node.parent = parent;
  node.name = static_cast<uint32_t>(names_.size());
  names_.append(name);
  names_ += '\0';
  nodes_.push_back(node);
  NodeId id = count() - 1;
  if (++indexed_ * 4 > index_.size() * 3) {
    grow_index();
  } else {
    index(id);
  }
  return id;
}

Result<NodeId> Directories::add_made(NodeId parent, std::string_view name,
                                     mode_t born_mode) {
  NodeId id = add(parent, name);
  nodes_[id].made = true;
  nodes_[id].mode = born_mode;
  nodes_[id].born_mode = born_mode & ~umask_;
  if (nodes_[parent].inherits) {
    TRY(disinherit(id));
  }
  return id;
}

// What a lower layer's directory gave to one just made would go on to its
// children, and none of it is this layer's.
Result<void> Directories::disinherit(NodeId id) {
  TRY_ASSIGN(SharedFd made, fd(id));
  for (const char* acl :
       {"system.posix_acl_access", "system.posix_acl_default"}) {
    if (kernel_.fremovexattr(made->get(), acl) != 0 && errno != ENODATA &&
        errno != EOPNOTSUPP) {
      return fail(last_error("removexattr", ""));
    }
  }
  if (kernel_.fchown(made->get(), geteuid(), getegid()) != 0) {
    return fail(last_error("chown", ""));
  }
  if (kernel_.fchmod(made->get(), nodes_[id].born_mode) != 0) {
    return fail(last_error("chmod", ""));
  }
  return {};
}

Result<Fd> Directories::open_child(int parent, std::string_view name) {
  std::string text(name);
  Fd fd(kernel_.openat(parent, text.c_str(), kDirectoryFlags, 0));
  if (!fd.valid()) {
    return fail(last_error("openat", ""));
  }
  return fd;
}

void Directories::keep_open(NodeId id, SharedFd fd) {
  open_.push_front({id, std::move(fd)});
  open_index_[id] = open_.begin();
  if (open_.size() > most_open_) {
    open_index_.erase(open_.back().id);
    open_.pop_back();
  }
}

Result<SharedFd> Directories::fd(NodeId id) {
  if (id == kRoot) {
    return root_;
  }
  if (auto known = open_index_.find(id); known != open_index_.end()) {
    open_.splice(open_.begin(), open_, known->second);
    return known->second->fd;
  }
  // Down from the nearest ancestor that is open.
  std::vector<NodeId> missing;
  SharedFd at;
  for (NodeId up = id; !at; up = nodes_[up].parent) {
    missing.push_back(up);
    NodeId parent = nodes_[up].parent;
    auto known = open_index_.find(parent);
    at = parent == kRoot              ? root_
         : known != open_index_.end() ? known->second->fd
                                      : SharedFd();
  }
  for (size_t i = missing.size(); i-- > 0;) {
    auto opened = open_child(at->get(), name(missing[i]));
    if (!opened) {
      opened.error().subject = path(missing[i]);
      return fail(std::move(opened.error()));
    }
    at = std::make_shared<const Fd>(std::move(*opened));
  }
  keep_open(id, at);
  return at;
}

Result<std::optional<NodeId>> Directories::adopt(NodeId parent,
                                                 std::string_view name) {
  TRY_ASSIGN(SharedFd above, fd(parent));
  auto opened = open_child(above->get(), name);
  if (!opened) {
    if (opened.error().code == ENOENT) {
      return std::optional<NodeId>();
    }
    return fail(std::move(opened.error()));
  }
  struct stat stat {};
  if (kernel_.fstat(opened->get(), &stat) != 0) {
    return fail(last_error("fstat", ""));
  }
  NodeId id = add(parent, name);
  DirNode& node = nodes_[id];
  node.mode = stat.st_mode & 07777;
  node.born_mode = node.mode;
  node.uid = stat.st_uid;
  node.gid = stat.st_gid;
  node.atime = stat.st_atim.tv_sec;
  node.atime_ns = static_cast<uint32_t>(stat.st_atim.tv_nsec);
  node.mtime = stat.st_mtim.tv_sec;
  node.mtime_ns = static_cast<uint32_t>(stat.st_mtim.tv_nsec);
  node.inherits = gives_away(kernel_, *opened, stat);
  keep_open(id, std::make_shared<const Fd>(std::move(*opened)));
  return std::optional<NodeId>(id);
}

void Directories::mark_content(NodeId id) {
  while (!nodes_[id].content) {
    nodes_[id].content = true;
    id = nodes_[id].parent;  // The root is its own parent.
  }
}

void Directories::drop(NodeId parent, std::string_view name) {
  auto id = find(parent, name);
  if (!id) {
    return;
  }
  // Nodes below are unreachable by names from now on; is_gone() tells of them.
  nodes_[*id].gone = true;
  open_.remove_if([&](const OpenNode& node) {
    if (!is_gone(node.id)) {
      return false;
    }
    open_index_.erase(node.id);
    return true;
  });
  forget_resolutions();
}

bool Directories::is_gone(NodeId id) const {
  for (; id != kRoot; id = nodes_[id].parent) {
    if (nodes_[id].gone) {
      return true;
    }
  }
  return false;
}

bool Directories::is_within(NodeId id, NodeId above) const {
  for (;; id = nodes_[id].parent) {
    if (id == above) {
      return true;
    }
    if (id == kRoot) {
      return false;
    }
  }
}

}  // namespace lamina::archive
