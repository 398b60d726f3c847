// Images found in a store and unpacked, whole or not at all.
#include "archive/image.h"

#include <fcntl.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "archive/unpack.h"
#include "tests/archive/applying.h"
#include "tests/archive/layout_maker.h"
#include "tests/support/fixtures.h"

namespace lamina::archive::test {
namespace {

using Json = LayoutMaker::Json;

std::string layer(const std::string& members) {
  return members + end_marker();
}

class Images : public Applying {
 protected:
  const Platform amd64_{"linux", "amd64", ""};
  const std::string lower_ =
      layer(directory("./") + directory("a") + file("a/old", "old"));
  const std::string upper_ = layer(file("a/.wh.old", "") + file("b", "b"));

  Result<Image> find(const LayoutMaker& maker, const std::string& ref = "") {
    return find(maker, ref, amd64_);
  }
  Result<Image> find(const LayoutMaker& maker, const std::string& ref,
                     const Platform& wanted) {
    open(maker);
    return find_image(real_kernel(), *store_, ref, wanted);
  }
  static std::string why(const Result<Image>& image) {
    return image ? "" : image.error().message();
  }

  // Unpacks what find() found.
  std::string unpack(const LayoutMaker& maker) {
    auto image = find(maker);
    if (!image) {
      return image.error().message();
    }
    auto place = open_parent(real_kernel(), root());
    auto done = unpack_image(*store_, *image, *place, options_);
    return done ? "" : done.error().message();
  }

  void open(const LayoutMaker& maker) {
    std::filesystem::remove_all(temp_.path("layout"));
    maker.write_to(temp_.path("layout"));
    open_path(temp_.path("layout"));
  }
  void open_path(const std::string& path) {
    Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    auto store = open_store(real_kernel(), std::move(fd), "layout");
    ASSERT_TRUE(store) << store.error().message();
    store_ = std::move(*store);
  }
  // The same image as an archive.
  void open_tar(const std::string& tar) {
    std::ofstream(temp_.path("archive"), std::ios::binary) << tar;
    open_path(temp_.path("archive"));
  }

