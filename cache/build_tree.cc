#include "cache/build_tree.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/kernel.h"
#include "base/umask.h"
#include "cache/root.h"
#include "copy/abilities.h"

namespace lamina::cache {

namespace {

constexpr mode_t kDirectoryMode = 0755;

// An entry of the manifest, of any kind, while the tree is made in walk order.
struct Item {
  std::string_view path;
  const TreeFile* file = nullptr;
  const TreeLink* link = nullptr;
};

// Orders a directory right before what is in it.
bool in_walk_order(const Item& a, const Item& b) {
  return std::lexicographical_compare(
      a.path.begin(), a.path.end(), b.path.begin(), b.path.end(),
      [](char x, char y) {
        auto rank = [](char c) {
          return c == '/' ? 0 : static_cast<unsigned char>(c);
        };
        return rank(x) < rank(y);
      });
}

bool is_executable(const TreeFile& file) {
  return (mode_of(file) & 0111) != 0;
}

std::vector<Item> items_of(const Manifest& manifest) {
  std::vector<Item> out;
  out.reserve(manifest.directories.size() + manifest.files.size() +
              manifest.symlinks.size());
  for (const std::string& path : manifest.directories) {
    out.push_back({path});
  }
  for (const TreeFile& file : manifest.files) {
    out.push_back({file.path, &file});
  }
  for (const TreeLink& link : manifest.symlinks) {
    out.push_back({link.path, nullptr, &link});
  }
  std::sort(out.begin(), out.end(), in_walk_order);
  return out;
}

class Builder {
 public:
  Builder(BlobSource& blobs, Variants* variants, const Fd& root)
      : kernel_(real_kernel()),
        blobs_(blobs),
        variants_(variants),
        root_(root),
        cuts_modes_((read_umask() & kDirectoryMode) != 0) {}

  Result<void> add(const Item& item);

  BuiltTree finish() {
    std::sort(out_.facts.unlinked.begin(), out_.facts.unlinked.end());
    out_.facts.directories += 1;  // The root.
    return std::move(out_);
  }

 private:
  // A blob that was found: where it lies, and open.
  struct Blob {
    std::optional<BlobPlace> place;
    Fd fd;
    struct stat stat {};
  };

  // The directory that holds what is at `path` now, and the name in it.
  int enter(std::string_view path, std::string* name);
  Result<void> make_directory(std::string_view path, int dir,
                              const std::string& name);
  Result<void> make_file(const TreeFile& file, int dir,
                         const std::string& name);
  Result<Blob> find_blob(const TreeFile& file);
  Result<int> try_link(const TreeFile& file, const Blob& blob, int dir,
                       const std::string& name);
  Result<void> make_copy(const TreeFile& file, const Blob& blob, int dir,
                         const std::string& name);
  Result<void> note_own(const TreeFile& file, int dir, const std::string& name);

