// What tests of the cache are written with: blobs by their bytes, manifests by
// a line each, requests by path.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cache/cache.h"
#include "tests/support/temp_dir.h"

namespace lamina::cache::test {

using lamina::test::TempDir;

// A directory of blobs, mode 0444 as a content-addressed store keeps them.
class Blobs {
 public:
  explicit Blobs(const std::string& path);

  // Puts a blob there and returns its digest.
  archive::Digest add(std::string_view bytes, mode_t mode = 0444);
  // Where the blob of some bytes lies.
  std::string path_of(std::string_view bytes) const;
  BlobSource& source() { return *source_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::unique_ptr<BlobDirectory> source_;
};

// A file of a manifest whose blob is added to `blobs`.
TreeFile file(Blobs& blobs, const std::string& path, std::string_view bytes);
TreeFile tool(Blobs& blobs, const std::string& path, std::string_view bytes);

// A recipe of a manifest, which is normalised first.
ManifestRecipe recipe_of(Manifest manifest, BlobSource& blobs,
                         std::string id = "one");

// A small tree with a file, a tool, an empty file, nested directories and
// symlinks of all kinds.
Manifest small_tree(Blobs& blobs);

NamePlace place(const std::string& path);
Fd directory(const std::string& path);

// Asks, with the recipe if there is one.
Result<Answer> get(Cache& cache, std::string_view key, const std::string& to,
                   Recipe* recipe = nullptr,
                   copy::Sharing sharing = copy::Sharing::automatic);

// Bytes, mode, owner, times and inode numbers of all files below `path`; times
// of change and link counts too where `changes` are wanted.
std::string state_of(const std::string& path);

std::string read(const std::string& path);
void write(const std::string& path, std::string_view bytes);
mode_t mode_of(const std::string& path);
ino_t inode_of(const std::string& path);
nlink_t links_of(const std::string& path);

}  // namespace lamina::cache::test
