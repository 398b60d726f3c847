// What lower layers lend to one that is kept apart: a file that a hard link
// names, and the attributes of directories that the layer only implies.
#include <fcntl.h>
#include <linux/limits.h>

#include <cerrno>
#include <utility>

#include "archive/applier.h"
#include "base/fs_kind.h"
#include "base/kernel.h"
#include "copy/abilities.h"
#include "copy/data.h"

namespace lamina::archive {

namespace {

constexpr int kReadFlags =
    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
constexpr int kCreateFlags =
    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;

}  // namespace

// Both names of a link have to be one inode, and an inode lies in one layer: as
// the kernel does, the file is copied into this one first.
Result<std::optional<Applier::Place>> Applier::copy_up(
    std::string_view path, const timespec times[2]) {
  TRY_ASSIGN(std::optional<LowerStack::Found> found, lower_stack_.find(path));
  if (!found || S_ISDIR(found->stat.st_mode)) {
    return std::optional<Place>();
  }
  size_t slash = found->path.rfind('/');
  Place place;
  place.name = found->name;
  TRY_ASSIGN(std::optional<NodeId> parent,
             dirs_.resolve(slash == std::string::npos
                               ? std::string_view()
                               : std::string_view(found->path).substr(0, slash),
                           Missing::made, times));
  place.parent = *parent;
  TRY_ASSIGN(place.dir, dirs_.fd(place.parent));
  auto copied = copy_up_inode(*found, place);
  if (!copied) {
    if (copied.error().subject.empty()) {
      copied.error().subject = found->path;
    }
    return fail(std::move(copied.error()));
  }
  // It is not written by this layer: a whiteout of it still counts.
  dirs_.mark_content(place.parent);
  ++report_.copied_up;
  return std::optional<Place>(std::move(place));
}

Result<void> Applier::copy_up_inode(const LowerStack::Found& from,
                                    const Place& place) {
  // Ids were mapped when the lower layer was applied.
  copy::Options options = state_.metadata;
  if (options.owner == copy::Owner::mapped) {
    options.owner = copy::Owner::keep;
  }
  options.xattrs = copy::Xattrs::image;
  copy::MetadataWriter writer(kernel_, options, state_.unknown_birth);
  TRY_ASSIGN(copy::Wanted wanted, writer.wanted(from.stat));
  const char* name = place.name.c_str();
  copy::InodeEnd source{from.dir->get(), from.name.c_str()};
  copy::NewInode target{
      {place.dir->get(), name}, from.stat.st_mode & S_IFMT, ~mode_t{0}};
  Fd read;
  Fd written;
  if (S_ISREG(from.stat.st_mode)) {
    TRY_ASSIGN(read, open_lower(from));
    written.reset(kernel_.openat(place.dir->get(), name, kCreateFlags,
                                 writer.birth_mode(wanted, 0)));
    if (!written.valid()) {
      return fail(last_error("openat", ""));
    }
    source = {read.get(), nullptr};
    target.end = {written.get(), nullptr};
  } else {
    TRY(copy_up_node(from, place));
  }
  copy::Tally tally;
  bool list_refused = false;
  Result<void> done;
  if (written.valid()) {
    done = copy_up_bytes(read, written, from.stat);
  }
  if (done) {
    done = writer.write(source, target, wanted, &list_refused, tally);
  }
  if (done && written.valid()) {
    done = written.close(kernel_, "");
  }
  state_.counters.add(tally);
  if (!done) {
    [[maybe_unused]] int ignored = kernel_.unlinkat(place.dir->get(), name, 0);
  }
  return done;
}

Result<Fd> Applier::open_lower(const LowerStack::Found& from) {
  Fd fd(kernel_.openat(from.dir->get(), from.name.c_str(), kReadFlags, 0));
  if (!fd.valid()) {
    return fail(last_error("openat", from.path));
  }
  struct stat stat {};
  if (kernel_.fstat(fd.get(), &stat) != 0) {
    return fail(last_error("fstat", from.path));
  }
  if (stat.st_ino != from.stat.st_ino || stat.st_dev != from.stat.st_dev) {
    return fail(make_error(ESTALE, "openat", from.path));
  }
  return fd;
}

Result<void> Applier::copy_up_bytes(const Fd& from, const Fd& to,
                                    const struct stat& stat) {
  TRY_ASSIGN(FsKind kind, fs_kind_of(kernel_, from, ""));
  copy::Abilities abilities(kind);
  copy::CopyBuffer buffer;
  copy::FileData data;
  data.begin(kernel_, {from.get(), to.get(), stat}, abilities,
             copy::Sharing::automatic, buffer);
  for (bool all = false; !all;) {
    if (state_.options.stop.stop_requested()) {
      return fail(make_error(ECANCELED, "apply", "", "stopped"));
    }
    TRY_ASSIGN(all, data.step());
  }
  return {};
}

// A symlink or a special file.
Result<void> Applier::copy_up_node(const LowerStack::Found& from,
                                   const Place& place) {
  const char* name = place.name.c_str();
  if (S_ISLNK(from.stat.st_mode)) {
    std::string target(PATH_MAX, '\0');
    ssize_t n = kernel_.readlinkat(from.dir->get(), from.name.c_str(),
                                   target.data(), target.size());
    if (n < 0) {
      return fail(last_error("readlinkat", ""));
    }
    target.resize(static_cast<size_t>(n));
    if (kernel_.symlinkat(target.c_str(), place.dir->get(), name) != 0) {
      return fail(last_error("symlinkat", ""));
    }
    return {};
  }
  constexpr mode_t kOwnerOnly = 0600;
  if (kernel_.mknodat(place.dir->get(), name,
                      (from.stat.st_mode & S_IFMT) | kOwnerOnly,
                      from.stat.st_rdev) != 0) {
    return fail(last_error("mknodat", ""));
  }
  return {};
}

// A directory that an entry implies hides nothing of what the lower layers say
// of it.
Result<void> Applier::take_lower_attributes(NodeId id) {
  TRY_ASSIGN(std::optional<LowerStack::Found> found,
             lower_stack_.find(dirs_.path(id)));
  if (!found || !S_ISDIR(found->stat.st_mode)) {
    return {};
  }
  DirNode& node = dirs_[id];
  node.named = true;
  node.mode = found->stat.st_mode & 07777;
  node.uid = found->stat.st_uid;
  node.gid = found->stat.st_gid;
  node.atime = found->stat.st_atim.tv_sec;
  node.atime_ns = static_cast<uint32_t>(found->stat.st_atim.tv_nsec);
  node.mtime = found->stat.st_mtim.tv_sec;
  node.mtime_ns = static_cast<uint32_t>(found->stat.st_mtim.tv_nsec);
  TRY_ASSIGN(Fd fd, open_lower(*found));
  std::string names(XATTR_LIST_MAX, '\0');
  ssize_t n = kernel_.flistxattr(fd.get(), names.data(), names.size());
  for (ssize_t at = 0; at < n;) {
    const std::string name(names.c_str() + at);
    at += static_cast<ssize_t>(name.size()) + 1;
    std::string value(XATTR_SIZE_MAX, '\0');
    ssize_t size = is_forbidden_xattr(name)
                       ? -1
                       : kernel_.fgetxattr(fd.get(), name.c_str(), value.data(),
                                           value.size());
    if (size > 0) {
      value.resize(static_cast<size_t>(size));
      dir_xattrs_[id].push_back({name, std::move(value)});
    }
  }
  return {};
}

// A symlink that lower layers show where this one has nothing: a directory made
// there would hide it, and with it what it leads to.
Result<std::optional<Directories::LinkBelow>> Applier::lower_link(
    NodeId parent, std::string_view name) {
  using Link = std::optional<Directories::LinkBelow>;
  if (dirs_[parent].opaque) {
    return Link();
  }
  std::string path = dirs_.path(parent);
  path += path.empty() ? "" : "/";
  path += name;
  TRY_ASSIGN(std::optional<LowerStack::Found> found, lower_stack_.find(path));
  if (!found || !S_ISLNK(found->stat.st_mode)) {
    return Link();
  }
  return Link({found->dir, found->name});
}

}  // namespace lamina::archive
