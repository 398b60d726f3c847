// Reads entries and blobs back and names what is not as it was made.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <utility>

#include "archive/unchanged.h"
#include "base/dir_reader.h"
#include "base/kernel.h"
#include "cache/cache.h"
#include "cache/import.h"
#include "cache/read.h"

namespace lamina::cache {

namespace {

constexpr int kRead = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

// What a manifest says of a path.
struct Promise {
  const TreeFile* file = nullptr;
  const TreeLink* link = nullptr;  // Neither: a directory.
};

class Comparison {
 public:
  Comparison(const EntryRow& row, const Manifest& manifest,
             const std::stop_token& stop, Verified* out)
      : kernel_(real_kernel()),
        key_(row.key),
        stop_(stop),
        out_(*out) {
    for (const std::string& path : manifest.directories) {
      promised_[path] = {};
    }
    for (const TreeFile& file : manifest.files) {
      promised_[file.path] = {&file, nullptr};
    }
    for (const TreeLink& link : manifest.symlinks) {
      promised_[link.path] = {nullptr, &link};
    }
  }

  // Compares all below `dir`; what was promised and found is struck off.
  Result<void> walk(const Fd& dir, const std::string& path);

  void missing() {
    for (const auto& [path, promise] : promised_) {
      fault(path, "it is missing");
    }
  }

 private:
  void fault(const std::string& path, std::string what) {
    out_.faults.push_back({key_, path, std::move(what)});
  }
  Result<void> look(const Fd& dir, const char* name, const std::string& path);
  Result<void> look_at_file(const Fd& dir, const char* name,
                            const TreeFile& file, const struct stat& stat);
  Result<void> look_at_link(const Fd& dir, const char* name,
                            const TreeLink& link);

