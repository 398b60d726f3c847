#include "copy/data.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "base/fs_kind.h"
#include "base/kernel.h"
#include "copy/abilities.h"

namespace lamina::copy {

namespace {

// Below this one read and one write are cheaper than a range copy, which sets
// up a splice pipe for each call.
constexpr off_t kSmallFile = CopyBuffer::kBytes / 2;

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

char* CopyBuffer::get() {
  if (!bytes_) {
    bytes_ = std::make_unique_for_overwrite<char[]>(kBytes);
  }
  return bytes_.get();
}

void FileData::begin(Kernel& kernel, const FilePair& files,
                     Abilities& abilities, Sharing sharing,
                     CopyBuffer& buffer) {
  *this = FileData();
  kernel_ = &kernel;
  source_ = files.source;
  target_ = files.target;
  stat_ = files.stat;
  abilities_ = &abilities;
  sharing_ = sharing;
  buffer_ = &buffer;
  exact_ = sizes_are_exact(abilities.source_kind);
}

// A file within one block can only be all data or all hole, and then it has no
// blocks.
bool FileData::may_have_holes() const {
  return stat_.st_blocks == 0 || stat_.st_size > stat_.st_blksize;
}

Result<bool> FileData::step() {
  if (!begun_) {
    begun_ = true;
    if (exact_ && stat_.st_size == 0) {
      return true;
    }
    TRY_ASSIGN(Rung cloned, clone());
    if (cloned == Rung::done) {
      return true;
    }
    if (exact_ && stat_.st_size <= kSmallFile && !may_have_holes()) {
      TRY_ASSIGN(Rung read, read_small());
      return read == Rung::done;
    }
    if (exact_ && may_have_holes()) {
      off_t hole = kernel_->lseek(source_, 0, SEEK_HOLE);
      // lseek(2): EINVAL where holes are unknown, ENXIO where nothing is left.
      if (hole < 0 && errno != EINVAL && errno != ENXIO) {
        return fail(last_error("lseek(SEEK_HOLE)", ""));
      }
      sparse_ = hole >= 0 && hole < stat_.st_size;
    }
    // The size first: xfs allocates ahead of a file that grows by writing, and
    // those blocks would stand where the source has a hole.
    if (sparse_ && kernel_->ftruncate(target_, stat_.st_size) != 0) {
      return fail(last_error("ftruncate", ""));
    }
    segment_end_ = sparse_  ? 0
                   : exact_ ? stat_.st_size
                            : std::numeric_limits<off_t>::max();
  }
  off_t stop = at_ + static_cast<off_t>(kStepBytes);
  while (at_ < stop) {
    if (at_ >= segment_end_) {
      TRY_ASSIGN(bool more, next_segment());
      if (!more) {
        TRY(finish());
        return true;
      }
    }
    TRY_ASSIGN(Rung rung, move_segment());
    if (rung == Rung::done) {  // The source ends here, whatever was said.
      TRY(finish());
      if (exact_) {
        return fail(make_error(ESTALE, "read", "",
                               "the source ends before its size says"));
      }
      return true;
    }
  }
  return false;
}

// Moves to the next data segment; false when the rest is hole, or the end.
Result<bool> FileData::next_segment() {
  if (!sparse_) {
    return false;
  }
  off_t data = kernel_->lseek(source_, at_, SEEK_DATA);
  if (data < 0 && errno == ENXIO) {
    return false;
  }
  off_t hole = data < 0 ? -1 : kernel_->lseek(source_, data, SEEK_HOLE);
  if (hole < 0) {
    return fail(last_error("lseek(SEEK_DATA)", ""));
  }
  at_ = data;
  segment_end_ = std::min(hole, stat_.st_size);
  return at_ < segment_end_;
}

Result<FileData::Rung> FileData::move_segment() {
  if (!range_failed_ && exact_ && !abilities_->no_range.load()) {
    TRY_ASSIGN(Rung rung, range());
    if (rung != Rung::not_here) {
      return rung;
    }
    range_failed_ = true;
  }
  return read_write();
}

Result<void> FileData::finish() {
  return exact_ ? check_unchanged() : Result<void>();
}

// The bytes were moved in several calls: they belong together only if nobody
// wrote meanwhile.
Result<void> FileData::check_unchanged() {
  struct stat now {};
  if (kernel_->fstat(source_, &now) != 0) {
    return fail(last_error("fstat", ""));
  }
  if (now.st_size != stat_.st_size) {
    return fail(make_error(ESTALE, "copy", "",
                           now.st_size < stat_.st_size
                               ? "the source shrank while it was copied"
                               : "the source grew while it was copied"));
  }
  if (!same_time(now.st_mtim, stat_.st_mtim)) {
    return fail(make_error(ESTALE, "copy", "",
                           "the source was written to while it was copied"));
  }
  return {};
}

}  // namespace lamina::copy
