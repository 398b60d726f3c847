#include "copy/compare_visitor.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/limits.h>

#include <cerrno>
#include <functional>
#include <utility>

#include "base/dir_reader.h"
#include "base/kernel.h"
#include "copy/compare_stats.h"
#include "copy/compare_xattrs.h"
#include "copy/open_quietly.h"
#include "copy/report.h"

namespace lamina::copy {

namespace {

bool same_inode(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

void CompareVisitor::end_turn() {
  state_.entries += entries_;
  if (state_.options.progress != nullptr) {
    state_.options.progress->entries += entries_;
  }
  entries_ = 0;
}

Result<FsKind> CompareVisitor::kind_of(dev_t device_number, int fd) {
  if (const Abilities* known = state_.file_systems.find(device_number)) {
    return known->source_kind;
  }
  struct statfs info {};
  if (kernel_.fstatfs(fd, &info) != 0) {
    return fail(last_error("fstatfs", ""));
  }
  FsKind kind = fs_kind_from_magic(static_cast<unsigned long>(info.f_type));
  return state_.file_systems.add(device_number, kind)->source_kind;
}

Result<bool> CompareVisitor::enter(Dir& dir, int parent_source, int parent_copy,
                                   OpenDirs& open) {
  ++entries_;
  const char* name = dir.name().c_str();
  TRY_ASSIGN(Fd source,
             open_quietly(kernel_, parent_source, name, O_DIRECTORY));
  auto copy = open_quietly(kernel_, parent_copy, name, O_DIRECTORY);
  if (!copy) {
    int code = copy.error().code;
    if (code == ENOENT) {
      note_missing(dir.path(), S_IFDIR);
      return false;
    }
    if (code == ENOTDIR || code == ELOOP) {
      state_.differences.note(dir.path(), "is not a directory");
      return false;
    }
    return fail(std::move(copy.error()));
  }
  return compare_directories(dir, std::move(source), std::move(*copy), open);
}

Result<bool> CompareVisitor::compare_directories(Dir& dir, Fd source, Fd copy,
                                                 OpenDirs& open) {
  struct stat copy_stat {};
  if (kernel_.fstat(source.get(), &dir.stat) != 0 ||
      kernel_.fstat(copy.get(), &copy_stat) != 0) {
    return fail(last_error("fstat", ""));
  }
  const std::string path = dir.path();
  compare_inodes(path, dir.stat, copy_stat);
  TRY(compare_attributes(path, {source.get(), nullptr}, {copy.get(), nullptr}));
  bool skipped = state_.options.crossing == Crossing::forbidden &&
                 dir.stat.st_dev != state_.source_device;
  Names wanted;
  if (!skipped) {
    TRY_ASSIGN(wanted, names_in(source.get()));
  }
  TRY_ASSIGN(Names found, names_in(copy.get()));
  if (skipped && found.count != 0) {
    state_.differences.note(
        path, "is not empty, but a mount point that was not to be entered");
  } else if (!skipped && wanted != found) {
    TRY(note_extra_names(dir, copy, source.get()));
  }
  open.put(dir, Side::source, std::move(source));
  open.put(dir, Side::target, std::move(copy));
  return !skipped;
}

// Counts the names of a directory and leaves it at its start.
Result<CompareVisitor::Names> CompareVisitor::names_in(int dir) {
  Names out;
  Listing listing;
  DirEntry entry;
  for (;;) {
    TRY_ASSIGN(bool more, listing.fill(kernel_, dir, ""));
    if (!more) {
      break;
    }
    while (listing.next(&entry)) {
      ++out.count;
      out.hash += std::hash<std::string_view>()(entry.name_view());
    }
  }
  if (kernel_.lseek(dir, 0, SEEK_SET) != 0) {
    return fail(last_error("lseek", ""));
  }
  return out;
}

// Names that the source lacks. Those that the copy lacks are found one by one.
Result<void> CompareVisitor::note_extra_names(const Dir& dir, const Fd& copy,
                                              int source) {
  Listing listing;
  DirEntry entry;
  for (;;) {
    TRY_ASSIGN(bool more, listing.fill(kernel_, copy.get(), ""));
    if (!more) {
      return {};
    }
    while (listing.next(&entry)) {
      struct stat stat {};
      if (kernel_.fstatat(source, entry.name, &stat, AT_SYMLINK_NOFOLLOW) ==
          0) {
        continue;
      }
      if (errno != ENOENT) {
        return fail(last_error("fstatat", ""));
      }
      state_.differences.note(dir.path_of(entry.name_view()),
                              "is only in the copy");
    }
  }
}

void CompareVisitor::note_missing(const std::string& path, mode_t kind) {
  bool forgiven =
      state_.options.loss == Loss::forgiven &&
      (S_ISCHR(kind) || S_ISBLK(kind) || S_ISFIFO(kind) || S_ISSOCK(kind));
  if (!forgiven) {
    state_.differences.note(path, "is missing");
  }
}

Result<std::optional<struct stat>> CompareVisitor::stat_copy(
    const Entry& entry) {
  struct stat stat {};
  if (kernel_.fstatat(entry.target, entry.name(), &stat, AT_SYMLINK_NOFOLLOW) ==
      0) {
    return stat;
  }
  if (errno == ENOENT) {
    return std::optional<struct stat>();
  }
  return fail(last_error("fstatat", ""));
}

Result<Visit> CompareVisitor::visit(const Entry& entry) {
  ++entries_;
  struct stat source {};
  if (kernel_.fstatat(entry.source, entry.name(), &source,
                      AT_SYMLINK_NOFOLLOW) != 0) {
    return fail(last_error("fstatat", ""));
  }
  if (S_ISDIR(source.st_mode)) {
    --entries_;
    return Visit::enter;
  }
  const std::string path = entry.path();
  TRY_ASSIGN(std::optional<struct stat> copy, stat_copy(entry));
  if (!copy) {
    note_missing(path, source.st_mode);
    return Visit::done;
  }
  if (same_inode(source, *copy) || compare_names(path, source, *copy) ||
      !compare_inodes(path, source, *copy)) {
    return Visit::done;
  }
  TRY(compare_attributes(path, {entry.source, entry.name()},
                         {entry.target, entry.name()}));
  if (S_ISLNK(source.st_mode)) {
    TRY(compare_targets(entry, path));
  }
  return S_ISREG(source.st_mode) ? compare_regular(entry, path, source, *copy)
                                 : Visit::done;
}

// Compares what stat tells of both. False when they are not even of one kind.
bool CompareVisitor::compare_inodes(const std::string& path,
                                    const struct stat& source,
                                    const struct stat& copy) {
  for (std::string& text : compare_stats(source, copy, state_.options)) {
    state_.differences.note(path, std::move(text));
  }
  return (source.st_mode & S_IFMT) == (copy.st_mode & S_IFMT);
}

// Names of one inode are names of one inode in the copy, and no others are.
bool CompareVisitor::compare_names(const std::string& path,
                                   const struct stat& source,
                                   const struct stat& copy) {
  if (source.st_nlink <= 1 && copy.st_nlink <= 1) {
    return false;
  }
  switch (state_.counterparts.note(source, copy)) {
    case Counterparts::Pair::fits:
      return false;
    case Counterparts::Pair::known:
      return true;
    case Counterparts::Pair::joined:
      state_.differences.note(path, "is linked with a name it should not be");
      return false;
    case Counterparts::Pair::split:
      if (state_.links == Links::exact) {
        state_.differences.note(path, "is not linked with its other names");
      }
      return false;
  }
  return false;
}

Result<void> CompareVisitor::compare_attributes(const std::string& path,
                                                const XattrEnd& source,
                                                const XattrEnd& copy) {
  TRY_ASSIGN(std::vector<std::string> found,
             compare_xattrs(kernel_, source, copy, state_.options));
  for (const std::string& text : found) {
    state_.differences.note(path, "attribute " + text);
  }
  return {};
}

Result<void> CompareVisitor::compare_targets(const Entry& entry,
                                             const std::string& path) {
  auto read = [this, &entry](int dir) -> Result<std::string> {
    std::string text(PATH_MAX, '\0');
    ssize_t n = kernel_.readlinkat(dir, entry.name(), text.data(), text.size());
    if (n < 0) {
      return fail(last_error("readlinkat", ""));
    }
    text.resize(static_cast<size_t>(n));
    return text;
  };
  TRY_ASSIGN(std::string wanted, read(entry.source));
  TRY_ASSIGN(std::string found, read(entry.target));
  if (wanted != found) {
    state_.differences.note(path, "points to " + escape_name(found) + ", not " +
                                      escape_name(wanted));
  }
  return {};
}

Result<Visit> CompareVisitor::compare_regular(const Entry& entry,
                                              const std::string& path,
                                              const struct stat& source,
                                              const struct stat& copy) {
  TRY_ASSIGN(FsKind kind, kind_of(source.st_dev, entry.source));
  if (!sizes_are_exact(kind)) {
    return Visit::done;  // Made up anew at every reading.
  }
  if (source.st_size != copy.st_size) {
    state_.differences.note(path, "size " + std::to_string(copy.st_size) +
                                      ", not " +
                                      std::to_string(source.st_size));
    return Visit::done;
  }
  if (source.st_size == 0) {
    return Visit::done;
  }
  TRY_ASSIGN(source_file_, open_quietly(kernel_, entry.source, entry.name()));
  TRY_ASSIGN(copy_file_, open_quietly(kernel_, entry.target, entry.name()));
  file_.begin(kernel_, source_file_.get(), copy_file_.get(), source, copy);
  return resume(entry);
}

Result<Visit> CompareVisitor::resume(const Entry& entry) {
  TRY_ASSIGN(bool all, file_.step());
  if (!all) {
    return Visit::again;
  }
  if (!file_.difference().empty()) {
    state_.differences.note(entry.path(), file_.difference());
  }
  source_file_.reset();
  copy_file_.reset();
  return Visit::done;
}

}  // namespace lamina::copy
