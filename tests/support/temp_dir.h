// A directory that goes away with everything in it at the end of its scope.
//
// Lies under $TMPDIR, else /tmp. Removal copes with what tests leave: trees
// deeper than PATH_MAX, directories without permissions, immutable and
// append-only files, and mounts, which it detaches and does not enter.
#pragma once

#include <string>

#include "tests/support/descriptor.h"

namespace lamina::test {

class TempDir {
 public:
  // Makes it; throws SupportError when it cannot. `parent` "" is the default.
  explicit TempDir(const std::string& parent = "");
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();

  // An absolute path without symlinks; with `name`, that of `name` inside.
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string path(const std::string& name) const {
    return path_ + "/" + name;
  }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  std::string path_;
  Descriptor fd_;
};

// Removes `name` in `parent` and all below it, as TempDir does. Throws
// SupportError for what stays.
void remove_all_at(int parent, const std::string& name);

}  // namespace lamina::test
