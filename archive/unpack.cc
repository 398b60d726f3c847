#include "archive/unpack.h"

#include <cerrno>
#include <string>
#include <utility>

#include "archive/layer_root.h"

namespace lamina::archive {

namespace {

Result<ApplyReport> unpack_layer(BlobStore& store, const ImageLayer& layer,
                                 LayerRoot& root, const ApplyOptions& options) {
  TRY_ASSIGN(Blob blob, store.open(layer.name));
  if (blob.size != layer.size) {
    return fail(make_error(EBADMSG, "check size", blob.shown,
                           "wanted " + std::to_string(layer.size) +
                               " bytes, it has " + std::to_string(blob.size)));
  }
  ApplyOptions own = options;
  own.whiteouts = Whiteouts::remove;
  own.strip = 0;
  own.expect_digest = layer.digest;
  own.expect_diff_id = layer.diff_id;
  BlobSource source(kernel_of(options), blob);
  auto applied = apply_next_layer(source, root, own);
  if (!applied && applied.error().subject.empty()) {
    applied.error().subject = blob.shown;
  }
  return applied;
}

}  // namespace

Result<UnpackReport> unpack_image(BlobStore& store, const Image& image,
                                  const NamePlace& place,
                                  const ApplyOptions& options) {
  const auto begun = std::chrono::steady_clock::now();
  LayerRoot root(kernel_of(options));
  TRY(root.open(place));
  if (!root.was_empty()) {
    return fail(make_error(ENOTEMPTY, "unpack", place.shown));
  }
  UnpackReport report;
  const std::string count = std::to_string(image.layers.size());
  for (const ImageLayer& layer : image.layers) {
    auto applied = unpack_layer(store, layer, root, options);
    if (!applied) {
      const size_t whole = report.layers.size();
      Error error = std::move(applied.error());
      if (error.code != ECANCELED) {
        error.text += error.text.empty() ? "" : ", ";
        error.text += "in layer " + std::to_string(whole + 1) + " of " + count;
      }
      return fail(give_up(root, options, std::move(error),
                          std::to_string(whole) + " whole layers"));
    }
    report.layers.push_back(std::move(*applied));
  }
  if (auto finished = root.finish(); !finished) {
    return fail(give_up(root, options, std::move(finished.error()),
                        count + " whole layers"));
  }
  report.seconds = std::chrono::steady_clock::now() - begun;
  return report;
}

}  // namespace lamina::archive
