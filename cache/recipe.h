// How a tree is made that the cache does not have.
//
// A recipe is used by one request at a time. ManifestRecipe is the usual one;
// others make trees by other means, such as unpacking an image.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "cache/blobs.h"
#include "cache/build_tree.h"
#include "cache/manifest.h"
#include "cache/variants.h"

namespace lamina::cache {

// What the cache lends to a recipe. Where the cache has failed, nothing.
struct Workshop {
  BlobSource* blobs = nullptr;   // The cache's own.
  Variants* variants = nullptr;  // On the file system of the tree.
  std::stop_token stop;
};

class Recipe {
 public:
  Recipe() = default;
  Recipe(const Recipe&) = delete;
  Recipe& operator=(const Recipe&) = delete;
  virtual ~Recipe() = default;

  // Names what comes out: an entry of the same key that another recipe made is
  // not used but replaced. "": any entry will do.
  virtual std::string_view id() const = 0;

  // Fills the empty directory `root`; called once, or twice when the cache
  // fails in between.
  virtual Result<BuiltTree> make(const Fd& root, const Workshop& workshop) = 0;

  // The JSON of the manifest that make() followed, kept to verify the tree by;
  // "" for none.
  virtual std::string manifest() const { return ""; }
};

class ManifestRecipe final : public Recipe {
 public:
  using Read = std::function<Result<Manifest>()>;

  // `read` gives the manifest, normalised, and is called only when the tree has
  // to be made. Blobs are taken from `blobs`, which may be null and must
  // outlive this, then from the cache's own.
  ManifestRecipe(std::string id, Read read, BlobSource* blobs);

  // A manifest in JSON, called `subject` in errors; its id is the digest of the
  // bytes.
  static Result<ManifestRecipe> of_json(std::string json, std::string subject,
                                        BlobSource* blobs);

  std::string_view id() const override { return id_; }
  Result<BuiltTree> make(const Fd& root, const Workshop& workshop) override;
  std::string manifest() const override;

 private:
  std::string id_;
  Read read_;
  BlobSource* blobs_;
  std::optional<Manifest> manifest_;
};

}  // namespace lamina::cache
