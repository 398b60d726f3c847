// An image found in a store: which layers, in which order, and what they must
// be.
//
// Three forms: an OCI layout (index.json) as a directory or as an archive, and
// the archive of `docker save` (manifest.json). Every document is checked
// against the digest and the size by which it was found. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "archive/blob.h"
#include "archive/digest.h"
#include "archive/platform.h"
#include "base/error.h"

namespace lamina::archive {

// A layer, which lies in the store under `name`.
struct ImageLayer {
  std::string name;
  Digest diff_id;
  // As the blob comes; a docker-save archive does not say.
  std::optional<Digest> digest;
  uint64_t size = 0;
};

struct Image {
  std::optional<Digest> manifest;  // A docker-save archive has none.
  Digest config;
  Platform platform;
  std::vector<ImageLayer> layers;  // The lowest first.
};

// Finds the image that `reference` names (its reference in the index, or a tag
// of docker's), or the only one when it is empty, for `wanted`. Fails when
// there is none, when several fit, and on everything that is not as it was said
// to be.
Result<Image> find_image(Kernel& kernel, BlobStore& store,
                         const std::string& reference, const Platform& wanted);

}  // namespace lamina::archive
