// The directories that a layer names or passes through, and the way to them.
//
// Each real directory is one node, found from the root by names, never by
// paths: a parent that is a symlink is resolved inside the root, component by
// component, as if the root were "/" (absolute targets and ".." included). A
// node remembers what is to be written on the directory when the layer has
// ended, or the times it had before it was touched. About 80 bytes a directory
// and its name; few descriptors are held open at a time. One thread.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace lamina {
class Kernel;
}

namespace lamina::archive {

using NodeId = uint32_t;
using SharedFd = std::shared_ptr<const Fd>;

struct DirNode {
  NodeId parent = 0;
  uint32_t name = 0;  // Offset into the names.
  uint32_t mode = 0;  // Wanted, or found.
  uint32_t born_mode = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t atime_ns = 0;
  uint32_t mtime_ns = 0;
  int64_t atime = 0;
  int64_t mtime = 0;
  bool made : 1 = false;      // By this layer; else it was there.
  bool named : 1 = false;     // The layer has a header for it.
  bool content : 1 = false;   // The layer has put something into it, or itself.
  bool gone : 1 = false;      // Replaced or removed; not to be used any more.
  bool opaque : 1 = false;    // To be marked so (overlay form).
  bool inherits : 1 = false;  // Gives its group or its default ACL to children.
};

// How a parent that is missing is made.
enum class Missing { refused, made };

class Directories {
 public:
  static constexpr NodeId kRoot = 0;

  // Requires a root that outlives this.
  // `umask` is what the calling thread's takes from the modes of what it makes.
  Directories(Kernel& kernel, const Fd& root, const struct stat& stat,
              mode_t umask);
  Directories(const Directories&) = delete;
  Directories& operator=(const Directories&) = delete;

  // What lower layers kept elsewhere say, asked where this one has nothing:
  // where a symlink lies that shows there, and what a directory that an entry
  // implies should be.
  struct LinkBelow {
    SharedFd dir;
    std::string name;
  };
  struct Below {
    std::function<Result<std::optional<LinkBelow>>(NodeId parent,
                                                   std::string_view name)>
        link;
    std::function<Result<void>(NodeId made)> implied;
  };
  void ask_below(Below below) { below_ = std::move(below); }

  DirNode& operator[](NodeId id) { return nodes_[id]; }
  const DirNode& operator[](NodeId id) const { return nodes_[id]; }
  NodeId count() const { return static_cast<NodeId>(nodes_.size()); }
  std::string_view name(NodeId id) const;
  // Relative to the root, for messages; "" for the root.
  std::string path(NodeId id) const;

  // Finds the directory that `path` (cleaned: no "", ".", "..") leads to. With
  // Missing::made absent directories are made 0755 with `implied` as their
  // times; with Missing::refused the answer is nothing. A dangling symlink, a
  // loop of them, or something on the way that is no directory is an error
  // (ENOENT, ELOOP, ENOTDIR).
  Result<std::optional<NodeId>> resolve(std::string_view path, Missing missing,
                                        const timespec implied[2]);

  // The node of a name in `parent`, if it is known.
  std::optional<NodeId> find(NodeId parent, std::string_view name) const;

  // Opens the directory `name` of `parent` and makes it a node; nothing when it
  // is absent; ENOTDIR or ELOOP when it is something else.
  Result<std::optional<NodeId>> adopt(NodeId parent, std::string_view name);

  // Notes a directory that was just made, without what it inherited.
  Result<NodeId> add_made(NodeId parent, std::string_view name,
                          mode_t born_mode);

  // A descriptor of a node, opened again if need be.
  Result<SharedFd> fd(NodeId id);

  // Says that the layer put something into `id`.
  void mark_content(NodeId id);

  // Says that a name of `parent` no longer is the directory it was: its node
  // and all below it are gone.
  void drop(NodeId parent, std::string_view name);

  // Says that a symlink or directory was replaced, so that no earlier
  // resolution is to be believed.
  void forget_resolutions() { last_path_.reset(); }

  // True when `id` or a directory above it was dropped.
  bool is_gone(NodeId id) const;

  // True when `id` is `above` or lies below it.
  bool is_within(NodeId id, NodeId above) const;

 private:
  struct Walk;

  NodeId add(NodeId parent, std::string_view name);
  uint64_t hash(NodeId parent, std::string_view name) const;
  void index(NodeId id);
  void grow_index();
  Result<std::optional<NodeId>> step(Walk& walk, std::string_view name);
  Result<std::optional<NodeId>> enter(Walk& walk, std::string_view name);
  Result<bool> follow(Walk& walk, std::string_view name);
  Result<bool> follow_in(Walk& walk, int dir, const std::string& name);
  Result<NodeId> make(Walk& walk, std::string_view name);
  Result<void> disinherit(NodeId id);
  Result<Fd> open_child(int parent, std::string_view name);
  void keep_open(NodeId id, SharedFd fd);

  Kernel& kernel_;
  const mode_t umask_;
  std::deque<DirNode> nodes_;
  std::string names_;          // Each ended by a NUL.
  std::vector<NodeId> index_;  // Open addressing; kRoot means free.
  size_t indexed_ = 0;
  SharedFd root_;

  // Descriptors of the nodes used last.
  struct OpenNode {
    NodeId id;
    SharedFd fd;
  };
  std::list<OpenNode> open_;
  std::unordered_map<NodeId, std::list<OpenNode>::iterator> open_index_;
  size_t most_open_ = 64;

  Below below_;

  // The last path resolved: most entries share it with the one before.
  std::optional<std::string> last_path_;
  NodeId last_node_ = kRoot;
};

}  // namespace lamina::archive
