// Two trees and what differs between them, for tests.
#pragma once

#include <string>
#include <string_view>

#include "archive/apply.h"
#include "archive/diff.h"
#include "base/kernel.h"
#include "base/path.h"
#include "gtest/gtest.h"
#include "tests/archive/tar_maker.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tree.h"

namespace lamina::archive::test {

// Writes down each change as a line: "A etc/hosts", R for what is only linked
// anew, " -> etc/other" behind a further name of an inode.
class ChangeLog final : public ChangeSink {
 public:
  Result<void> take(const Change& change) override {
    static constexpr char kLetters[] = "ACDR";
    text_ += kLetters[static_cast<size_t>(change.kind)];
    text_ += " " + std::string(change.path);
    text_ += change.link.empty() ? "" : " -> " + std::string(change.link);
    text_ += "\n";
    return {};
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class Diffing : public ::testing::Test {
 protected:
  std::string lower(const std::string& name = "") const {
    return at("lower", name);
  }
  std::string upper(const std::string& name = "") const {
    return at("upper", name);
  }

  void make_trees(std::string_view in_lower, std::string_view in_upper) {
    lamina::test::make_tree(lower(), in_lower);
    lamina::test::make_tree(upper(), in_upper);
  }

  static Fd open(const std::string& path) {
    auto fd = open_directory(real_kernel(), path);
    EXPECT_TRUE(fd) << fd.error().message();
    return fd ? std::move(*fd) : Fd();
  }

  // The changes as lines, or the error.
  std::string changes(const ChangeOptions& options = {},
                      Deletions deletions = Deletions::in_order) const {
    ChangeLog log;
    auto found =
        find_changes(open(lower()), open(upper()), log, options, deletions);
    return found ? log.text() : "error: " + found.error().message() + "\n";
  }

  // The layer, written to `tar` as far as it went.
  Result<DiffReport> diff_to(std::string& tar,
                             const DiffOptions& options = {}) const {
    tar.clear();
    return write_diff(
        open(lower()), open(upper()),
        [&tar](Bytes bytes) -> Result<void> {
          tar += text_of(bytes);
          return {};
        },
        options);
  }
  std::string diff(const DiffOptions& options = {}) const {
    std::string tar;
    auto report = diff_to(tar, options);
    EXPECT_TRUE(report) << report.error().message();
    return tar;
  }
  // What the reader sees of it.
  std::string listed(const DiffOptions& options = {}) const {
    return listing(diff(options));
  }

  // Applies a layer to a tree.
  static void apply(const std::string& tar, const std::string& root) {
    MemorySource source(bytes_of(tar));
    auto place = open_parent(real_kernel(), root);
    ASSERT_TRUE(place) << place.error().message();
    auto report = apply_layer(source, *place, {});
    ASSERT_TRUE(report) << report.error().message();
  }

  const lamina::test::TempDir& temp() const { return temp_; }

 private:
  std::string at(const char* tree, const std::string& name) const {
    return temp_.path(tree) + (name.empty() ? "" : "/" + name);
  }

  lamina::test::TempDir temp_;
};

}  // namespace lamina::archive::test
