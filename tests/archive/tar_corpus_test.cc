// Archives that others made: what the reader alone says to them.
#include <fcntl.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "archive/decode_stream.h"
#include "archive/tar_reader.h"
#include "base/kernel.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/archive/tar_maker.h"

namespace lamina::archive {
namespace {

namespace fs = std::filesystem;

// The listing of the archive in a file, however it is packed.
std::string listing_of(const fs::path& path, Helpers helpers) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(file.valid()) << path;
  FdSource source(real_kernel(), file, path.filename().string());
  SlabRing ring(SlabRing::kFewestSlabs, 4096);
  DecodeOptions options;
  options.helpers = helpers;
  DecodeStream stream(source, ring, options);
  return test::listing(stream);
}

bool is_refused(const std::string& list) {
  size_t start = list.empty() ? 0 : list.rfind('\n', list.size() - 2) + 1;
  std::string last = list.substr(start);
  return last.starts_with("read tar") || last.starts_with("decompress");
}

// Refused by the one who applies them: they are sound archives, but what they
// ask of a tree is not.
const std::set<std::string> kLeftToTheApplier = {
    "esc-hl-via-sym",      "esc-opq-via-sym",
    "esc-sym-chain",       "esc-sym-dir-swap-slash",
    "esc-sym-rel",         "hl-dir",
    "hl-missing",          "order-first-error",
    "parent-dead-symlink", "sym-loop-parent",
    "wh-as-parent",        "wh-dotdot",
    "wh-dotdot-sub",       "xattr-bad-capability",
    "xattr-too-big",
};

TEST(TarCorpus, LayersOfTheSharedCorpusAreReadOrRefusedAsItSays) {
  const char* given = std::getenv("LAMINA_TARS");
  const fs::path folder = given != nullptr ? given : "../shared/tars";
  std::ifstream manifest(folder / "manifest.json");
  if (!manifest) {
    GTEST_SKIP() << "no ../shared/tars here";
  }
  // Names that are not UTF-8 are written as lone surrogates, which JSON does
  // not know. They stand where this test does not look.
  std::string text(std::istreambuf_iterator<char>(manifest), {});
  for (size_t at = 0; (at = text.find("\\ud", at)) != std::string::npos;) {
    text.replace(at, 6, "?");
  }
  const auto cases = nlohmann::json::parse(text)["cases"];

  for (const auto& c : cases) {
    const std::string name = c["name"];
    const bool refuse =
        c["outcome"] == "reject" && !kLeftToTheApplier.contains(name);
    const fs::path path = folder / c["file"].get<std::string>();

    std::string list = listing_of(path, Helpers::none);

    EXPECT_EQ(is_refused(list), refuse) << name << ": " << c["why"] << "\n"
                                        << list;
    EXPECT_EQ(listing_of(path, Helpers::threads), list) << name;
  }
}

// What is to be found in the listing of each archive of Go's own tests; the
// last is the error, where there is one.
const std::map<std::string, std::vector<std::string>> kGo = {
    {"file-and-dir", {"0 file small.txt", "size=5 body=Kilts", "1 dir dir"}},
    {"gnu", {"0 file small.txt mode=640 owner=73025:5000 mtime=1244428340"}},
    {"gnu-incremental", {"type 'D'"}},
    {"gnu-long-nul", {"0 file 0123456789 mode"}},
    {"gnu-multi-hdrs",
     {"GNU2/GNU2/long-path-name -> GNU4/GNU4/long-linkpath-name"}},
    {"gnu-nil-sparse-data", {"sparse.db", "size=1000 body=1000,"}},
    {"gnu-nil-sparse-hole", {"sparse.db", "size=1000\n"}},
    {"gnu-not-utf8", {"hi\\x80\\x81\\x82\\x83bye"}},
    {"gnu-sparse-big", {"size=60000000000", "@9999999488+512"}},
    {"gnu-utf8", {"\\xe2\\x98\\xba"}},
    {"hardlink", {"0 file file.txt", "1 link hard.txt -> file.txt"}},
    {"hdr-only", {"0 dir dir", "15 symlink badlink -> missing"}},
    {"invalid-go17", {"/foo mode"}},
    {"issue10968", {"read tar"}},
    {"issue11169", {"read tar"}},
    {"issue12435", {"read tar"}},
    {"neg-size", {"read tar"}},
    {"nil-uid", {"P1050238.JPG.log mode=664 owner=0:0"}},
    {"pax", {"mtime=1350244992.023960108", "mtime=1350266320.91023842"}},
    {"pax-bad-hdr-file", {"PAX record"}},
    {"pax-bad-mtime-file", {"PAX record"}},
    {"pax-global-records",
     {"0 file file1", "3 file file4 mode=000 owner=0:0 mtime=1400000000"}},
    {"pax-multi-hdrs", {"symlink bar -> PAX4/PAX4/long-linkpath-name"}},
    {"pax-nil-sparse-data", {"size=1000 body=1000,"}},
    {"pax-nil-sparse-hole", {"size=1000\n"}},
    {"pax-nul-path", {"NUL"}},
    {"pax-nul-xattrs", {"NUL"}},
    // Go calls this an empty archive.
    {"pax-path-hdr", {"without an entry"}},
    {"pax-pos-size-file", {"size=999 body=999,"}},
    {"pax-records", {"0 file file "}},
    {"pax-sparse-big", {"size=60000000000", "@9999999488+512"}},
    {"sparse-formats",
     {"sparse-gnu", "sparse-posix-0.0", "sparse-posix-0.1", "sparse-posix-1.0",
      "end mode"}},
    {"star", {"mtime=1244592783 atime=1244592783 size=5 body=Kilts"}},
    {"trailing-slash", {"0 dir 123456789/"}},
    {"ustar", {"longname/file.txt", "body=hello"}},
    {"ustar-file-devs", {"0 file file mode=644 owner=0:0 mtime=0 size=0"}},
    {"ustar-file-reg", {"0 file foo", "size=684"}},
    {"v7", {"0 file small.txt mode=444", "1 file small2.txt"}},
    {"writer", {"2 symlink link.txt -> small.txt"}},
    {"writer-big", {"size=17179869184", "ends early"}},
    {"writer-big-long", {"16gig.txt", "ends early"}},
    {"xattrs",
     {"user.key=value user.key2=value2", "mtime=1386065770.44825232"}},
};

bool is_an_error(const std::string& found) {
  for (const char* word : {"read tar", "PAX record", "NUL", "without an entry",
                           "ends early", "type 'D'"}) {
    if (found == word) {
      return true;
    }
  }
  return false;
}

TEST(TarCorpus, ArchivesOfGosTestsAreReadOrRefusedAsWeDecided) {
  const char* given = std::getenv("LAMINA_GO_TARS");
  fs::path folder = given != nullptr ? given : "";
  for (const char* version : {"1.19", "1.21", "1.22"}) {
    fs::path there =
        std::string("/usr/share/go-") + version + "/src/archive/tar/testdata";
    if (folder.empty() && fs::exists(there)) {
      folder = there;
    }
  }
  if (folder.empty()) {
    GTEST_SKIP() << "no test data of Go's archive/tar (golang-1.19-src)";
  }

  for (const auto& [name, found] : kGo) {
    const fs::path path = folder / (name + ".tar");
    if (!fs::exists(path)) {
      ADD_FAILURE() << path << " is missing";
      continue;
    }
    std::string list = listing_of(path, Helpers::none);
    for (const std::string& text : found) {
      EXPECT_NE(list.find(text), std::string::npos) << name << "\n" << list;
    }
    EXPECT_EQ(is_refused(list), is_an_error(found.back())) << name << list;
  }
  std::string packed =
      listing_of(folder / "pax-bad-hdr-large.tar.bz2", Helpers::none);
  EXPECT_NE(packed.find("bzip2"), std::string::npos) << packed;
}

}  // namespace
}  // namespace lamina::archive
