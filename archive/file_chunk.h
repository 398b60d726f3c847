// A chunk of regular files whose names stand already: a task that writes their
// bodies and finishes them.
//
// The files were created by the thread that reads the archive, in its order;
// what remains touches only their inodes, so chunks may run in any order.
// Bodies are slices of the decoded stream and are not copied.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "archive/apply_state.h"
#include "archive/slab.h"
#include "archive/tar_entry.h"
#include "base/fd.h"
#include "base/worker_pool.h"

namespace lamina::archive {

// A file that was created and is still empty.
struct NewFile {
  Fd fd;
  TarEntry entry;
  Slice body;  // All of it.
  mode_t born_mode = 0;
  bool inherits = false;  // Its directory gave it a group or an ACL.
  std::shared_ptr<const Fd> dir;
  std::string name;
};

// Takes back a file that cannot be finished, unless its name is another's by
// now. Failures are not reported: the error that led here is.
void drop_file(Kernel& kernel, const NewFile& file);

// Writes `bytes` at `offset`, all of them.
Result<void> write_at(Kernel& kernel, const Fd& fd, Bytes bytes,
                      uint64_t offset);

// Finishes and closes a file whose body is written.
Result<void> finish_file(ApplyState& state, NewFile& file);

class FileChunk final : public Task {
 public:
  explicit FileChunk(ApplyState& state)
      : state_(state) {}

  void add(NewFile file);
  size_t size() const { return files_.size(); }
  uint64_t bytes() const { return bytes_; }
  // In how many slabs its entries lie.
  size_t slabs() const { return slabs_; }

  Turn run(Worker& worker) override;

 private:
  ApplyState& state_;
  std::vector<NewFile> files_;
  uint64_t bytes_ = 0;
  size_t slabs_ = 0;
  const std::byte* last_slab_ = nullptr;
};

}  // namespace lamina::archive
