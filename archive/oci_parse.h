// The JSON documents of an image, read into values: index, manifest,
// configuration (OCI image specification 1.1 and Docker's schema 2), and the
// manifest.json of a docker-save archive.
//
// Pure functions, free for any thread. The documents are hostile: sizes and
// depth are bounded, every value is checked before it is believed, digests are
// parsed and never used as text. Keys that are not known are ignored. Errors
// have no subject; the caller knows which blob it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/digest.h"
#include "archive/platform.h"
#include "base/error.h"

namespace lamina::archive {

// No document may be larger, nor nested deeper. Registries take manifests of 4
// MiB.
inline constexpr uint64_t kMostJsonBytes = uint64_t{4} << 20;
inline constexpr int kMostJsonDepth = 64;
// Of one image, or one index.
inline constexpr size_t kMostListed = 4096;

struct Descriptor {
  std::string media_type;
  Digest digest;
  uint64_t size = 0;
  std::optional<Platform> platform;
  // What the image is called: org.opencontainers.image.ref.name, and
  // containerd's io.containerd.image.name.
  std::vector<std::string> names;
};

bool is_index_type(std::string_view media_type);
bool is_manifest_type(std::string_view media_type);

Result<std::vector<Descriptor>> parse_index(std::string_view text);

struct Manifest {
  Descriptor config;
  std::vector<Descriptor> layers;  // The lowest first.
};
// Fails when a layer is of a type that is no tar of a file system.
Result<Manifest> parse_manifest(std::string_view text);

struct ImageConfig {
  Platform platform;
  std::vector<Digest> diff_ids;
};
Result<ImageConfig> parse_config(std::string_view text);

// One image of a docker-save archive: names in the archive.
struct DockerImage {
  std::string config;
  std::vector<std::string> tags;
  std::vector<std::string> layers;
};
Result<std::vector<DockerImage>> parse_docker_manifest(std::string_view text);

}  // namespace lamina::archive
