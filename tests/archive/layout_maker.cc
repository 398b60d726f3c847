#include "tests/archive/layout_maker.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/archive/tar_maker.h"

namespace lamina::archive::test {

namespace {

constexpr const char* kIndex = "application/vnd.oci.image.index.v1+json";
constexpr const char* kManifest = "application/vnd.oci.image.manifest.v1+json";
constexpr const char* kConfig = "application/vnd.oci.image.config.v1+json";
constexpr const char* kLayer = "application/vnd.oci.image.layer.v1.tar";

}  // namespace

Digest digest_of(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes_of(bytes));
  return *hash.finish();
}

LayoutMaker::Json LayoutMaker::add_blob(std::string_view bytes,
                                        const std::string& media_type) {
  std::string name = digest_of(bytes).text();
  Json out = {
      {"mediaType", media_type}, {"digest", name}, {"size", bytes.size()}};
  std::replace(name.begin(), name.end(), ':', '/');
  files["blobs/" + name] = bytes;
  return out;
}

LayoutMaker::Json LayoutMaker::config_of(const std::vector<std::string>& layers,
                                         const std::string& architecture) {
  Json diff_ids = Json::array();
  for (const std::string& layer : layers) {
    diff_ids.push_back(digest_of(layer).text());
  }
  return {{"os", "linux"},
          {"architecture", architecture},
          {"rootfs", {{"type", "layers"}, {"diff_ids", diff_ids}}}};
}

LayoutMaker::Json LayoutMaker::add_manifest(
    const Json& config, const std::vector<std::string>& layers) {
  Json list = Json::array();
  for (const std::string& layer : layers) {
    list.push_back(add_blob(layer, kLayer));
  }
  Json manifest = {{"schemaVersion", 2},
                   {"config", add_blob(config.dump(), kConfig)},
                   {"layers", list}};
  return add_blob(manifest.dump(), kManifest);
}

LayoutMaker::Json LayoutMaker::add_image(const std::vector<std::string>& layers,
                                         const std::string& architecture) {
  return add_manifest(config_of(layers, architecture), layers);
}

LayoutMaker::Json LayoutMaker::add_index(const std::vector<Json>& descriptors) {
  Json index = {{"schemaVersion", 2}, {"manifests", descriptors}};
  return add_blob(index.dump(), kIndex);
}

void LayoutMaker::finish(const std::vector<Json>& descriptors) {
  files["oci-layout"] = R"({"imageLayoutVersion":"1.0.0"})";
  files["index.json"] =
      Json{{"schemaVersion", 2}, {"manifests", descriptors}}.dump();
}

void LayoutMaker::write_to(const std::string& directory) const {
  for (const auto& [name, bytes] : files) {
    const std::filesystem::path path = directory + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }
}

std::string LayoutMaker::tar() const {
  std::string out;
  for (const auto& [name, bytes] : files) {
    out += member({.name = name, .size = bytes.size()}, bytes);
  }
  return out + end_marker();
}

LayoutMaker::Json named(LayoutMaker::Json descriptor, const std::string& name) {
  descriptor["annotations"]["org.opencontainers.image.ref.name"] = name;
  return descriptor;
}

LayoutMaker::Json built_for(LayoutMaker::Json descriptor,
                            const std::string& architecture,
                            const std::string& variant) {
  descriptor["platform"] = {{"os", "linux"}, {"architecture", architecture}};
  if (!variant.empty()) {
    descriptor["platform"]["variant"] = variant;
  }
  return descriptor;
}

}  // namespace lamina::archive::test
