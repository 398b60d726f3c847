#include "archive/diff.h"

#include "archive/diff_writer.h"
#include "base/kernel.h"

namespace lamina::archive {

Result<DiffReport> write_diff(const Fd& lower, const Fd& upper,
                              const TarWriter::Sink& sink,
                              const DiffOptions& options) {
  Kernel& kernel = options.changes.kernel != nullptr ? *options.changes.kernel
                                                     : real_kernel();
  DiffReport report;
  Sha256 hash;
  TarWriter tar([&](Bytes bytes) -> Result<void> {
    if (options.hash == DiffOptions::Hash::yes) {
      hash.add(bytes);
    }
    TRY(sink(bytes));
    if (options.bytes_out != nullptr) {
      *options.bytes_out += bytes.size();
    }
    return {};
  });
  DiffWriter writer(kernel, options, tar, report);
  Result<void> done =
      find_changes(lower, upper, writer, options.changes, Deletions::first);
  if (!done) {
    tar.spoil();
    return fail(std::move(done.error()));
  }
  TRY(tar.finish());
  report.bytes_out = tar.written();
  if (options.hash == DiffOptions::Hash::yes) {
    TRY_ASSIGN(report.diff_id, hash.finish());
  }
  return report;
}

}  // namespace lamina::archive
