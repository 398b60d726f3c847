#include "cache/recipe.h"

#include <memory>
#include <utility>

namespace lamina::cache {

ManifestRecipe::ManifestRecipe(std::string id, Read read, BlobSource* blobs)
    : id_(std::move(id)),
      read_(std::move(read)),
      blobs_(blobs) {}

Result<ManifestRecipe> ManifestRecipe::of_json(std::string json,
                                               std::string subject,
                                               BlobSource* blobs) {
  TRY_ASSIGN(archive::Digest digest, digest_of(json));
  auto read = [json = std::move(json), subject = std::move(subject)] {
    return parse_manifest(json, subject);
  };
  return Result<ManifestRecipe>(tl::in_place, digest.text(), std::move(read),
                                blobs);
}

Result<BuiltTree> ManifestRecipe::make(const Fd& root,
                                       const Workshop& workshop) {
  if (!manifest_) {
    TRY_ASSIGN(manifest_, read_());
  }
  BlobChain chain;
  for (BlobSource* source : {blobs_, workshop.blobs}) {
    if (source != nullptr) {
      chain.add(*source);
    }
  }
  return build_tree(*manifest_, chain, workshop.variants, root, workshop.stop);
}

std::string ManifestRecipe::manifest() const {
  return manifest_ ? manifest_json(*manifest_) : "";
}

}  // namespace lamina::cache
