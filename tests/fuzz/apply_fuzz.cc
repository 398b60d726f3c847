// Whatever a layer holds, it is applied or refused: nothing beside the root is
// touched, and a root that was empty is empty again after a failure.
//
// The first byte chooses the options, the rest is a tar. A link name that
// begins with "@/" is made the absolute path of a directory that must not
// change.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "archive/apply.h"
#include "archive/tar_header.h"
#include "base/kernel.h"
#include "tests/support/fixtures.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tree.h"

namespace {

using namespace lamina;
using namespace lamina::archive;

constexpr size_t kLinkAt = 157;
constexpr size_t kLinkBytes = 100;

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

// Makes the checksum of each block right that has the magic of a header, and
// points links at what must not change.
std::string prepared(std::string_view data, const std::string& outside) {
  std::string tar(data);
  for (size_t at = 0; at + kTarBlock <= tar.size(); at += kTarBlock) {
    if (tar.compare(at + 257, 5, "ustar") != 0) {
      continue;
    }
    if (tar.compare(at + kLinkAt, 2, "@/") == 0) {
      std::string link = outside + tar.substr(at + kLinkAt + 1, kLinkBytes - 1);
      tar.replace(at + kLinkAt, kLinkBytes, link.substr(0, kLinkBytes));
    }
    tar.replace(at + 148, 8, 8, ' ');
    unsigned sum = 0;
    for (size_t i = 0; i < kTarBlock; ++i) {
      sum += static_cast<unsigned char>(tar[at + i]);
    }
    for (size_t i = 6; i-- > 0; sum >>= 3U) {
      tar[at + 148 + i] = static_cast<char>('0' + (sum & 7U));
    }
    tar[at + 154] = '\0';
  }
  return tar;
}

// A directory with a root in it, and what lies beside.
class Scratch {
 public:
  Scratch() {
    test::make_tree(temp_.path(), R"(
      dir  outside       mode=0751 mtime=3
      file outside/file  text=untouched mode=0640
      dir  outside/dir
      file below/d/f     text=x
      file below/.wh.e   text=)");
    beside_ = seen_beside();
  }

  std::string outside() const { return temp_.path("outside"); }
  std::string root() const { return temp_.path("root"); }
  std::string below() const { return temp_.path("below"); }
  const test::TempDir& temp() const { return temp_; }

  // A root that holds something, links that lead out too; or an empty one.
  void begin(bool used) {
    test::make_tree(root(), "");
    if (used) {
      test::make_tree(root(), R"(
        file d/f  text=old
        symlink up   -> ../outside
        symlink deep -> ../../../../../../../../../../etc
        symlink in   -> d
        fifo p)");
      require(::symlink(outside().c_str(), (root() + "/abs").c_str()) == 0);
    }
  }
  void end() { test::remove_all_at(temp_.fd(), "root"); }

  // Everything but the root.
  std::string seen_beside() const {
    return test::dump_tree(outside()) + test::dump_tree(below());
  }
  bool is_untouched() const { return seen_beside() == beside_; }

 private:
  const test::TempDir temp_;
  std::string beside_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Scratch& scratch = *new Scratch;
  if (size == 0) {
    return 0;
  }
  const uint8_t choice = data[0];
  const std::string tar = prepared(
      std::string_view(reinterpret_cast<const char*>(data), size).substr(1),
      scratch.outside());
  ApplyOptions options;
  options.whiteouts = static_cast<Whiteouts>(choice & 3U);
  options.strip = (choice >> 2U) & 1U;
  options.loss =
      (choice & 8U) != 0 ? copy::Loss::forgiven : copy::Loss::refused;
  options.workers = (choice & 16U) != 0 ? 2 : 1;
  options.max_bytes = uint64_t{1} << 22;
  options.max_entries = 256;
  Fd below(::open(scratch.below().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if ((choice & 32U) != 0 && options.whiteouts != Whiteouts::remove) {
    options.lower.push_back(std::make_shared<const Fd>(std::move(below)));
  }
  const bool used = (choice & 64U) != 0;
  scratch.begin(used);

  auto place = open_parent(real_kernel(), scratch.root());
  require(place.has_value());
  MemorySource source(bytes_of(tar));
  auto applied = apply_layer(source, *place, options);

  require(scratch.is_untouched());
  if (!applied) {
    require(!applied.error().message().empty());
    if (!used) {
      require(::rmdir(scratch.root().c_str()) == 0);
      return 0;
    }
  }
  scratch.end();
  return 0;
}
