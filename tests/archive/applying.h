// Layers put together for a test and applied from memory.
#pragma once

#include <string>
#include <string_view>

#include "archive/apply.h"
#include "archive/bytes.h"
#include "base/kernel.h"
#include "gtest/gtest.h"
#include "tests/archive/tar_maker.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tree.h"

namespace lamina::archive::test {

// A root of its own for each test, and the layers applied to it.
class Applying : public ::testing::Test {
 protected:
  std::string root() const { return temp_.path("root"); }
  std::string root(std::string_view name) const {
    return root() + "/" + std::string(name);
  }

  // Applies the members, ended as a tar is.
  Result<ApplyReport> apply(std::string_view members,
                            const ApplyOptions& options = {}) {
    return apply_raw(std::string(members) + end_marker(), options);
  }

  Result<ApplyReport> apply_raw(std::string_view blob,
                                const ApplyOptions& options = {}) {
    MemorySource source(bytes_of(blob));
    auto place = open_parent(real_kernel(), root());
    if (!place) {
      return fail(place.error());
    }
    return apply_layer(source, *place, options);
  }

  static std::string error_of(const Result<ApplyReport>& report) {
    return report ? "" : report.error().message();
  }

  std::string dump() const { return lamina::test::dump_tree(root()); }
  bool exists(std::string_view name) const {
    struct stat stat {};
    return ::lstat(root(name).c_str(), &stat) == 0;
  }

  lamina::test::TempDir temp_;
};

inline std::string file(const std::string& name, std::string_view body,
                        uint64_t mode = 0644) {
  return member({.name = name, .size = body.size(), .mode = mode}, body);
}

inline std::string directory(const std::string& name, uint64_t mode = 0755) {
  return member({.name = name, .type = '5', .mode = mode});
}

inline std::string hard_link(const std::string& name,
                             const std::string& other) {
  return member({.name = name, .type = '1', .link = other});
}

inline std::string symlink(const std::string& name, const std::string& to) {
  return member({.name = name, .type = '2', .link = to, .mode = 0777});
}

}  // namespace lamina::archive::test
