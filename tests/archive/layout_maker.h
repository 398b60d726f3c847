// Images for tests: the files of an OCI layout or of a docker-save archive, put
// together in memory and written as a directory or as a tar.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "archive/digest.h"

namespace lamina::archive::test {

Digest digest_of(std::string_view bytes);

class LayoutMaker {
 public:
  using Json = nlohmann::json;

  // Adds a blob and returns its descriptor.
  Json add_blob(std::string_view bytes, const std::string& media_type);

  // Adds an image of plain tars and returns its manifest's descriptor.
  Json add_image(const std::vector<std::string>& layers,
                 const std::string& architecture = "amd64");

  // The documents of an image, for tests that spoil one.
  static Json config_of(const std::vector<std::string>& layers,
                        const std::string& architecture);
  Json add_manifest(const Json& config, const std::vector<std::string>& layers);

  // Adds an index of these and returns its descriptor.
  Json add_index(const std::vector<Json>& descriptors);

  // Makes index.json of these.
  void finish(const std::vector<Json>& descriptors);

  // All files by name; a test may change them.
  std::map<std::string, std::string> files;

  void write_to(const std::string& directory) const;
  std::string tar() const;
};

// `descriptor` with a reference, or for a platform.
LayoutMaker::Json named(LayoutMaker::Json descriptor, const std::string& name);
LayoutMaker::Json built_for(LayoutMaker::Json descriptor,
                            const std::string& architecture,
                            const std::string& variant = "");

}  // namespace lamina::archive::test