  Kernel& kernel_;
  BlobSource& blobs_;
  Variants* variants_;
  const Fd& root_;
  const bool cuts_modes_;
  FileMaker maker_;
  // The open directories on the way to the last entry.
  std::vector<std::pair<std::string, Fd>> open_;
  BuiltTree out_;
};

int Builder::enter(std::string_view path, std::string* name) {
  while (!open_.empty() && !(path.size() > open_.back().first.size() &&
                             path[open_.back().first.size()] == '/' &&
                             path.starts_with(open_.back().first))) {
    open_.pop_back();
  }
  size_t slash = path.rfind('/');
  *name = path.substr(slash == std::string_view::npos ? 0 : slash + 1);
  return open_.empty() ? root_.get() : open_.back().second.get();
}

Result<void> Builder::add(const Item& item) {
  std::string name;
  int dir = enter(item.path, &name);
  if (item.file != nullptr) {
    return make_file(*item.file, dir, name);
  }
  if (item.link != nullptr) {
    ++out_.facts.symlinks;
    if (kernel_.symlinkat(item.link->target.c_str(), dir, name.c_str()) != 0) {
      return fail(last_error("symlinkat", item.path));
    }
    return {};
  }
  return make_directory(item.path, dir, name);
}

Result<void> Builder::make_directory(std::string_view path, int dir,
                                     const std::string& name) {
  ++out_.facts.directories;
  if (kernel_.mkdirat(dir, name.c_str(), kDirectoryMode) != 0) {
    return fail(last_error("mkdirat", path));
  }
  Fd made(kernel_.openat(dir, name.c_str(),
                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0));
  if (!made.valid()) {
    return fail(last_error("openat", path));
  }
  if (cuts_modes_ && kernel_.fchmod(made.get(), kDirectoryMode) != 0) {
    return fail(last_error("fchmod", path));
  }
  open_.emplace_back(path, std::move(made));
  return {};
}

Result<Builder::Blob> Builder::find_blob(const TreeFile& file) {
  Blob out;
  TRY_ASSIGN(out.place, blobs_.locate(file.digest));
  if (out.place) {
    out.fd.reset(kernel_.openat(
        out.place->dir, out.place->name.c_str(),
        O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0));
    if (!out.fd.valid() && errno != ENOENT) {
      return fail(last_error("openat", out.place->name));
    }
  }
  if (!out.fd.valid()) {
    out.place.reset();
    TRY_ASSIGN(std::optional<Fd> fetched, blobs_.fetch(file.digest));
    if (!fetched) {
      return fail(make_error(ENOENT, "blob", file.path,
                             "there is no " + file.digest.text()));
    }
    out.fd = std::move(*fetched);
  }
  if (kernel_.fstat(out.fd.get(), &out.stat) != 0) {
    return fail(last_error("fstat", file.path));
  }
  auto size = static_cast<uint64_t>(out.stat.st_size);
  if (!S_ISREG(out.stat.st_mode) || (file.size && *file.size != size)) {
    return fail(make_error(EINVAL, "blob", file.path,
                           file.digest.text() + " has " + std::to_string(size) +
                               " bytes, not those of the manifest"));
  }
  return out;
}

// 0: linked. Else why the file has to be copied.
Result<int> Builder::try_link(const TreeFile& file, const Blob& blob, int dir,
                              const std::string& name) {
  if (file.executable) {
    if (variants_ == nullptr) {
      return ENOENT;
    }
    return variants_->link(file.digest, blob.fd, dir, name.c_str());
  }
  if (!blob.place) {
    return ENOENT;
  }
  if ((blob.stat.st_mode & 07777) != 0444) {
    return EPERM;  // It would be seen, and cannot be changed.
  }
  if (kernel_.linkat(blob.place->dir, blob.place->name.c_str(), dir,
                     name.c_str()) == 0) {
    return 0;
  }
  return errno;
}

Result<void> Builder::make_copy(const TreeFile& file, const Blob& blob, int dir,
                                const std::string& name) {
  FileFinish finish;
  finish.mode = mode_of(file);
  finish.mtime_ns = file.mtime_ns.value_or(kFixedTimeNs);
  TRY_ASSIGN(uint64_t size, maker_.make(blob.fd, dir, name, finish));
  out_.bytes_copied += size;
  if (is_executable(file)) {
    TRY(settle(dir, name.c_str()));
  }
  return {};
}

// A file that is never handed out as a link.
Result<void> Builder::note_own(const TreeFile& file, int dir,
                               const std::string& name) {
  struct stat stat {};
  if (kernel_.fstatat(dir, name.c_str(), &stat, AT_SYMLINK_NOFOLLOW) != 0) {
    return fail(last_error("fstatat", ""));
  }
  out_.facts.unlinked.push_back(stat.st_ino);
  if (is_executable(file)) {
    out_.facts.own_executables += file.path + '\0';
  }
  return {};
}

Result<void> Builder::make_file(const TreeFile& file, int dir,
                                const std::string& name) {
  static const Result<archive::Digest> kEmpty = digest_of("");
  Blob blob;
  if (!kEmpty || file.digest != *kEmpty) {
    TRY_ASSIGN(blob, find_blob(file));
  } else if (file.size.value_or(0) != 0) {
    return fail(make_error(EINVAL, "blob", file.path,
                           "the digest is that of no bytes, the size is not"));
  }
  auto size = static_cast<uint64_t>(blob.stat.st_size);
  ++out_.facts.files;
  out_.facts.bytes += size;
  if (is_executable(file)) {
    out_.facts.executables += file.path + '\0';
  }
  auto named = [&file](Error error) {
    error.subject = error.subject.empty() ? file.path : error.subject;
    return fail(std::move(error));
  };
  bool own = size == 0 || file.mode || file.mtime_ns;
  if (!own) {
    auto refused = try_link(file, blob, dir, name);
    if (!refused) {
      return named(std::move(refused.error()));
    }
    if (*refused == 0) {
      ++out_.linked;
      return {};
    }
    if (*refused != ENOENT &&
        !copy::is_unsupported(copy::Method::link, *refused)) {
      return fail(make_error(*refused, "linkat", file.path));
    }
  }
  ++(own ? out_.own : out_.copied);
  auto made = make_copy(file, blob, dir, name);
  if (made && own) {
    made = note_own(file, dir, name);
  }
  if (!made) {
    return named(std::move(made.error()));
  }
  return {};
}

}  // namespace

Result<BuiltTree> build_tree(const Manifest& manifest, BlobSource& blobs,
                             Variants* variants, const Fd& root,
                             const std::stop_token& stop) {
  uint64_t made_before = variants == nullptr ? 0 : variants->made();
  Builder builder(blobs, variants, root);
  for (const Item& item : items_of(manifest)) {
    if (stop.stop_requested()) {
      return fail(make_error(ECANCELED, "build", item.path, "stopped"));
    }
    TRY(builder.add(item));
  }
  BuiltTree out = builder.finish();
  out.variants = variants == nullptr ? 0 : variants->made() - made_before;
  return out;
}

}  // namespace lamina::cache
