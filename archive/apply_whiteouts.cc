// Whiteouts: what a layer hides of the layers below it (OCI image
// specification, layer.md), as deletion or as overlayfs's marks.
//
// A whiteout acts on lower layers only, wherever it stands in the archive:
// names that this layer has written stay, and so do the directories above them.
#include <fcntl.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <utility>

#include "archive/applier.h"
#include "base/dir_reader.h"
#include "base/kernel.h"
#include "copy/remove_tree.h"

namespace lamina::archive {

namespace {

constexpr std::string_view kPrefix = ".wh.";
constexpr std::string_view kOpaque = ".wh..wh..opq";
constexpr std::string_view kAufs = ".wh..wh.";

std::string_view hidden_name(std::string_view path) {
  size_t slash = path.rfind('/');
  std::string_view name =
      slash == std::string_view::npos ? path : path.substr(slash + 1);
  return name.substr(kPrefix.size());
}

std::string_view parent_of(std::string_view path) {
  size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "" : path.substr(0, slash);
}

}  // namespace

// The name decides, not the type. Names that a mark cannot have are refused in
// every form but `none`: ".wh." joined to its directory is the directory.
Result<Applier::Mark> Applier::mark_of(std::string_view name) const {
  if (state_.options.whiteouts == Whiteouts::none ||
      !name.starts_with(kPrefix)) {
    return Mark::none;
  }
  std::string_view hidden = name.substr(kPrefix.size());
  if (hidden.empty() || hidden == "." || hidden == "..") {
    return fail(
        make_error(EINVAL, "apply", "", "a whiteout needs a name to hide"));
  }
  if (state_.options.whiteouts == Whiteouts::keep) {
    return Mark::none;
  }
  if (name == kOpaque) {
    return Mark::opaque;
  }
  return name.starts_with(kAufs) ? Mark::aufs : Mark::whiteout;
}

Result<void> Applier::apply_whiteout(const TarEntry& entry, Mark mark) {
  if (mark == Mark::aufs) {
    ++report_.skipped;  // Left over from an AUFS upper; means nothing here.
    return {};
  }
  ++report_.whiteouts;
  bool marks = state_.options.whiteouts == Whiteouts::overlay;
  timespec times[2] = {entry.mtime, entry.mtime};
  auto parent = dirs_.resolve(parent_of(entry.path),
                              marks ? Missing::made : Missing::refused, times);
  if (!parent && !marks && parent.error().code == ENOTDIR) {
    return {};
  }
  if (!parent) {
    return fail(std::move(parent.error()));
  }
  if (!*parent || (!marks && lower_ == Lower::none)) {
    return {};  // What it would hide is not there.
  }
  if (mark == Mark::opaque) {
    dirs_[**parent].opaque = marks;
    return hide_children(**parent);
  }
  return marks ? mark_name(**parent, hidden_name(entry.path), entry)
               : hide_name(**parent, hidden_name(entry.path));
}

bool Applier::is_written(NodeId parent, std::string_view name) const {
  return written_.has(parent, name);
}

// Hides one lower name, as deletion.
Result<void> Applier::hide_name(NodeId parent, std::string_view name) {
  if (auto id = dirs_.find(parent, name); id && dirs_[*id].content) {
    return hide_children(*id);  // Ours, but it may have lower children.
  }
  if (is_written(parent, name)) {
    return {};
  }
  return remove_name(parent, name);
}

Result<void> Applier::remove_name(NodeId parent, std::string_view name) {
  dirs_.drop(parent, name);
  dirs_.forget_resolutions();
  TRY_ASSIGN(SharedFd dir, dirs_.fd(parent));
  copy::RemoveOptions options;
  options.kernel = state_.options.kernel;
  options.pool = state_.options.pool;
  options.workers = 1;
  auto removed = copy::remove_tree(*dir, name, options);
  if (!removed && removed.error().code != ENOENT) {
    return fail(std::move(removed.error()));
  }
  return {};
}

// Hides all lower children of a directory, and of those below it that this
// layer has put something into.
Result<void> Applier::hide_children(NodeId top) {
  std::vector<NodeId> todo{top};
  while (!todo.empty()) {
    NodeId id = todo.back();
    todo.pop_back();
    std::vector<std::string> hidden;
    {
      TRY_ASSIGN(SharedFd shared, dirs_.fd(id));
      Fd dir(kernel_.openat(shared->get(), ".",
                            O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
      if (!dir.valid()) {
        return fail(last_error("openat", dirs_.path(id)));
      }
      Listing listing;
      DirEntry entry;
      for (;;) {
        TRY_ASSIGN(bool more, listing.fill(kernel_, dir.get(), dirs_.path(id)));
        if (!more) {
          break;
        }
        while (listing.next(&entry)) {
          auto child = dirs_.find(id, entry.name_view());
          if (child && dirs_[*child].content) {
            todo.push_back(*child);
          } else if (child || !is_written(id, entry.name_view())) {
            hidden.emplace_back(entry.name_view());
          }
        }
      }
    }
    for (const std::string& name : hidden) {
      TRY(remove_name(id, name));
    }
  }
  return {};
}

// Overlay form: a character device 0/0 hides a lower name.
Result<void> Applier::mark_name(NodeId parent, std::string_view name,
                                const TarEntry& entry) {
  if (dirs_[parent].opaque) {
    return {};  // A mark in an opaque directory would show as a ghost name.
  }
  if (auto id = dirs_.find(parent, name); id && dirs_[*id].content) {
    dirs_[*id].opaque = true;
    return {};
  }
  if (is_written(parent, name)) {
    return {};
  }
  Place place{parent, std::string(name), {}};
  TRY_ASSIGN(place.dir, dirs_.fd(parent));
  dirs_.mark_content(parent);
  if (kernel_.mknodat(place.dir->get(), place.name.c_str(), S_IFCHR,
                      makedev(0, 0)) != 0) {
    if (errno != EEXIST) {
      return fail(last_error("mknodat", ""));
    }
    TRY_ASSIGN(bool same, is_mark(place.dir->get(), name));
    if (same) {
      return {};  // The same whiteout twice.
    }
    // Copied up from a lower layer for a hard link, and hidden after all.
    TRY(make_way(place));
    if (kernel_.mknodat(place.dir->get(), place.name.c_str(), S_IFCHR,
                        makedev(0, 0)) != 0) {
      return fail(last_error("mknodat", ""));
    }
  }
  TarEntry mark;
  mark.ordinal = entry.ordinal;
  mark.type = EntryType::char_device;
  mark.uid = entry.uid;
  mark.gid = entry.gid;
  mark.mtime = entry.mtime;
  return finish_inode(state_, writer(parent),
                      {place.dir->get(), place.name.c_str()}, mark, 0);
}

Result<bool> Applier::is_mark(int dir, std::string_view name) {
  struct stat stat {};
  if (kernel_.fstatat(dir, std::string(name).c_str(), &stat,
                      AT_SYMLINK_NOFOLLOW) != 0) {
    return fail(last_error("fstatat", ""));
  }
  return S_ISCHR(stat.st_mode) && stat.st_rdev == makedev(0, 0);
}

}  // namespace lamina::archive
