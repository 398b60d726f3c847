#include "copy/batch_dirs.h"

#include <fcntl.h>

#include <cerrno>

#include "base/kernel.h"
#include "copy/case_folding.h"

namespace lamina::copy {

namespace {

constexpr int kOpenFlags =
    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
constexpr mode_t kMode = 0755;

Error leads_out() {
  return make_error(EXDEV, "resolve", "",
                    "a parent is a symbolic link that leads out of the root");
}

}  // namespace

std::string BatchDirs::key(const BatchDir& above, std::string_view name) {
  std::string out(reinterpret_cast<const char*>(&above.id), sizeof above.id);
  out += name;
  return out;
}

BatchDir* BatchDirs::find(const BatchDir& above, std::string_view name) {
  auto known = by_name_.find(key(above, name));
  return known == by_name_.end() ? nullptr : known->second;
}

bool BatchDirs::knows(const BatchDir& above, std::string_view name) const {
  return by_name_.contains(key(above, name));
}

Result<void> BatchDirs::start(const Fd& root) {
  // A descriptor of its own: the caller's may be one of a path.
  Fd fd(kernel_.openat(root.get(), ".", kOpenFlags, 0));
  if (!fd.valid()) {
    return fail(last_error("open", ""));
  }
  struct stat stat {};
  if (kernel_.fstat(fd.get(), &stat) != 0) {
    return fail(last_error("fstat", ""));
  }
  TRY_ASSIGN(kind_, fs_kind_of(kernel_, fd, ""));
  device_ = stat.st_dev;
  BatchDir node;
  node.dir = std::make_shared<Dir>(nullptr, "");
  TRY(learn(node, fd, stat));
  nodes_.push_back(std::move(node));
  by_identity_[{stat.st_dev, stat.st_ino}] = &nodes_.back();
  open_.put(*nodes_.back().dir, Side::target, std::move(fd));
  return {};
}

// What a directory that was there does to what is made in it.
Result<void> BatchDirs::learn(BatchDir& node, const Fd& fd,
                              const struct stat& stat) {
  FsKind kind = kind_;
  if (stat.st_dev != device_) {
    TRY_ASSIGN(kind, fs_kind_of(kernel_, fd, ""));
  }
  node.sets_group = (stat.st_mode & S_ISGID) != 0;
  node.default_acl =
      kernel_.fgetxattr(fd.get(), "system.posix_acl_default", nullptr, 0) > 0;
  node.folds = may_fold_case(fd, kind);
  return {};
}

Result<const BatchDir*> BatchDirs::enter(const BatchDir& above,
                                         std::string_view name) {
  if (BatchDir* known = find(above, name)) {
    return known;
  }
  std::string text(name);
  TRY_ASSIGN(BatchDir * made, make(above, text));
  if (made != nullptr) {
    return made;
  }
  auto found = adopt(above, text);
  if (found && *found == nullptr) {
    return fail(make_error(ESTALE, "openat", "", "it was removed meanwhile"));
  }
  if (found) {
    return *found;
  }
  if (found.error().code != ENOTDIR && found.error().code != ELOOP) {
    return fail(std::move(found.error()));
  }
  return follow(above, PathInRoot(text));
}

// Goes where a name leads that is a symlink, or fails as it should.
Result<const BatchDir*> BatchDirs::follow(const BatchDir& above,
                                          PathInRoot path) {
  const BatchDir* at = &above;
  std::string name;
  while (path.take(&name)) {
    if (name == ".") {
      continue;
    }
    if (name == "..") {
      if (at == &root()) {
        return fail(leads_out());
      }
      at = &nodes_[at->above];
      continue;
    }
    if (BatchDir* known = find(*at, name)) {
      at = known;
      continue;
    }
    auto found = adopt(*at, name);
    if (found && *found == nullptr) {
      return fail(make_error(ENOENT, "resolve", "",
                             "a parent is a dangling symbolic link"));
    }
    if (found) {
      at = *found;
      continue;
    }
    if (found.error().code != ENOTDIR && found.error().code != ELOOP) {
      return fail(std::move(found.error()));
    }
    TRY_ASSIGN(SharedFd dir, fd(*at));
    TRY_ASSIGN(std::optional<PathInRoot::Start> start,
               path.follow(kernel_, dir->get(), name));
    if (!start) {
      return fail(
          make_error(ENOTDIR, "resolve", "", "a parent is not a directory"));
    }
    if (*start == PathInRoot::Start::root) {
      return fail(leads_out());
    }
  }
  return at;
}

// Null when something has that name.
Result<BatchDir*> BatchDirs::make(const BatchDir& above,
                                  const std::string& name) {
  TRY_ASSIGN(SharedFd dir, fd(above));
  if (kernel_.mkdirat(dir->get(), name.c_str(), kMode) != 0) {
    if (errno == EEXIST) {
      return nullptr;
    }
    return fail(last_error("mkdirat", ""));
  }
  ++made_;
  TRY_ASSIGN(Fd fd, open_child(above, name));
  // A new directory takes the group and the flags of the one above it.
  if (above.default_acl || (kMode & umask_) != 0) {
    mode_t mode = kMode | (above.sets_group ? S_ISGID : 0);
    if (kernel_.fchmod(fd.get(), mode) != 0) {
      return fail(last_error("chmod", ""));
    }
  }
  struct stat stat {};
  // Only there can another name lead to it.
  if (above.folds && kernel_.fstat(fd.get(), &stat) != 0) {
    return fail(last_error("fstat", ""));
  }
  BatchDir& node = add(&above, name, std::move(fd));
  node.sets_group = above.sets_group;
  node.default_acl = above.default_acl;
  node.folds = above.folds;
  if (above.folds) {
    by_identity_[{stat.st_dev, stat.st_ino}] = &node;
  }
  return &node;
}

Result<BatchDir*> BatchDirs::adopt(const BatchDir& above,
                                   const std::string& name) {
  auto opened = open_child(above, name);
  if (!opened) {
    if (opened.error().code == ENOENT) {
      return nullptr;
    }
    return fail(std::move(opened.error()));
  }
  struct stat stat {};
  if (kernel_.fstat(opened->get(), &stat) != 0) {
    return fail(last_error("fstat", ""));
  }
  Identity identity{stat.st_dev, stat.st_ino};
  if (auto known = by_identity_.find(identity); known != by_identity_.end()) {
    by_name_.emplace(key(above, name), known->second);
    return known->second;
  }
  BatchDir learned;
  TRY(learn(learned, *opened, stat));
  BatchDir& node = add(&above, name, std::move(*opened));
  node.sets_group = learned.sets_group;
  node.default_acl = learned.default_acl;
  node.folds = learned.folds;
  by_identity_[identity] = &node;
  return &node;
}

Result<Fd> BatchDirs::open_child(const BatchDir& above,
                                 const std::string& name) {
  TRY_ASSIGN(SharedFd dir, fd(above));
  Fd fd(kernel_.openat(dir->get(), name.c_str(), kOpenFlags, 0));
  if (!fd.valid()) {
    return fail(last_error("openat", ""));
  }
  return fd;
}

BatchDir& BatchDirs::add(const BatchDir* above, const std::string& name,
                         Fd fd) {
  BatchDir& node = nodes_.emplace_back();
  node.id = static_cast<uint32_t>(nodes_.size() - 1);
  node.above = above->id;
  node.dir = std::make_shared<Dir>(above->dir, name);
  by_name_.emplace(key(*above, name), &node);
  open_.put(*node.dir, Side::target, std::move(fd));
  return node;
}

}  // namespace lamina::copy
