// What tests of copies share: a place with a source and a destination in it,
// and small questions about both. Throws SupportError when the file system
// refuses its own part.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/error.h"
#include "copy/dir_copy.h"
#include "copy/options.h"
#include "tests/support/faulty_kernel.h"
#include "tests/support/tree.h"

namespace lamina::test {

// "" for a success, else the message that people would see.
template <typename T>
std::string error_of(const Result<T>& result) {
  return result ? "" : result.error().message();
}

// 0 for a success, else the errno value.
template <typename T>
int code_of(const Result<T>& result) {
  return result ? 0 : result.error().code;
}

// lstat(2), and whether it finds anything.
struct stat stat_of(const std::string& path);
bool exists(const std::string& path);

void write_file(const std::string& path, std::string_view bytes);
std::string read_file(const std::string& path);

// True when the two names are the same inode.
bool same_inode(const std::string& a, const std::string& b);

// The source is made from text at src(), dst() is absent.
class Copying : public testing::Test {
 protected:
  // Below $TMPDIR, or in `parent`.
  explicit Copying(const std::string& parent = "")
      : temp_(parent) {}

  void make_source(std::string_view text) { make_tree(src(), text); }
  std::string src(const std::string& name = "") const {
    return at("src", name);
  }
  std::string dst(const std::string& name = "") const {
    return at("dst", name);
  }
  const TempDir& temp() const { return temp_; }

  Result<copy::Report> copy(const copy::Options& options = {}) const {
    return copy::dir_copy(src(), dst(), options);
  }

 private:
  std::string at(const char* tree, const std::string& name) const {
    return temp_.path(tree) + (name.empty() ? "" : "/" + name);
  }

  TempDir temp_;
};

// The same with every call recorded, and as faulty as asked for.
class FaultyCopying : public Copying {
 protected:
  using Copying::Copying;

  // Options that use kernel(), one worker unless said otherwise.
  copy::Options options(unsigned workers = 1) {
    copy::Options options;
    options.kernel = &kernel_;
    options.workers = workers;
    return options;
  }
  FaultyKernel& kernel() { return kernel_; }

 private:
  FaultyKernel kernel_;
};

// Expects that the copy in `dst` lacks nothing of `src`.
void expect_same(const std::string& src, const std::string& dst,
                 const DumpOptions& options = {});

}  // namespace lamina::test
