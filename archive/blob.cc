#include "archive/blob.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "archive/tar_name.h"
#include "archive/tar_reader.h"
#include "base/kernel.h"

namespace lamina::archive {

namespace {

constexpr int kOpenFlags =
    O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
// Of an archive: more than any image has, and a bound on memory.
constexpr uint64_t kMostMembers = uint64_t{1} << 16;
constexpr size_t kSlabBytes = size_t{16} << 10;
constexpr int kMostLinks = 8;

// A tar in a regular file; bodies that nobody wants are not read.
class FileSlices final : public SliceStream {
 public:
  FileSlices(Kernel& kernel, Blob blob)
      : size_(blob.size),
        file_(blob.file),
        kernel_(kernel),
        shown_(std::move(blob.shown)) {}

  Result<std::optional<Slice>> next() override {
    SlabRef slab = ring_.acquire();
    MutableBytes all = slab.memory();
    size_t got = 0;
    while (got < all.size()) {
      ssize_t n = kernel_.pread(file_->get(), all.data() + got,
                                all.size() - got, static_cast<off_t>(at_));
      if (n < 0 && errno == EINTR) {
        continue;
      }
      if (n < 0) {
        return fail(last_error("read", shown_));
      }
      if (n == 0) {
        break;
      }
      got += static_cast<size_t>(n);
      at_ += static_cast<uint64_t>(n);
    }
    if (got == 0) {
      return std::nullopt;
    }
    return Slice{.slab = slab, .bytes = all.first(got)};
  }

  uint64_t pass_over(uint64_t bytes) override {
    uint64_t left = at_ < size_ ? size_ - at_ : 0;
    uint64_t passed = std::min(bytes, left - left % kTarBlock);
    at_ += passed;
    return passed;
  }