  std::unique_ptr<BlobStore> store_;
  ApplyOptions options_;
};

TEST_F(Images, AreFoundByReferenceOrWhenAlone) {
  LayoutMaker maker;
  Json one = named(maker.add_image({lower_}), "one");
  Json two = named(maker.add_image({lower_, upper_}), "two");
  maker.finish({one});
  EXPECT_EQ(find(maker)->layers.size(), 1U);

  maker.finish({one, two});
  auto image = find(maker, "two");

  ASSERT_TRUE(image) << why(image);
  EXPECT_EQ(image->layers.size(), 2U);
  EXPECT_EQ(image->manifest->text(), two["digest"]);
  EXPECT_EQ(why(find(maker)),
            "choose image: the layout holds several, say which: one, two");
  EXPECT_EQ(why(find(maker, "x")),
            "choose image on 'x': the layout has no such reference, only one, "
            "two");
}

TEST_F(Images, AreChosenByPlatformFromNestedIndexes) {
  LayoutMaker maker;
  Json arm = built_for(maker.add_image({lower_}, "arm64"), "arm64");
  Json amd = built_for(maker.add_image({lower_, upper_}), "amd64");
  Json other = built_for(maker.add_image({}), "unknown");
  // What is for another machine need not be there.
  maker.files.erase("blobs/sha256/" +
                    other["digest"].get<std::string>().substr(7));
  maker.finish({maker.add_index({maker.add_index({arm, other, amd})})});

  EXPECT_EQ(find(maker)->layers.size(), 2U);
  EXPECT_EQ(find(maker, "", {"linux", "arm64", ""})->layers.size(), 1U);
  EXPECT_EQ(why(find(maker, "", {"linux", "s390x", ""})),
            "choose image on 'layout/index.json': there is none for "
            "linux/s390x, only for linux/amd64, linux/arm64, linux/unknown");
}

TEST_F(Images, AreForThePlatformOfTheirConfigurationWhereNothingElseIsSaid) {
  LayoutMaker maker;
  maker.finish({maker.add_image({lower_}, "riscv64")});

  EXPECT_EQ(why(find(maker)),
            "choose image on 'layout/index.json': there is none for "
            "linux/amd64, only for linux/riscv64");
  EXPECT_TRUE(find(maker, "", {"linux", "riscv64", ""}));
}

TEST_F(Images, RefuseDocumentsThatAreNotWhatTheyWereSaidToBe) {
  LayoutMaker maker;
  Json manifest = maker.add_image({lower_});
  maker.finish({manifest});
  const std::string name =
      "blobs/sha256/" + manifest["digest"].get<std::string>().substr(7);

  LayoutMaker changed = maker;
  changed.files[name].back() = ' ';
  EXPECT_NE(why(find(changed)).find("check digest on 'layout/" + name),
            std::string::npos);

  LayoutMaker longer = maker;
  longer.files[name] += ' ';
  EXPECT_NE(why(find(longer)).find("check size on 'layout/" + name),
            std::string::npos);

  LayoutMaker absent = maker;
  absent.files.erase(name);
  EXPECT_NE(why(find(absent)).find("(ENOENT)"), std::string::npos);
}

TEST_F(Images, NeedADiffIdForEachLayer) {
  LayoutMaker maker;
  Json config = LayoutMaker::config_of({lower_}, "amd64");
  maker.finish({maker.add_manifest(config, {lower_, upper_})});

  EXPECT_NE(why(find(maker)).find("2 layers, but 1 diffIDs"),
            std::string::npos);
}

TEST_F(Images, DoNotFollowIndexesForEver) {
  LayoutMaker maker;
  Json at = maker.add_image({});
  for (int i = 0; i < 6; ++i) {
    at = maker.add_index({at});
  }
  maker.finish({at});

  EXPECT_NE(why(find(maker)).find("nested too deep"), std::string::npos);
}

TEST_F(Images, AreNotFoundThroughSymbolicLinks) {
  LayoutMaker maker;
  maker.finish({maker.add_image({lower_})});
  maker.write_to(temp_.path("real"));
  std::filesystem::create_directories(temp_.path("linked"));
  for (const char* name : {"index.json", "blobs"}) {
    std::filesystem::create_symlink(temp_.path("real") + "/" + name,
                                    temp_.path("linked") + "/" + name);
  }
  open_path(temp_.path("linked"));

  auto image = find_image(real_kernel(), *store_, "", amd64_);

  EXPECT_NE(why(image).find("(ELOOP)"), std::string::npos) << why(image);
  EXPECT_FALSE(store_->open("../real/index.json"));
}

TEST_F(Images, UnpackAllLayersIntoOneTree) {
  LayoutMaker maker;
  maker.finish({maker.add_image({lower_, upper_})});

  EXPECT_EQ(unpack(maker), "");

  EXPECT_TRUE(exists("b"));
  EXPECT_TRUE(exists("a"));
  EXPECT_FALSE(exists("a/old"));
}

TEST_F(Images, UnpackTheSameFromAnArchive) {
  LayoutMaker maker;
  maker.finish({maker.add_image({lower_, upper_})});
  ASSERT_EQ(unpack(maker), "");
  const std::string want = dump();
  lamina::test::remove_all_at(temp_.fd(), "root");

  open_tar(maker.tar());
  auto image = find_image(real_kernel(), *store_, "", amd64_);
  ASSERT_TRUE(image) << why(image);
  auto place = open_parent(real_kernel(), root());
  auto done = unpack_image(*store_, *image, *place);

  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(dump(), want);
}

TEST_F(Images, UnpackWhatDockerSaves) {
  const std::string config =
      LayoutMaker::config_of({lower_, upper_}, "amd64").dump();
  const std::string name = digest_of(config).text().substr(7) + ".json";
  const Json manifest = Json::array({{{"Config", name},
                                      {"RepoTags", {"x:1", "x:2"}},
                                      {"Layers", {"1/layer.tar", "2.tar"}}}});
  LayoutMaker maker;
  maker.files = {{"manifest.json", manifest.dump()},
                 {name, config},
                 {"0/layer.tar", lower_},
                 {"2.tar", upper_}};
  std::string tar = maker.tar();
  open_tar(symlink("1/layer.tar", "../0/layer.tar") + tar);

  auto image = find_image(real_kernel(), *store_, "x:2", amd64_);
  ASSERT_TRUE(image) << why(image);
  auto place = open_parent(real_kernel(), root());
  auto done = unpack_image(*store_, *image, *place);

  ASSERT_TRUE(done) << done.error().message();
  EXPECT_FALSE(image->manifest);
  EXPECT_TRUE(exists("b"));
  EXPECT_FALSE(exists("a/old"));
  EXPECT_EQ(why(find_image(real_kernel(), *store_, "y", amd64_)),
            "choose image on 'y': the archive has no such tag, only x:1, x:2");
}

TEST_F(Images, LeaveNothingWhenALayerIsNotWhatItWasSaidToBe) {
  for (auto spoil : {+[](std::string& blob) { blob[512 * 1] = 'X'; },
                     +[](std::string& blob) { blob += 'X'; },
                     +[](std::string& blob) { blob.resize(700); }}) {
    LayoutMaker maker;
    maker.finish({maker.add_image({lower_, upper_})});
    std::string name = digest_of(upper_).text().substr(7);
    spoil(maker.files["blobs/sha256/" + name]);
    EXPECT_NE(unpack(maker).find("in layer 2 of 2"), std::string::npos)
        << unpack(maker);
    EXPECT_FALSE(exists(""));

    lamina::test::make_tree(root(), "");
    ASSERT_EQ(::chmod(root().c_str(), 02711), 0);
    const std::string before = dump();
    EXPECT_NE(unpack(maker), "");
    EXPECT_EQ(dump(), before);
    lamina::test::remove_all_at(temp_.fd(), "root");
  }
}

TEST_F(Images, AreNotUnpackedOverSomethingElse) {
  LayoutMaker maker;
  maker.finish({maker.add_image({lower_})});
  lamina::test::make_tree(root(), "file mine text=x");
  const std::string before = dump();

  EXPECT_NE(unpack(maker).find("(ENOTEMPTY)"), std::string::npos);
  EXPECT_EQ(dump(), before);
}

TEST_F(Images, KeepTheRootThatAnyLayerNamed) {
  LayoutMaker maker;
  maker.finish({maker.add_image(
      {layer(directory("./", 0711) + file("a", "a")), layer(file("b", "b"))})});

  EXPECT_EQ(unpack(maker), "");

  struct stat stat {};
  ASSERT_EQ(::stat(root().c_str(), &stat), 0);
  EXPECT_EQ(stat.st_mode & 07777U, 0711U);
  EXPECT_EQ(stat.st_mtim.tv_sec, 1700000000);
}

TEST_F(Images, CountBytesOverAllLayers) {
  LayoutMaker maker;
  maker.finish({maker.add_image({lower_, upper_})});
  std::atomic<uint64_t> bytes{0};
  options_.bytes_in = &bytes;

  EXPECT_EQ(unpack(maker), "");

  EXPECT_EQ(bytes, lower_.size() + upper_.size());
}

}  // namespace
}  // namespace lamina::archive::test
