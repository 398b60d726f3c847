#include "archive/oci_parse.h"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

namespace lamina::archive {

namespace {

using Json = nlohmann::json;

constexpr const char* kNames[] = {"org.opencontainers.image.ref.name",
                                  "io.containerd.image.name"};

Error malformed(std::string_view what, std::string_view why) {
  return make_error(0, "read " + std::string(what), "", why);
}

// An object, or an array, that was read whole within the bounds.
Result<Json> read_json(std::string_view text, std::string_view what,
                       Json::value_t kind) {
  if (text.size() > kMostJsonBytes) {
    return fail(malformed(what, "it is larger than 4 MiB"));
  }
  bool deep = false;
  auto bounded = [&deep](int depth, Json::parse_event_t /*event*/,
                         Json& /*parsed*/) {
    deep = deep || depth > kMostJsonDepth;
    return !deep;
  };
  Json json = Json::parse(text, bounded, false);
  if (deep) {
    return fail(malformed(what, "it is nested too deep"));
  }
  if (json.is_discarded() || json.type() != kind) {
    return fail(malformed(what, "it is not the JSON it should be"));
  }
  return json;
}

// The value of a key, of the kind wanted; null when it is absent.
Result<const Json*> find(const Json& object, const char* key,
                         Json::value_t kind, std::string_view what) {
  auto at = object.find(key);
  if (at == object.end() || at->is_null()) {
    return nullptr;
  }
  if (at->type() != kind) {
    return fail(malformed(what, std::string(key) + " is of the wrong kind"));
  }
  return &*at;
}

Result<const Json*> require(const Json& object, const char* key,
                            Json::value_t kind, std::string_view what) {
  TRY_ASSIGN(const Json* found, find(object, key, kind, what));
  if (found == nullptr) {
    return fail(malformed(what, std::string(key) + " is missing"));
  }
  return found;
}

Result<std::string> text_at(const Json& object, const char* key,
                            std::string_view what) {
  TRY_ASSIGN(const Json* found, find(object, key, Json::value_t::string, what));
  return found == nullptr ? std::string() : found->get<std::string>();
}

Result<const Json*> list_at(const Json& object, const char* key,
                            std::string_view what) {
  TRY_ASSIGN(const Json* found,
             require(object, key, Json::value_t::array, what));
  if (found->size() > kMostListed) {
    return fail(malformed(what, std::string(key) + " has too many elements"));
  }
  return found;
}

Result<Platform> read_platform(const Json& object, std::string_view what) {
  Platform out;
  TRY_ASSIGN(out.os, text_at(object, "os", what));
  TRY_ASSIGN(out.architecture, text_at(object, "architecture", what));
  TRY_ASSIGN(out.variant, text_at(object, "variant", what));
  return out;
}

Result<Descriptor> read_descriptor(const Json& object, std::string_view what) {
  if (!object.is_object()) {
    return fail(malformed(what, "a descriptor is no object"));
  }
  Descriptor out;
  TRY_ASSIGN(out.media_type, text_at(object, "mediaType", what));
  TRY_ASSIGN(std::string digest, text_at(object, "digest", what));
  TRY_ASSIGN(out.digest, Digest::parse(digest));
  TRY_ASSIGN(const Json* size,
             require(object, "size", Json::value_t::number_unsigned, what));
  out.size = size->get<uint64_t>();
  TRY_ASSIGN(const Json* platform,
             find(object, "platform", Json::value_t::object, what));
  if (platform != nullptr) {
    TRY_ASSIGN(out.platform, read_platform(*platform, what));
  }
  TRY_ASSIGN(const Json* notes,
             find(object, "annotations", Json::value_t::object, what));
  if (notes != nullptr) {
    for (const char* key : kNames) {
      TRY_ASSIGN(std::string name, text_at(*notes, key, what));
      if (!name.empty()) {
        out.names.push_back(std::move(name));
      }
    }
  }
  return out;
}

Result<std::vector<Descriptor>> read_descriptors(const Json& list,
                                                 std::string_view what) {
  std::vector<Descriptor> out;
  for (const Json& object : list) {
    TRY_ASSIGN(Descriptor one, read_descriptor(object, what));
    out.push_back(std::move(one));
  }
  return out;
}

Result<std::vector<std::string>> read_texts(const Json& list,
                                            std::string_view what) {
  std::vector<std::string> out;
  for (const Json& text : list) {
    if (!text.is_string()) {
      return fail(malformed(what, "a list holds what is no text"));
    }
    out.push_back(text.get<std::string>());
  }
  return out;
}

Result<void> check_version(const Json& object, std::string_view what) {
  TRY_ASSIGN(
      const Json* version,
      require(object, "schemaVersion", Json::value_t::number_unsigned, what));
  if (version->get<uint64_t>() != 2) {
    return fail(malformed(what, "its schemaVersion is not 2"));
  }
  return {};
}

// A tar of a file system: plain, gzip or zstd is seen from its bytes.
bool is_layer_type(std::string_view type) {
  constexpr std::string_view kKnown[] = {
      "application/vnd.oci.image.layer.v1.tar",
      "application/vnd.oci.image.layer.nondistributable.v1.tar",
      "application/vnd.docker.image.rootfs.diff.tar",
      "application/vnd.docker.image.rootfs.foreign.diff.tar",
  };
  constexpr std::string_view kEnds[] = {"", "+gzip", "+zstd", ".gzip", ".zstd"};
  return std::any_of(std::begin(kKnown), std::end(kKnown),
                     [type, &kEnds](std::string_view known) {
                       return type.starts_with(known) &&
                              std::find(std::begin(kEnds), std::end(kEnds),
                                        type.substr(known.size())) !=
                                  std::end(kEnds);
                     });
}

}  // namespace

bool is_index_type(std::string_view type) {
  return type == "application/vnd.oci.image.index.v1+json" ||
         type == "application/vnd.docker.distribution.manifest.list.v2+json";
}

bool is_manifest_type(std::string_view type) {
  return type == "application/vnd.oci.image.manifest.v1+json" ||
         type == "application/vnd.docker.distribution.manifest.v2+json";
}

Result<std::vector<Descriptor>> parse_index(std::string_view text) {
  constexpr std::string_view kWhat = "image index";
  TRY_ASSIGN(Json json, read_json(text, kWhat, Json::value_t::object));
  TRY(check_version(json, kWhat));
  TRY_ASSIGN(const Json* list, list_at(json, "manifests", kWhat));
  return read_descriptors(*list, kWhat);
}

Result<Manifest> parse_manifest(std::string_view text) {
  constexpr std::string_view kWhat = "image manifest";
  TRY_ASSIGN(Json json, read_json(text, kWhat, Json::value_t::object));
  TRY(check_version(json, kWhat));
  Manifest out;
  TRY_ASSIGN(const Json* config,
             require(json, "config", Json::value_t::object, kWhat));
  TRY_ASSIGN(out.config, read_descriptor(*config, kWhat));
  TRY_ASSIGN(const Json* layers, list_at(json, "layers", kWhat));
  TRY_ASSIGN(out.layers, read_descriptors(*layers, kWhat));
  for (const Descriptor& layer : out.layers) {
    if (!is_layer_type(layer.media_type)) {
      return fail(malformed(
          kWhat, "'" + escape_name(layer.media_type) + "' is no layer"));
    }
  }
  return out;
}

Result<ImageConfig> parse_config(std::string_view text) {
  constexpr std::string_view kWhat = "image configuration";
  TRY_ASSIGN(Json json, read_json(text, kWhat, Json::value_t::object));
  ImageConfig out;
  TRY_ASSIGN(out.platform, read_platform(json, kWhat));
  TRY_ASSIGN(const Json* rootfs,
             require(json, "rootfs", Json::value_t::object, kWhat));
  TRY_ASSIGN(std::string type, text_at(*rootfs, "type", kWhat));
  if (type != "layers") {
    return fail(malformed(kWhat, "its rootfs is not of layers"));
  }
  TRY_ASSIGN(const Json* list,
             find(*rootfs, "diff_ids", Json::value_t::array, kWhat));
  if (list == nullptr) {
    return out;  // Go writes null for an image without layers.
  }
  if (list->size() > kMostListed) {
    return fail(malformed(kWhat, "diff_ids has too many elements"));
  }
  TRY_ASSIGN(std::vector<std::string> texts, read_texts(*list, kWhat));
  for (const std::string& one : texts) {
    TRY_ASSIGN(Digest digest, Digest::parse(one));
    out.diff_ids.push_back(digest);
  }
  return out;
}

Result<std::vector<DockerImage>> parse_docker_manifest(std::string_view text) {
  constexpr std::string_view kWhat = "manifest.json";
  TRY_ASSIGN(Json json, read_json(text, kWhat, Json::value_t::array));
  if (json.size() > kMostListed) {
    return fail(malformed(kWhat, "it lists too many images"));
  }
  std::vector<DockerImage> out;
  for (const Json& object : json) {
    if (!object.is_object()) {
      return fail(malformed(kWhat, "an image is no object"));
    }
    DockerImage image;
    TRY_ASSIGN(image.config, text_at(object, "Config", kWhat));
    TRY_ASSIGN(const Json* tags,
               find(object, "RepoTags", Json::value_t::array, kWhat));
    if (tags != nullptr) {
      TRY_ASSIGN(image.tags, read_texts(*tags, kWhat));
    }
    TRY_ASSIGN(const Json* layers, list_at(object, "Layers", kWhat));
    TRY_ASSIGN(image.layers, read_texts(*layers, kWhat));
    out.push_back(std::move(image));
  }
  return out;
}

}  // namespace lamina::archive
