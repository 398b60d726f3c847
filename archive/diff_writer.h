// Turns changes into the entries of a layer tarball; diff.h says which.
// One thread at a time.
#pragma once

#include <string>

#include "archive/changes.h"
#include "archive/diff.h"
#include "archive/file_body.h"
#include "archive/tar_writer.h"
#include "base/error.h"
#include "copy/read_xattrs.h"

namespace lamina::archive {

class DiffWriter final : public ChangeSink {
 public:
  // All must outlive this.
  DiffWriter(Kernel& kernel, const DiffOptions& options, TarWriter& tar,
             DiffReport& report);

  Result<void> take(const Change& change) override;

 private:
  Result<void> write_whiteout(const Change& change);
  Result<void> write_link(const Change& change);
  Result<void> write_file(const Change& change, TarEntry& entry);
  Result<void> write_symlink(const Change& change, TarEntry& entry);
  Result<void> write_plain(const Change& change, TarEntry& entry);
  Result<void> add_xattrs(const copy::XattrEnd& end, TarEntry& entry);
  Result<void> add(const TarEntry& entry);

  Kernel& kernel_;
  const DiffOptions& options_;
  TarWriter& tar_;
  DiffReport& report_;
  FileBody body_;
  copy::XattrValues xattrs_;  // What an entry's slices are of.
};

}  // namespace lamina::archive
