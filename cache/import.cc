#include "cache/import.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "archive/unchanged.h"
#include "base/kernel.h"
#include "cache/blobs.h"
#include "cache/read.h"

namespace lamina::cache {

namespace {

constexpr int kRead = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
constexpr size_t kBufferBytes = size_t{256} << 10;

class Importer {
 public:
  Importer(BlobStore& store, const std::stop_token& stop)
      : kernel_(real_kernel()),
        store_(store),
        stop_(stop) {}

  Result<void> read(const Fd& dir, const std::string& path, size_t depth);
  Manifest take() { return std::move(out_); }

 private:
  Result<void> add(const Fd& dir, const std::string& name,
                   const std::string& path, size_t depth);
  Result<void> add_file(const Fd& dir, const char* name,
                        const std::string& path);
  Result<void> add_link(const Fd& dir, const char* name,
                        const std::string& path);

  Kernel& kernel_;
  BlobStore& store_;
  const std::stop_token& stop_;
  Manifest out_;
  size_t entries_ = 0;
};

Result<void> Importer::read(const Fd& dir, const std::string& path,
                            size_t depth) {
  if (depth > kMostTreeDepth) {
    return fail(make_error(ELOOP, "import", path, "the tree is too deep"));
  }
  // All names first: a buffer for each level would be much more.
  TRY_ASSIGN(std::vector<std::string> names,
             read_names(dir, path, kMostTreeEntries - entries_));
  entries_ += names.size();
  if (entries_ > kMostTreeEntries) {
    return fail(
        make_error(E2BIG, "import", path, "the tree has too many entries"));
  }
  for (const std::string& name : names) {
    TRY(add(dir, name, path.empty() ? name : path + "/" + name, depth));
  }
  return {};
}

Result<void> Importer::add(const Fd& dir, const std::string& name,
                           const std::string& path, size_t depth) {
  if (stop_.stop_requested()) {
    return fail(make_error(ECANCELED, "import", path, "stopped"));
  }
  struct stat stat {};
  if (kernel_.fstatat(dir.get(), name.c_str(), &stat, AT_SYMLINK_NOFOLLOW) !=
      0) {
    return fail(last_error("fstatat", path));
  }
  switch (stat.st_mode & S_IFMT) {
    case S_IFREG:
      return add_file(dir, name.c_str(), path);
    case S_IFLNK:
      return add_link(dir, name.c_str(), path);
    case S_IFDIR: {
      Fd below(kernel_.openat(dir.get(), name.c_str(), kRead | O_DIRECTORY, 0));
      if (!below.valid()) {
        return fail(last_error("openat", path));
      }
      out_.directories.push_back(path);
      return read(below, path, depth + 1);
    }
    default:
      return fail(make_error(EINVAL, "import", path,
                             "it is neither file, directory nor symlink"));
  }
}

Result<void> Importer::add_file(const Fd& dir, const char* name,
                                const std::string& path) {
  Fd file(kernel_.openat(dir.get(), name, kRead, 0));
  if (!file.valid()) {
    return fail(last_error("openat", path));
  }
  struct stat stat {};
  if (kernel_.fstat(file.get(), &stat) != 0) {
    return fail(last_error("fstat", path));
  }
  if (!S_ISREG(stat.st_mode)) {
    return fail(make_error(ESTALE, "openat", path,
                           "it was replaced while it was read"));
  }
  auto digest = store_.put(file);
  if (!digest) {
    digest.error().subject = path;
    return fail(std::move(digest.error()));
  }
  TreeFile out;
  out.path = path;
  out.digest = *digest;
  out.executable = (stat.st_mode & S_IXUSR) != 0;
  out.size = static_cast<uint64_t>(stat.st_size);
  out_.files.push_back(std::move(out));
  return {};
}

Result<void> Importer::add_link(const Fd& dir, const char* name,
                                const std::string& path) {
  auto target = archive::read_target(kernel_, dir.get(), name);
  if (!target) {
    target.error().subject = path;
    return fail(std::move(target.error()));
  }
  out_.symlinks.push_back({path, std::move(*target)});
  return {};
}

}  // namespace

Result<archive::Digest> digest_of_file(const Fd& file) {
  archive::Sha256 hash;
  auto buffer = std::make_unique<char[]>(kBufferBytes);
  for (off_t at = 0;;) {
    ssize_t n = real_kernel().pread(file.get(), buffer.get(), kBufferBytes, at);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return fail(last_error("read", ""));
    }
    if (n == 0) {
      return hash.finish();
    }
    hash.add(archive::bytes_of({buffer.get(), static_cast<size_t>(n)}));
    at += n;
  }
}

Result<bool> BlobStore::holds(const std::string& hex) {
  struct stat stat {};
  if (real_kernel().fstatat(blobs_.get(), hex.c_str(), &stat,
                            AT_SYMLINK_NOFOLLOW) == 0) {
    return true;
  }
  if (errno != ENOENT) {
    return fail(last_error("fstatat", ""));
  }
  return false;
}

Result<archive::Digest> BlobStore::put(const Fd& source) {
  Kernel& kernel = real_kernel();
  TRY_ASSIGN(archive::Digest digest, digest_of_file(source));
  std::string hex = hex_of(digest);
  TRY_ASSIGN(bool known, holds(hex));
  if (known) {
    return digest;
  }
  const std::string scratch = "blob";
  FileFinish finish;
  finish.mtime_ns = kFixedTimeNs;
  TRY_ASSIGN(uint64_t size,
             maker_.make(source, scratch_.get(), scratch, finish));
  // What counts is what was written.
  Fd made(kernel.openat(scratch_.get(), scratch.c_str(), kRead, 0));
  if (!made.valid()) {
    return fail(last_error("openat", ""));
  }
  TRY_ASSIGN(archive::Digest written, digest_of_file(made));
  bool same = written == digest;
  // Not by renaming, so that a blob that is there by now stays the same file.
  if (same &&
      kernel.linkat(scratch_.get(), scratch.c_str(), blobs_.get(),
                    hex.c_str()) != 0 &&
      errno != EEXIST) {
    return fail(last_error("linkat", ""));
  }
  if (kernel.unlinkat(scratch_.get(), scratch.c_str(), 0) != 0) {
    return fail(last_error("unlinkat", ""));
  }
  if (!same) {
    return fail(
        make_error(ESTALE, "read", "", "it was changed while it was read"));
  }
  ++added_;
  bytes_ += size;
  return digest;
}

Result<Manifest> import_tree(const Fd& tree, std::string_view shown,
                             BlobStore& store, const std::stop_token& stop) {
  // Read through a descriptor of our own: the caller's keeps its offset.
  Fd root(real_kernel().openat(tree.get(), ".", kRead | O_DIRECTORY, 0));
  if (!root.valid()) {
    return fail(last_error("open", shown));
  }
  Importer importer(store, stop);
  TRY(importer.read(root, "", 0));
  Manifest out = importer.take();
  TRY(normalise(out));
  return out;
}

}  // namespace lamina::cache
