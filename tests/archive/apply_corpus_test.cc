// The shared corpus of layers, good, odd and hostile: applied or refused as it
// says, and nothing beside the root touched.
#include <fcntl.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "nlohmann/json.hpp"
#include "tests/archive/applying.h"

namespace lamina::archive::test {
namespace {

namespace fs = std::filesystem;

class ApplyCorpus : public Applying {
 protected:
  std::string apply_file(const fs::path& path) {
    Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_TRUE(file.valid()) << path;
    FdSource source(real_kernel(), file, path.filename().string());
    auto place = open_parent(real_kernel(), root());
    EXPECT_TRUE(place);
    return error_of(apply_layer(source, *place, {}));
  }
};

TEST_F(ApplyCorpus, LayersAreAppliedOrRefusedAsItSays) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "its layers hold devices";
  }
  const char* given = std::getenv("LAMINA_TARS");
  const fs::path folder = given != nullptr ? given : "../shared/tars";
  std::ifstream manifest(folder / "manifest.json");
  if (!manifest) {
    GTEST_SKIP() << "no ../shared/tars here";
  }
  // Lone surrogates stand for bytes that are not UTF-8, where this test does
  // not look.
  std::string text(std::istreambuf_iterator<char>(manifest), {});
  text = std::regex_replace(text, std::regex(R"(\\ud[89a-f][0-9a-f]{2})"), "?");
  lamina::test::make_tree(temp_.path("outside"), "file file text=untouched\n");
  const std::string outside = lamina::test::dump_tree(temp_.path("outside"));

  const auto corpus = nlohmann::json::parse(text);
  for (const auto& c : corpus["cases"]) {
    const std::string name = c["name"];
    if (c.contains("base") && !c["base"].is_null()) {
      ASSERT_EQ(apply_file(folder / "base.tar"), "") << name;
    }

    const std::string error = apply_file(folder / c["file"].get<std::string>());

    EXPECT_EQ(error.empty(), c["outcome"] == "apply")
        << name << ": " << c["why"] << "\n"
        << error;
    EXPECT_EQ(lamina::test::dump_tree(temp_.path("outside")), outside) << name;
    if (fs::exists(root())) {
      lamina::test::remove_all_at(temp_.fd(), "root");
    }
  }
}

// The reader's tests look at what is in them (tar_corpus_test.cc).
TEST_F(ApplyCorpus, ArchivesOfGosTestsAreAppliedOrRefusedWhole) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "their owners need root";
  }
  const fs::path folder = "/usr/share/go-1.19/src/archive/tar/testdata";
  if (!fs::exists(folder)) {
    GTEST_SKIP() << "no test data of Go's archive/tar (golang-1.19-src)";
  }
  const std::set<std::string> refused = {
      "gnu-incremental.tar",
      "issue10968.tar",
      "issue11169.tar",
      "issue12435.tar",
      "neg-size.tar",
      "pax-bad-hdr-file.tar",
      "pax-bad-hdr-large.tar.bz2",
      "pax-bad-mtime-file.tar",
      "pax-nul-path.tar",
      "pax-nul-xattrs.tar",
      "pax-path-hdr.tar",
      "writer-big-long.tar",
      "writer-big.tar",
  };

  for (const auto& archive : fs::directory_iterator(folder)) {
    const std::string name = archive.path().filename();
    if (name.find(".tar") == std::string::npos) {
      continue;
    }
    const std::string error = apply_file(archive.path());
    EXPECT_EQ(!error.empty(), refused.contains(name)) << name << ": " << error;
    EXPECT_EQ(fs::exists(root()), error.empty()) << name;
    if (fs::exists(root())) {
      lamina::test::remove_all_at(temp_.fd(), "root");
    }
  }
}

}  // namespace
}  // namespace lamina::archive::test
