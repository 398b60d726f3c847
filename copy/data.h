// Moves one regular file's bytes: the ladder reflink, copy_file_range,
// read/write, and the only reader of Options::sharing.
//
// A rung does its work, or says "not here" (abilities.h has the table of what
// that means), or fails. Large files are moved in steps, so that a thread can
// turn to others in between. The file descriptors stay the caller's. One thread
// at a time. Errors have no subject; the caller knows the name.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/error.h"
#include "copy/options.h"

namespace lamina {
class Kernel;
}

namespace lamina::copy {

struct Abilities;

// A reusable buffer for read/write, made on first use.
class CopyBuffer {
 public:
  static constexpr size_t kBytes = size_t{256} * 1024;
  char* get();

 private:
  std::unique_ptr<char[]> bytes_;
};

// How a file's bytes were moved.
enum class Moved { nothing, cloned, by_range, by_read_write };

// A source as `stat` shows it, and a new, empty target.
struct FilePair {
  int source = -1;
  int target = -1;
  struct stat stat {};
};

class FileData {
 public:
  // The most a step moves.
  static constexpr size_t kStepBytes = size_t{16} * 1024 * 1024;

  void begin(Kernel& kernel, const FilePair& files, Abilities& abilities,
             Sharing sharing, CopyBuffer& buffer);

  // Moves the next bytes; true when all are moved. Fails with ESTALE when the
  // source shrank, grew or was written to meanwhile: a mixture of two states is
  // not a copy.
  Result<bool> step();

  Moved moved() const { return moved_; }
  uint64_t bytes_written() const { return written_; }

 private:
  enum class Rung { done, more, not_here };

  Result<Rung> clone();
  Result<Rung> range();
  Result<Rung> read_write();
  Result<Rung> read_small();
  Result<void> write(const char* bytes, size_t size, off_t offset);
  Result<Rung> move_segment();
  Result<bool> next_segment();
  Result<void> finish();
  Result<void> check_unchanged();
  bool may_have_holes() const;
  bool flush_first();

  Kernel* kernel_ = nullptr;
  int source_ = -1;
  int target_ = -1;
  struct stat stat_ {};
  Abilities* abilities_ = nullptr;
  Sharing sharing_ = Sharing::automatic;
  CopyBuffer* buffer_ = nullptr;

  Moved moved_ = Moved::nothing;
  uint64_t written_ = 0;
  off_t at_ = 0;           // The next byte to move.
  off_t segment_end_ = 0;  // Of the data segment that at_ lies in.
  bool begun_ = false;     // The clone rung was passed.
  bool exact_ = true;      // stat_.st_size can be believed.
  bool sparse_ = false;    // Segments are to be asked for.
  bool range_failed_ = false;
};

}  // namespace lamina::copy
