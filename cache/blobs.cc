#include "cache/blobs.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/kernel.h"
#include "cache/root.h"

namespace lamina::cache {

BlobDirectory::BlobDirectory(Fd dir) {
  if (auto parted = open_below(dir, "sha256")) {
    dirs_.push_back(std::move(*parted));
  }
  dirs_.push_back(std::move(dir));
}

Result<std::optional<BlobPlace>> BlobDirectory::locate(
    const archive::Digest& digest) {
  std::string name = hex_of(digest);
  for (const Fd& dir : dirs_) {
    struct stat stat {};
    if (real_kernel().fstatat(dir.get(), name.c_str(), &stat,
                              AT_SYMLINK_NOFOLLOW) == 0) {
      if (S_ISREG(stat.st_mode)) {
        return BlobPlace{dir.get(), std::move(name)};
      }
    } else if (errno != ENOENT) {
      return fail(last_error("fstatat", name));
    }
  }
  return std::nullopt;
}

Result<std::optional<BlobPlace>> BlobChain::locate(
    const archive::Digest& digest) {
  for (BlobSource* source : sources_) {
    TRY_ASSIGN(std::optional<BlobPlace> place, source->locate(digest));
    if (place) {
      return place;
    }
  }
  return std::nullopt;
}

Result<std::optional<Fd>> BlobChain::fetch(const archive::Digest& digest) {
  for (BlobSource* source : sources_) {
    TRY_ASSIGN(std::optional<Fd> fd, source->fetch(digest));
    if (fd) {
      return fd;
    }
  }
  return std::nullopt;
}

std::string hex_of(const archive::Digest& digest) {
  return digest.text().substr(sizeof "sha256:" - 1);
}

}  // namespace lamina::cache
