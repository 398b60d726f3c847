#include "archive/image.h"

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "archive/oci_parse.h"

namespace lamina::archive {

namespace {

constexpr int kMostIndexDepth = 4;
// Runs anywhere as far as is known: an image that does not say.
constexpr int kUnsaid = 1;

std::string blob_name(const Digest& digest) {
  std::string text = digest.text();
  std::replace(text.begin(), text.end(), ':', '/');
  return "blobs/" + text;
}

Result<Digest> digest_of(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes_of(bytes));
  return hash.finish();
}

int fitness_of(const Platform& wanted, const Platform& platform) {
  return platform.os.empty() && platform.architecture.empty()
             ? kUnsaid
             : fitness(wanted, platform);
}

Error with_subject(Error error, const std::string& subject) {
  if (error.subject.empty()) {
    error.subject = subject;
  }
  return error;
}

// An image that an index leads to, and how well it fits.
struct Candidate {
  int fits = 0;
  Digest digest;
  Manifest manifest;
  ImageConfig config;
};

class OciFinder {
 public:
  OciFinder(Kernel& kernel, BlobStore& store, const Platform& wanted)
      : kernel_(kernel),
        store_(store),
        wanted_(wanted) {}

  Result<Image> find(const std::string& reference) {
    TRY_ASSIGN(Blob blob, store_.open("index.json"));
    TRY_ASSIGN(std::string text, read_blob(kernel_, blob, kMostJsonBytes));
    auto index = parse_index(text);
    if (!index) {
      return fail(with_subject(std::move(index.error()), blob.shown));
    }
    TRY_ASSIGN(std::vector<Descriptor> chosen, choose(*index, reference));
    TRY(look_at(chosen, 0));
    if (best_.fits == 0) {
      return fail(make_error(0, "choose image", blob.shown, why_none()));
    }
    return image_of(best_);
  }

 private:
  // Those that the reference names; without one, all, if that is one image.
  static Result<std::vector<Descriptor>> choose(
      const std::vector<Descriptor>& index, const std::string& reference) {
    std::vector<Descriptor> out;
    std::set<std::string> names;
    for (const Descriptor& one : index) {
      names.insert(one.names.empty() ? "" : one.names.front());
      if (reference.empty() || std::find(one.names.begin(), one.names.end(),
                                         reference) != one.names.end()) {
        out.push_back(one);
      }
    }
    std::string known;
    for (const std::string& name : names) {
      known += (known.empty() ? "" : ", ") +
               (name.empty() ? "one without a name" : escape_name(name));
    }
    if (out.empty()) {
      return fail(make_error(
          0, "choose image", reference,
          known.empty() ? "the layout holds none"
                        : "the layout has no such reference, only " + known));
    }
    if (reference.empty() && names.size() > 1) {
      return fail(make_error(0, "choose image", "",
                             "the layout holds several, say which: " + known));
    }
    return out;
  }

  Result<std::string> read(const Descriptor& descriptor) {
    const std::string name = blob_name(descriptor.digest);
    TRY_ASSIGN(Blob blob, store_.open(name));
    if (blob.size != descriptor.size) {
      return fail(make_error(EBADMSG, "check size", blob.shown,
                             "wanted " + std::to_string(descriptor.size) +
                                 " bytes, it has " +
                                 std::to_string(blob.size)));
    }
    TRY_ASSIGN(std::string text, read_blob(kernel_, blob, kMostJsonBytes));
    TRY_ASSIGN(Digest digest, digest_of(text));
    if (digest != descriptor.digest) {
      return fail(make_error(EBADMSG, "check digest", blob.shown,
                             "it has " + digest.text()));
    }
    return text;
  }

  Result<void> look_at(const std::vector<Descriptor>& list, int depth) {
    for (const Descriptor& one : list) {
      if (auto looked = look_at_one(one, depth); !looked) {
        return fail(
            with_subject(std::move(looked.error()), blob_name(one.digest)));
      }
    }
    return {};
  }

  Result<void> look_at_one(const Descriptor& one, int depth) {
    if (is_index_type(one.media_type)) {
      if (depth == kMostIndexDepth) {
        return fail(
            make_error(ELOOP, "read image index", "", "nested too deep"));
      }
      TRY_ASSIGN(std::string text, read(one));
      TRY_ASSIGN(std::vector<Descriptor> inner, parse_index(text));
      return look_at(inner, depth + 1);
    }
    // Other documents may lie beside; so may images for other platforms, whose
    // blobs need not be here.
    if (!is_manifest_type(one.media_type)) {
      return {};
    }
    if (one.platform && fitness_of(wanted_, *one.platform) == 0) {
      others_.insert(one.platform->text());
      return {};
    }
    Candidate candidate;
    candidate.digest = one.digest;
    TRY_ASSIGN(std::string text, read(one));
    TRY_ASSIGN(candidate.manifest, parse_manifest(text));
    TRY_ASSIGN(std::string config, read(candidate.manifest.config));
    TRY_ASSIGN(candidate.config, parse_config(config));
    const Platform& platform =
        one.platform ? *one.platform : candidate.config.platform;
    candidate.fits = fitness_of(wanted_, platform);
    if (candidate.fits == 0) {
      others_.insert(platform.text());
    }
    if (candidate.fits > best_.fits) {
      best_ = std::move(candidate);
    }
    return {};
  }