 private:
  SlabRing ring_{SlabRing::kFewestSlabs, kSlabBytes};
  const uint64_t size_;
  const std::shared_ptr<const Fd> file_;
  Kernel& kernel_;
  const std::string shown_;
  uint64_t at_ = 0;
};

// What a link in `directory` of an archive leads to; "" when it leaves it.
std::string resolve_link(std::string_view name, std::string_view target) {
  size_t slash = name.rfind('/');
  std::string path(target);
  if (!target.starts_with('/') && slash != std::string_view::npos) {
    path.insert(0, name.substr(0, slash + 1));
  }
  std::string scratch;
  auto clean = clean_name(path, {}, scratch);
  return clean ? std::string(*clean) : std::string();
}

Error no_such_blob(std::string_view name, const std::string& shown) {
  return make_error(ENOENT, "open", shown + "/" + std::string(name));
}

Result<struct stat> stat_of(Kernel& kernel, const Fd& fd,
                            const std::string& shown) {
  struct stat stat {};
  if (kernel.fstat(fd.get(), &stat) != 0) {
    return fail(last_error("fstat", shown));
  }
  return stat;
}

}  // namespace

Result<size_t> BlobSource::read_some(MutableBytes buffer) {
  uint64_t left = blob_.size - at_;
  size_t want = static_cast<size_t>(std::min<uint64_t>(left, buffer.size()));
  if (want == 0) {
    return 0;
  }
  for (;;) {
    ssize_t n = kernel_.pread(blob_.file->get(), buffer.data(), want,
                              static_cast<off_t>(blob_.offset + at_));
    if (n > 0) {
      at_ += static_cast<uint64_t>(n);
      return static_cast<size_t>(n);
    }
    if (n == 0) {
      return fail(make_error(0, "read", blob_.shown, "it became shorter"));
    }
    if (errno != EINTR) {
      return fail(last_error("read", blob_.shown));
    }
  }
}

Result<std::string> read_blob(Kernel& kernel, const Blob& blob, uint64_t most) {
  if (blob.size > most) {
    return fail(make_error(EFBIG, "read", blob.shown,
                           "more than " + std::to_string(most) + " bytes"));
  }
  std::string out(static_cast<size_t>(blob.size), '\0');
  BlobSource source(kernel, blob);
  for (size_t at = 0; at < out.size();) {
    MutableBytes rest = std::as_writable_bytes(std::span(out)).subspan(at);
    TRY_ASSIGN(size_t got, source.read_some(rest));
    at += got;
  }
  return out;
}

Result<Blob> DirectoryStore::open(std::string_view name) {
  std::string scratch;
  TRY_ASSIGN(std::string_view rest, clean_name(name, {}, scratch));
  const std::string shown = shown_ + "/" + std::string(rest);
  Fd at;
  for (;;) {
    size_t slash = rest.find('/');
    std::string part(rest.substr(0, slash));
    int flags = slash == std::string_view::npos
                    ? kOpenFlags
                    : kOpenFlags | O_DIRECTORY | O_PATH;
    Fd next(kernel_.openat(at.valid() ? at.get() : root_.get(), part.c_str(),
                           flags, 0));
    if (!next.valid()) {
      return fail(last_error("open", shown));
    }
    at = std::move(next);
    if (slash == std::string_view::npos) {
      break;
    }
    rest.remove_prefix(slash + 1);
  }
  TRY_ASSIGN(struct stat stat, stat_of(kernel_, at, shown));
  if (!S_ISREG(stat.st_mode)) {
    return fail(make_error(0, "open", shown, "it is not a regular file"));
  }
  Blob blob;
  blob.file = std::make_shared<const Fd>(std::move(at));
  blob.size = static_cast<uint64_t>(stat.st_size);
  blob.shown = shown;
  return blob;
}

Result<std::unique_ptr<ArchiveStore>> ArchiveStore::read(Kernel& kernel,
                                                         Fd file,
                                                         std::string shown) {
  TRY_ASSIGN(struct stat stat, stat_of(kernel, file, shown));
  std::unique_ptr<ArchiveStore> store(
      new ArchiveStore(std::move(file), std::move(shown)));
  FileSlices slices(
      kernel,
      {store->file_, 0, static_cast<uint64_t>(stat.st_size), store->shown_});
  TarLimits limits;
  limits.entries = kMostMembers;
  TarReader reader(slices, limits);
  for (;;) {
    auto entry = reader.next();
    if (!entry) {
      entry.error().text += entry.error().text.empty() ? "" : ", ";
      entry.error().text += "reading the archive";
      return fail(std::move(entry.error()));
    }
    if (!*entry) {
      return store;
    }
    const TarEntry& one = **entry;
    Member member;
    if (one.type == EntryType::file && one.stored == one.size) {
      member.offset = reader.position();
      member.size = one.size;
    } else if (one.type == EntryType::symlink) {
      member.link = resolve_link(one.path, one.link);
    } else if (one.type == EntryType::hard_link) {
      member.link = std::string(one.link);
    } else {
      continue;
    }
    store->members_[std::string(one.path)] = std::move(member);
  }
}

Result<Blob> ArchiveStore::open(std::string_view name) {
  std::string scratch;
  TRY_ASSIGN(std::string_view clean, clean_name(name, {}, scratch));
  std::string at(clean);
  for (int links = 0; links <= kMostLinks; ++links) {
    auto found = members_.find(at);
    if (found == members_.end()) {
      return fail(no_such_blob(name, shown_));
    }
    const Member& member = found->second;
    if (member.link.empty()) {
      return Blob{file_, member.offset, member.size, shown_ + "/" + at};
    }
    at = member.link;
  }
  return fail(make_error(ELOOP, "open", shown_ + "/" + std::string(name)));
}

Result<std::unique_ptr<BlobStore>> open_store(Kernel& kernel, Fd fd,
                                              const std::string& shown) {
  TRY_ASSIGN(struct stat stat, stat_of(kernel, fd, shown));
  if (S_ISDIR(stat.st_mode)) {
    return std::unique_ptr<BlobStore>(
        new DirectoryStore(kernel, std::move(fd), shown));
  }
  if (!S_ISREG(stat.st_mode)) {
    return fail(make_error(0, "open", shown,
                           "an image is a directory or a regular file"));
  }
  TRY_ASSIGN(std::unique_ptr<ArchiveStore> archive,
             ArchiveStore::read(kernel, std::move(fd), shown));
  return std::unique_ptr<BlobStore>(std::move(archive));
}

}  // namespace lamina::archive
