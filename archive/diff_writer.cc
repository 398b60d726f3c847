#include "archive/diff_writer.h"

#include <sys/sysmacros.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "archive/tar_name.h"
#include "base/kernel.h"

namespace lamina::archive {

namespace {

constexpr mode_t kModeBits = 07777;
constexpr std::string_view kWhiteout = ".wh.";

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0.
}

EntryType type_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return EntryType::directory;
    case S_IFLNK:
      return EntryType::symlink;
    case S_IFCHR:
      return EntryType::char_device;
    case S_IFBLK:
      return EntryType::block_device;
    case S_IFIFO:
      return EntryType::fifo;
    default:
      return EntryType::file;
  }
}

TarEntry entry_of(const Change& change) {
  const struct stat& stat = *change.upper;
  TarEntry entry;
  entry.type = type_of(stat.st_mode);
  entry.path = change.path;
  entry.mode = stat.st_mode & kModeBits;
  entry.uid = stat.st_uid;
  entry.gid = stat.st_gid;
  entry.mtime = stat.st_mtim;
  return entry;
}

// What readers would refuse, ours too, is not written.
Result<void> check_length(std::string_view path) {
  std::string scratch;
  auto clean = clean_name(path, {}, scratch);
  if (!clean) {
    return fail(make_error(ENAMETOOLONG, "diff", "", clean.error().text));
  }
  return {};
}

bool can_be_said(std::string_view name, const std::vector<char>& value) {
  return !value.empty() && name.find('=') == std::string_view::npos;
}

}  // namespace

DiffWriter::DiffWriter(Kernel& kernel, const DiffOptions& options,
                       TarWriter& tar, DiffReport& report)
    : kernel_(kernel),
      options_(options),
      tar_(tar),
      report_(report),
      body_(kernel, options.changes.stop) {}

Result<void> DiffWriter::take(const Change& change) {
  if (name_of(change.path).starts_with(kWhiteout)) {
    return fail(make_error(EINVAL, "diff", "",
                           "a name in a layer cannot begin with .wh."));
  }
  if (change.kind == ChangeKind::deleted) {
    return write_whiteout(change);
  }
  if (S_ISSOCK(change.upper->st_mode)) {
    ++report_.sockets;
    bool hides = change.lower != nullptr && !S_ISSOCK(change.lower->st_mode);
    return hides ? write_whiteout(change) : Result<void>();
  }
  if (!change.link.empty()) {
    return write_link(change);
  }
  TarEntry entry = entry_of(change);
  switch (entry.type) {
    case EntryType::file:
      return write_file(change, entry);
    case EntryType::symlink:
      return write_symlink(change, entry);
    default:
      return write_plain(change, entry);
  }
}

Result<void> DiffWriter::add(const TarEntry& entry) {
  TRY(check_length(entry.path));
  ++report_.entries;
  return tar_.add(entry);
}

// The OCI specification gives a whiteout no attributes; these are the same
// always.
Result<void> DiffWriter::write_whiteout(const Change& change) {
  std::string path(change.path);
  path.insert(path.size() - name_of(path).size(), kWhiteout);
  TarEntry entry;
  entry.path = path;
  ++report_.whiteouts;
  return add(entry);
}

Result<void> DiffWriter::write_link(const Change& change) {
  TarEntry entry = entry_of(change);
  entry.type = EntryType::hard_link;
  entry.link = change.link;
  ++report_.hard_links;
  return add(entry);
}

Result<void> DiffWriter::write_file(const Change& change, TarEntry& entry) {
  TRY_ASSIGN(Fd file,
             open_file(kernel_, change.end.fd, change.end.name, *change.upper));
  TRY(add_xattrs({file.get(), nullptr}, entry));
  entry.size = static_cast<uint64_t>(change.upper->st_size);
  TRY(add(entry));
  TRY(body_.write(file.get(), *change.upper, tar_));
  ++report_.files;
  report_.bytes += entry.size;
  return {};
}

Result<void> DiffWriter::write_symlink(const Change& change, TarEntry& entry) {
  TRY_ASSIGN(std::string target,
             read_target(kernel_, change.end.fd, change.end.name));
  entry.link = target;
  TRY(add_xattrs(change.end, entry));
  ++report_.symlinks;
  return add(entry);
}

Result<void> DiffWriter::write_plain(const Change& change, TarEntry& entry) {
  TRY(add_xattrs(change.end, entry));
  if (entry.type == EntryType::directory) {
    ++report_.directories;
    return add(entry);
  }
  if (entry.type != EntryType::fifo) {
    entry.dev_major = major(change.upper->st_rdev);
    entry.dev_minor = minor(change.upper->st_rdev);
  }
  ++report_.specials;
  return add(entry);
}

Result<void> DiffWriter::add_xattrs(const copy::XattrEnd& end,
                                    TarEntry& entry) {
  copy::XattrRules rules;
  rules.keep = options_.changes.xattrs;
  TRY_ASSIGN(xattrs_, copy::read_xattrs(kernel_, end, rules));
  for (const auto& [name, value] : xattrs_) {
    if (can_be_said(name, value)) {
      entry.xattrs.push_back({name, {value.data(), value.size()}});
      continue;
    }
    std::string why = "a tar cannot hold the attribute " + escape_name(name) +
                      (value.empty() ? ", which has no value"
                                     : ", which has '=' in its name");
    if (options_.loss == copy::Loss::refused) {
      return fail(make_error(ENOTSUP, "diff", entry.path, why));
    }
    if (report_.dropped_xattrs++ == 0) {
      report_.first_dropped =
          make_error(ENOTSUP, "diff", entry.path, why).message();
    }
  }
  return {};
}

}  // namespace lamina::archive