  std::string why_none() const {
    std::string have;
    for (const std::string& other : others_) {
      have += (have.empty() ? ", only for " : ", ") + escape_name(other);
    }
    return "there is none for " + wanted_.text() + have;
  }

  static Result<Image> image_of(const Candidate& from) {
    const std::vector<Descriptor>& layers = from.manifest.layers;
    if (layers.size() != from.config.diff_ids.size()) {
      return fail(make_error(EBADMSG, "check image", blob_name(from.digest),
                             std::to_string(layers.size()) + " layers, but " +
                                 std::to_string(from.config.diff_ids.size()) +
                                 " diffIDs"));
    }
    Image out;
    out.manifest = from.digest;
    out.config = from.manifest.config.digest;
    out.platform = from.config.platform;
    for (size_t i = 0; i < layers.size(); ++i) {
      out.layers.push_back({blob_name(layers[i].digest),
                            from.config.diff_ids[i], layers[i].digest,
                            layers[i].size});
    }
    return out;
  }

  Kernel& kernel_;
  BlobStore& store_;
  const Platform wanted_;
  Candidate best_;
  std::set<std::string> others_;
};

// The image of a docker-save archive that a tag names.
Result<DockerImage> choose_tagged(const std::vector<DockerImage>& images,
                                  const std::string& tag,
                                  const std::string& shown) {
  std::string known;
  for (const DockerImage& image : images) {
    for (const std::string& name : image.tags) {
      known += (known.empty() ? "" : ", ") + escape_name(name);
    }
    if (std::find(image.tags.begin(), image.tags.end(), tag) !=
            image.tags.end() ||
        (tag.empty() && images.size() == 1)) {
      return image;
    }
  }
  return fail(make_error(0, "choose image", tag.empty() ? shown : tag,
                         images.empty() ? "the archive holds none"
                         : tag.empty()
                             ? "the archive holds several, say which: " + known
                             : "the archive has no such tag, only " + known));
}

// The digest that a configuration's name promises, "<hex>.json" or
// "blobs/sha256/<hex>"; nothing when it promises none.
std::optional<Digest> promised_digest(std::string_view name) {
  constexpr std::string_view kEnd = ".json";
  if (size_t slash = name.rfind('/'); slash != std::string_view::npos) {
    name.remove_prefix(slash + 1);
  }
  if (name.ends_with(kEnd)) {
    name.remove_suffix(kEnd.size());
  }
  auto digest = Digest::parse("sha256:" + std::string(name));
  return digest ? std::optional<Digest>(*digest) : std::nullopt;
}

Result<Image> find_docker_image(Kernel& kernel, BlobStore& store,
                                const std::string& tag,
                                const Platform& wanted) {
  TRY_ASSIGN(Blob manifest, store.open("manifest.json"));
  TRY_ASSIGN(std::string text, read_blob(kernel, manifest, kMostJsonBytes));
  auto images = parse_docker_manifest(text);
  if (!images) {
    return fail(with_subject(std::move(images.error()), manifest.shown));
  }
  TRY_ASSIGN(DockerImage chosen, choose_tagged(*images, tag, manifest.shown));
  TRY_ASSIGN(Blob blob, store.open(chosen.config));
  TRY_ASSIGN(std::string config_text, read_blob(kernel, blob, kMostJsonBytes));
  Image out;
  TRY_ASSIGN(out.config, digest_of(config_text));
  if (auto promised = promised_digest(chosen.config);
      promised && *promised != out.config) {
    return fail(make_error(EBADMSG, "check digest", blob.shown,
                           "it has " + out.config.text()));
  }
  auto config = parse_config(config_text);
  if (!config) {
    return fail(with_subject(std::move(config.error()), blob.shown));
  }
  out.platform = config->platform;
  if (fitness_of(wanted, out.platform) == 0) {
    return fail(make_error(0, "choose image", blob.shown,
                           "there is none for " + wanted.text() +
                               ", only for " +
                               escape_name(out.platform.text())));
  }
  if (chosen.layers.size() != config->diff_ids.size()) {
    return fail(
        make_error(EBADMSG, "check image", manifest.shown,
                   std::to_string(chosen.layers.size()) + " layers, but " +
                       std::to_string(config->diff_ids.size()) + " diffIDs"));
  }
  for (size_t i = 0; i < chosen.layers.size(); ++i) {
    TRY_ASSIGN(Blob layer, store.open(chosen.layers[i]));
    out.layers.push_back(
        {chosen.layers[i], config->diff_ids[i], std::nullopt, layer.size});
  }
  return out;
}

}  // namespace

Result<Image> find_image(Kernel& kernel, BlobStore& store,
                         const std::string& reference, const Platform& wanted) {
  if (auto index = store.open("index.json");
      index || index.error().code != ENOENT) {
    return OciFinder(kernel, store, wanted).find(reference);
  }
  auto found = find_docker_image(kernel, store, reference, wanted);
  if (!found && found.error().code == ENOENT &&
      found.error().subject.ends_with("manifest.json")) {
    return fail(
        make_error(0, "find image", found.error().subject,
                   "neither an OCI layout (index.json) nor of docker save"));
  }
  return found;
}

}  // namespace lamina::archive
