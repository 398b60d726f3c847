#include "archive/oci_parse.h"

#include <string>

#include <gtest/gtest.h>

namespace lamina::archive {
namespace {

const std::string kDigest = "sha256:" + std::string(64, 'a');

std::string descriptor(const std::string& more = "") {
  return R"({"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip",)"
         R"("digest":")" +
         kDigest + R"(","size":7)" + more + "}";
}

std::string index_of(const std::string& manifests) {
  return R"({"schemaVersion":2,"manifests":[)" + manifests + "]}";
}

template <typename T>
std::string error_of(const Result<T>& result) {
  return result ? "" : result.error().message();
}

TEST(OciIndex, IsReadWithNamesAndPlatforms) {
  auto index = parse_index(index_of(descriptor(
      R"(,"platform":{"os":"linux","architecture":"arm","variant":"v7"},
      "annotations":{"org.opencontainers.image.ref.name":"1.0",
      "io.containerd.image.name":"docker.io/library/x:1.0","other":"y"})")));

  ASSERT_TRUE(index) << error_of(index);
  ASSERT_EQ(index->size(), 1U);
  const Descriptor& one = index->front();
  EXPECT_EQ(one.digest.text(), kDigest);
  EXPECT_EQ(one.size, 7U);
  EXPECT_EQ(one.platform->text(), "linux/arm/v7");
  EXPECT_EQ(one.names,
            (std::vector<std::string>{"1.0", "docker.io/library/x:1.0"}));
}

TEST(OciIndex, RefusesWhatIsMalformed) {
  for (const std::string& text :
       {std::string(), std::string("null"), std::string("[]"), std::string("{"),
        std::string(R"({"manifests":[]})"),
        std::string(R"({"schemaVersion":1,"manifests":[]})"),
        std::string(R"({"schemaVersion":"2","manifests":[]})"),
        std::string(R"({"schemaVersion":2,"manifests":{}})"), index_of("7"),
        index_of("{}"), index_of(R"({"digest":7,"size":1})"),
        index_of(R"({"digest":")" + kDigest + R"(","size":-1})"),
        index_of(R"({"digest":")" + kDigest + R"(","size":1.5})"),
        index_of(R"({"digest":")" + kDigest + R"(","size":1e30})")}) {
    EXPECT_FALSE(parse_index(text)) << text;
  }
}

TEST(OciIndex, RefusesDigestsThatArePaths) {
  for (const std::string& digest :
       {std::string("sha256:../../../../etc/passwd"), std::string("../x"),
        "sha256:" + std::string(63, 'a') + "/",
        "sha256:" + std::string(64, 'A'), "sha512:" + std::string(128, 'a')}) {
    auto index =
        parse_index(index_of(R"({"size":1,"digest":")" + digest + "\"}"));
    EXPECT_NE(error_of(index).find("sha256: and 64 lower-case"),
              std::string::npos)
        << digest;
  }
}

TEST(OciIndex, IsBoundedInSizeDepthAndLength) {
  std::string large = index_of("");
  large.append(kMostJsonBytes, ' ');
  EXPECT_EQ(error_of(parse_index(large)),
            "read image index: it is larger than 4 MiB");

  std::string deep = R"({"schemaVersion":2,"x":)" + std::string(100000, '[');
  EXPECT_EQ(error_of(parse_index(deep)),
            "read image index: it is nested too deep");

  std::string many = descriptor();
  for (size_t i = 0; i < kMostListed; ++i) {
    many += "," + descriptor();
  }
  EXPECT_EQ(error_of(parse_index(index_of(many))),
            "read image index: manifests has too many elements");
}

TEST(OciManifest, NamesConfigurationAndLayers) {
  auto manifest = parse_manifest(R"({"schemaVersion":2,"config":)" +
                                 descriptor() + R"(,"layers":[)" +
                                 descriptor() + "," + descriptor() + "]}");

  ASSERT_TRUE(manifest) << error_of(manifest);
  EXPECT_EQ(manifest->layers.size(), 2U);
  EXPECT_EQ(manifest->config.digest.text(), kDigest);
}

TEST(OciManifest, RefusesLayersThatAreNoFileSystems) {
  for (const char* type : {"application/vnd.oci.empty.v1+json", "",
                           "application/vnd.oci.image.layer.v1.tar+encrypted",
                           "text/plain\\u001b"}) {
    auto manifest =
        parse_manifest(R"({"schemaVersion":2,"config":)" + descriptor() +
                       R"(,"layers":[{"mediaType":")" + type +
                       R"(","digest":")" + kDigest + R"(","size":1}]})");
    EXPECT_NE(error_of(manifest).find("' is no layer"), std::string::npos)
        << type;
    EXPECT_EQ(error_of(manifest).find('\x1b'), std::string::npos);
  }
}

TEST(OciConfig, TakesNoLayersAtAll) {
  auto config = parse_config(
      R"({"os":"linux","architecture":"amd64",
      "rootfs":{"type":"layers","diff_ids":null}})");

  ASSERT_TRUE(config) << error_of(config);
  EXPECT_TRUE(config->diff_ids.empty());
  EXPECT_EQ(config->platform.text(), "linux/amd64");
  EXPECT_FALSE(parse_config(R"({"rootfs":{"type":"other"}})"));
  EXPECT_FALSE(parse_config("{}"));
}

TEST(DockerManifest, ListsImages) {
  auto images = parse_docker_manifest(
      R"([{"Config":"c.json","RepoTags":["a:1"],"Layers":["l.tar"]},
      {"Config":"d.json","RepoTags":null,"Layers":[]}])");

  ASSERT_TRUE(images) << error_of(images);
  ASSERT_EQ(images->size(), 2U);
  EXPECT_EQ(images->front().config, "c.json");
  EXPECT_EQ(images->front().tags, std::vector<std::string>{"a:1"});
  EXPECT_EQ(images->front().layers, std::vector<std::string>{"l.tar"});
  EXPECT_FALSE(parse_docker_manifest("{}"));
  EXPECT_FALSE(parse_docker_manifest(R"([{"Layers":[7]}])"));
}

}  // namespace
}  // namespace lamina::archive
