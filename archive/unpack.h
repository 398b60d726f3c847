// Unpacks an image: all its layers, the lowest first, into one root.
#pragma once

#include <chrono>
#include <vector>

#include "archive/apply.h"
#include "archive/image.h"
#include "base/error.h"
#include "base/path.h"

namespace lamina::archive {

struct UnpackReport {
  std::vector<ApplyReport> layers;
  std::chrono::duration<double> seconds{0};
};

// Applies the layers of `image`, which lie in `store`, to `root`, which must be
// absent or empty. Of the options those that say what a layer must be are not
// looked at: size, digest and diffID are the image's. bytes_in counts over all
// layers. A failure names the layer; what was made is removed then, as
// apply_layer() does.
Result<UnpackReport> unpack_image(BlobStore& store, const Image& image,
                                  const NamePlace& root,
                                  const ApplyOptions& options = {});

}  // namespace lamina::archive
