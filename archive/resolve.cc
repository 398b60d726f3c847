// How a path leads to a directory: every component by itself, symlinks inside
// the root.
#include <cerrno>
#include <utility>

#include "archive/directories.h"
#include "base/kernel.h"
#include "copy/path_in_root.h"

namespace lamina::archive {

// A resolution under way.
struct Directories::Walk {
  NodeId at = kRoot;
  copy::PathInRoot path;
  Missing missing = Missing::refused;
  const timespec* implied = nullptr;
};

Result<std::optional<NodeId>> Directories::resolve(std::string_view path,
                                                   Missing missing,
                                                   const timespec implied[2]) {
  if (last_path_ && *last_path_ == path && !is_gone(last_node_)) {
    return std::optional<NodeId>(last_node_);
  }
  Walk walk{kRoot, copy::PathInRoot(path), missing, implied};
  std::string name;
  while (walk.path.take(&name)) {
    TRY_ASSIGN(std::optional<NodeId> next, step(walk, name));
    if (!next) {
      return next;
    }
    walk.at = *next;
  }
  last_path_ = std::string(path);
  last_node_ = walk.at;
  return std::optional<NodeId>(walk.at);
}

Result<std::optional<NodeId>> Directories::step(Walk& walk,
                                                std::string_view name) {
  if (name == ".") {
    return std::optional<NodeId>(walk.at);
  }
  if (name == "..") {
    // Only a symlink's target holds one; above the root is the root.
    return std::optional<NodeId>(nodes_[walk.at].parent);
  }
  if (auto known = find(walk.at, name)) {
    return known;
  }
  return enter(walk, name);
}

Result<std::optional<NodeId>> Directories::enter(Walk& walk,
                                                 std::string_view name) {
  auto found = adopt(walk.at, name);
  if (found && *found) {
    return found;
  }
  if (found) {  // Absent.
    if (below_.link) {
      TRY_ASSIGN(std::optional<LinkBelow> link, below_.link(walk.at, name));
      if (link) {
        TRY(follow_in(walk, link->dir->get(), link->name));
        return std::optional<NodeId>(walk.at);
      }
    }
    if (walk.path.inside_link() && !below_.link) {
      return fail(make_error(ENOENT, "resolve", "",
                             "a parent is a dangling symbolic link"));
    }
    if (walk.missing == Missing::refused) {
      return std::optional<NodeId>();
    }
    TRY_ASSIGN(NodeId made, make(walk, name));
    return std::optional<NodeId>(made);
  }
  if (found.error().code != ENOTDIR && found.error().code != ELOOP) {
    return found;
  }
  TRY_ASSIGN(bool link, follow(walk, name));
  if (!link) {
    return fail(
        make_error(ENOTDIR, "resolve", "", "a parent is not a directory"));
  }
  return std::optional<NodeId>(walk.at);
}

// Puts the target of a symlink in front of what is still to be walked. False
// when `name` is no symlink.
Result<bool> Directories::follow(Walk& walk, std::string_view name) {
  TRY_ASSIGN(SharedFd dir, fd(walk.at));
  return follow_in(walk, dir->get(), std::string(name));
}

Result<bool> Directories::follow_in(Walk& walk, int dir,
                                    const std::string& name) {
  TRY_ASSIGN(std::optional<copy::PathInRoot::Start> start,
             walk.path.follow(kernel_, dir, name));
  if (start == copy::PathInRoot::Start::root) {
    walk.at = kRoot;
  }
  return start.has_value();
}

Result<NodeId> Directories::make(Walk& walk, std::string_view name) {
  TRY_ASSIGN(SharedFd dir, fd(walk.at));
  constexpr mode_t kImplied = 0755;
  if (kernel_.mkdirat(dir->get(), std::string(name).c_str(), kImplied) != 0) {
    return fail(last_error("mkdirat", ""));
  }
  TRY_ASSIGN(NodeId id, add_made(walk.at, name, kImplied));
  DirNode& node = nodes_[id];
  node.atime = walk.implied[0].tv_sec;
  node.atime_ns = static_cast<uint32_t>(walk.implied[0].tv_nsec);
  node.mtime = walk.implied[1].tv_sec;
  node.mtime_ns = static_cast<uint32_t>(walk.implied[1].tv_nsec);
  if (below_.implied) {
    TRY(below_.implied(id));
  }
  return id;
}

}  // namespace lamina::archive
