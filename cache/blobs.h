// Where the bytes of files come from, by digest.
//
// A source never changes a blob: not its mode, its times nor its bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "archive/digest.h"
#include "base/error.h"
#include "base/fd.h"

namespace lamina::cache {

// A blob as a name in an open directory, so that it can be linked. The
// directory stays open as long as its source lives.
struct BlobPlace {
  int dir = -1;
  std::string name;
};

// Used by one thread at a time, unless an implementation says otherwise.
class BlobSource {
 public:
  BlobSource() = default;
  BlobSource(const BlobSource&) = delete;
  BlobSource& operator=(const BlobSource&) = delete;
  virtual ~BlobSource() = default;

  // The file that holds the blob; nullopt when there is none, as for a blob
  // that would have to be fetched.
  virtual Result<std::optional<BlobPlace>> locate(
      const archive::Digest& digest) = 0;

  // Opens, for reading, a regular file with the bytes of a blob that locate()
  // has no file for. nullopt when there is no such blob.
  virtual Result<std::optional<Fd>> fetch(const archive::Digest& digest) {
    static_cast<void>(digest);
    return std::nullopt;
  }
};

// A directory with a file for each blob, called by its 64 digits, or with a
// directory `sha256` of such files, as in an OCI layout. Any thread may use it.
class BlobDirectory final : public BlobSource {
 public:
  // Takes an open directory; `sha256` is looked for in it.
  explicit BlobDirectory(Fd dir);

  Result<std::optional<BlobPlace>> locate(
      const archive::Digest& digest) override;

 private:
  std::vector<Fd> dirs_;
};

// Several sources, asked in turn. They must outlive it.
class BlobChain final : public BlobSource {
 public:
  void add(BlobSource& source) { sources_.push_back(&source); }

  Result<std::optional<BlobPlace>> locate(
      const archive::Digest& digest) override;
  Result<std::optional<Fd>> fetch(const archive::Digest& digest) override;

 private:
  std::vector<BlobSource*> sources_;
};

// The 64 digits of a digest: the name of its blob.
std::string hex_of(const archive::Digest& digest);

}  // namespace lamina::cache
