// Blobs of an image: ranges of open files, and where they are found by name.
//
// A Blob is a value. Opening is for one thread at a time; what was opened may
// be read by any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "archive/source.h"
#include "base/error.h"
#include "base/fd.h"

namespace lamina {
class Kernel;
}

namespace lamina::archive {

// A range of a regular file.
struct Blob {
  std::shared_ptr<const Fd> file;
  uint64_t offset = 0;
  uint64_t size = 0;
  std::string shown;  // What messages call it.
};

// Reads a blob from its beginning. A file that became shorter is an error.
class BlobSource final : public Source {
 public:
  BlobSource(Kernel& kernel, Blob blob)
      : kernel_(kernel),
        blob_(std::move(blob)) {}

  Result<size_t> read_some(MutableBytes buffer) override;

 private:
  Kernel& kernel_;
  const Blob blob_;
  uint64_t at_ = 0;
};

// All of a blob. Fails when it is larger than `most`.
Result<std::string> read_blob(Kernel& kernel, const Blob& blob, uint64_t most);

// Where an image's documents and layers are.
class BlobStore {
 public:
  BlobStore() = default;
  BlobStore(const BlobStore&) = delete;
  BlobStore& operator=(const BlobStore&) = delete;
  virtual ~BlobStore() = default;

  // Opens a blob by its name, "index.json" or "blobs/sha256/...". Fails with
  // ENOENT when there is none. No name leads out of the store.
  virtual Result<Blob> open(std::string_view name) = 0;
};

// A directory. Symbolic links in it are refused.
class DirectoryStore final : public BlobStore {
 public:
  DirectoryStore(Kernel& kernel, Fd root, std::string shown)
      : kernel_(kernel),
        root_(std::move(root)),
        shown_(std::move(shown)) {}

  Result<Blob> open(std::string_view name) override;

 private:
  Kernel& kernel_;
  const Fd root_;
  const std::string shown_;
};

// A tar that is not packed, in a regular file: read once to learn where its
// files are, without their contents. Links in it lead to its other names.
class ArchiveStore final : public BlobStore {
 public:
  static Result<std::unique_ptr<ArchiveStore>> read(Kernel& kernel, Fd file,
                                                    std::string shown);

  Result<Blob> open(std::string_view name) override;

 private:
  struct Member {
    uint64_t offset = 0;
    uint64_t size = 0;
    std::string link;  // Another name; empty for a file.
  };

  ArchiveStore(Fd file, std::string shown)
      : file_(std::make_shared<const Fd>(std::move(file))),
        shown_(std::move(shown)) {}

  const std::shared_ptr<const Fd> file_;
  const std::string shown_;
  std::unordered_map<std::string, Member> members_;
};

// The store that an open directory or regular file is. `shown` names it.
Result<std::unique_ptr<BlobStore>> open_store(Kernel& kernel, Fd fd,
                                              const std::string& shown);

}  // namespace lamina::archive
