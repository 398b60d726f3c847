// The manifest of `lamina write`, and the names in it: parsing ends, what is
// accepted is what it claims to be, and a cleaned name never leads out.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

#include "cli/batch_manifest.h"
#include "copy/batch_name.h"
#include "copy/write_batch.h"

namespace {

void require(bool held) {
  if (!held) {
    std::abort();
  }
}

// Each component is a name and nothing else.
void check_clean(std::string_view name) {
  require(!name.empty() && name.front() != '/' && name.back() != '/');
  require(name.find('\0') == std::string_view::npos);
  for (size_t at = 0; at <= name.size();) {
    size_t end = std::min(name.find('/', at), name.size());
    std::string_view part = name.substr(at, end - at);
    require(!part.empty() && part != "." && part != ".." && part.size() <= 255);
    at = end + 1;
  }
}

void check_name(std::string_view path) {
  std::string storage;
  auto cleaned = lamina::copy::clean_batch_name(path, storage);
  if (!cleaned) {
    return;
  }
  check_clean(*cleaned);
  std::string again;
  auto same = lamina::copy::clean_batch_name(*cleaned, again);
  require(same && *same == *cleaned);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  check_name(text);
  std::istringstream in(text);
  lamina::cli::ManifestLimits limits;
  limits.outputs = 1000;
  limits.bytes = 1 << 20;
  lamina::cli::Manifest manifest = lamina::cli::read_manifest(in, limits);
  require(manifest.outputs.size() <= limits.outputs);
  require(!manifest.fault || manifest.fault->index == manifest.outputs.size());
  for (const lamina::cli::ManifestOutput& output : manifest.outputs) {
    check_name(output.path);
    require(output.mode.value_or(0) <= 07777U);
    require(output.data.empty() || output.from.empty());
  }
  auto entries = manifest.entries();
  if (auto bad = lamina::copy::check_batch(entries)) {
    // All before it are good.
    require(bad->index && *bad->index < entries.size());
    auto good = std::span(entries).first(*bad->index);
    require(!lamina::copy::check_batch(good));
  }
  return 0;
}