  Kernel& kernel_;
  const std::string& key_;
  const std::stop_token& stop_;
  Verified& out_;
  std::map<std::string, Promise> promised_;
};

Result<void> Comparison::walk(const Fd& dir, const std::string& path) {
  TRY_ASSIGN(std::vector<std::string> names, read_names(dir, path));
  for (const std::string& name : names) {
    if (stop_.stop_requested()) {
      return fail(make_error(ECANCELED, "verify", path, "stopped"));
    }
    TRY(look(dir, name.c_str(), path.empty() ? name : path + "/" + name));
  }
  return {};
}

Result<void> Comparison::look(const Fd& dir, const char* name,
                              const std::string& path) {
  auto found = promised_.find(path);
  if (found == promised_.end()) {
    fault(path, "it is not in the manifest");
    return {};
  }
  Promise promise = found->second;
  promised_.erase(found);
  struct stat stat {};
  if (kernel_.fstatat(dir.get(), name, &stat, AT_SYMLINK_NOFOLLOW) != 0) {
    return fail(last_error("fstatat", path));
  }
  if (promise.link != nullptr && S_ISLNK(stat.st_mode)) {
    return look_at_link(dir, name, *promise.link);
  }
  if (promise.file != nullptr && S_ISREG(stat.st_mode)) {
    return look_at_file(dir, name, *promise.file, stat);
  }
  bool directory = promise.file == nullptr && promise.link == nullptr;
  if (!directory || !S_ISDIR(stat.st_mode)) {
    fault(path, "it is of another type");
    return {};
  }
  if ((stat.st_mode & 07777) != 0755) {
    fault(path, "its mode is not 0755");
  }
  Fd below(kernel_.openat(dir.get(), name, kRead | O_DIRECTORY, 0));
  if (!below.valid()) {
    return fail(last_error("openat", path));
  }
  return walk(below, path);
}

Result<void> Comparison::look_at_link(const Fd& dir, const char* name,
                                      const TreeLink& link) {
  auto target = archive::read_target(kernel_, dir.get(), name);
  if (!target) {
    target.error().subject = link.path;
    return fail(std::move(target.error()));
  }
  if (link.target != *target) {
    fault(link.path, "it points elsewhere");
  }
  return {};
}

Result<void> Comparison::look_at_file(const Fd& dir, const char* name,
                                      const TreeFile& file,
                                      const struct stat& stat) {
  if ((stat.st_mode & 07777) != mode_of(file)) {
    fault(file.path, "its mode was changed");
  }
  Fd fd(kernel_.openat(dir.get(), name, kRead, 0));
  if (!fd.valid()) {
    return fail(last_error("openat", file.path));
  }
  auto digest = digest_of_file(fd);
  if (!digest) {
    digest.error().subject = file.path;
    return fail(std::move(digest.error()));
  }
  out_.bytes += static_cast<uint64_t>(stat.st_size);
  if (*digest != file.digest) {
    fault(file.path, "its bytes were changed");
  }
  return {};
}

Result<std::string> read_manifest(const Fd& dir, const char* name) {
  Fd fd(real_kernel().openat(dir.get(), name, kRead, 0));
  if (!fd.valid()) {
    return fail(last_error("openat", name));
  }
  return read_all(fd, name, kMostManifestBytes);
}

}  // namespace

Result<void> Cache::verify_entry(const EntryRow& row, Verified* out) {
  std::string why_not;
  TRY_ASSIGN(std::optional<Held> held, hold(row.key, "", &why_not));
  if (!held) {
    TRY_ASSIGN(std::optional<EntryRow> still, index_.find(row.key));
    if (still) {
      out->faults.push_back({row.key, "", why_not});
    }
    return {};
  }
  ++out->entries;
  auto json = read_manifest(held->pin.dir(), "manifest.json");
  if (!json) {
    out->faults.push_back(
        {row.key, "", "its manifest: " + json.error().message()});
    return {};
  }
  auto manifest = parse_manifest(*json, "manifest.json");
  if (!manifest) {
    out->faults.push_back({row.key, "", manifest.error().message()});
    return {};
  }
  Comparison comparison(row, *manifest, options_.stop, out);
  TRY_ASSIGN(Fd tree, open_below(held->tree, "."));
  TRY(comparison.walk(tree, ""));
  comparison.missing();
  return {};
}

Result<void> Cache::verify_blobs(Verified* out) {
  TRY_ASSIGN(FileLock using_blobs, use_blobs(Hold::shared));
  TRY_ASSIGN(Fd dir, open_below(root_.blobs, "."));
  Listing listing;
  for (;;) {
    TRY_ASSIGN(bool more, listing.fill(real_kernel(), dir.get(), "blobs"));
    if (!more) {
      return {};
    }
    for (DirEntry entry; listing.next(&entry);) {
      if (options_.stop.stop_requested()) {
        return fail(make_error(ECANCELED, "verify", "blobs", "stopped"));
      }
      const std::string path = "blobs/sha256/" + std::string(entry.name_view());
      Fd fd(real_kernel().openat(dir.get(), entry.name, kRead, 0));
      struct stat stat {};
      if (!fd.valid() || real_kernel().fstat(fd.get(), &stat) != 0) {
        return fail(last_error("openat", path));
      }
      TRY_ASSIGN(archive::Digest digest, digest_of_file(fd));
      ++out->blobs;
      out->bytes += static_cast<uint64_t>(stat.st_size);
      if (hex_of(digest) != entry.name_view()) {
        out->faults.push_back({"", path, "its bytes were changed"});
      }
      if ((stat.st_mode & 07777) != 0444) {
        out->faults.push_back({"", path, "its mode was changed"});
      }
    }
  }
}

Result<Verified> Cache::verify() {
  TRY(open());
  Verified out;
  TRY_ASSIGN(std::vector<EntryRow> rows, index_.list());
  for (const EntryRow& row : rows) {
    TRY(verify_entry(row, &out));
  }
  TRY(verify_blobs(&out));
  return out;
}

Result<Verified> Cache::verify(std::string_view key) {
  TRY(open());
  TRY_ASSIGN(std::optional<EntryRow> row, index_.find(key));
  if (!row) {
    return fail(
        make_error(ENOENT, "verify", key, "there is no entry with this key"));
  }
  Verified out;
  TRY(verify_entry(*row, &out));
  return out;
}

}  // namespace lamina::cache
