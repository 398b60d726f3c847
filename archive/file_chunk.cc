#include "archive/file_chunk.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/kernel.h"
#include "copy/write_all.h"

namespace lamina::archive {

Result<void> write_at(Kernel& kernel, const Fd& fd, Bytes bytes,
                      uint64_t offset) {
  return copy::write_all(kernel, fd.get(), bytes, static_cast<off_t>(offset));
}

Result<void> finish_file(ApplyState& state, NewFile& file) {
  mode_t born_mode = file.born_mode;
  if (file.inherits) {
    // A default ACL of a lower layer's directory is not this file's.
    TRY(shed_acl(state.kernel, {file.fd.get(), nullptr}));
    born_mode = ~mode_t{0};  // Not known: it is set.
  }
  copy::MetadataWriter writer(
      state.kernel, state.metadata,
      file.inherits ? state.unknown_birth : state.birth);
  TRY(finish_inode(state, writer, {file.fd.get(), nullptr}, file.entry,
                   born_mode));
  return file.fd.close(state.kernel, "");
}

void drop_file(Kernel& kernel, const NewFile& file) {
  struct stat made {};
  struct stat named {};
  if (!file.fd.valid() || kernel.fstat(file.fd.get(), &made) != 0 ||
      kernel.fstatat(file.dir->get(), file.name.c_str(), &named,
                     AT_SYMLINK_NOFOLLOW) != 0 ||
      made.st_ino != named.st_ino || made.st_dev != named.st_dev) {
    return;
  }
  [[maybe_unused]] int ignored =
      kernel.unlinkat(file.dir->get(), file.name.c_str(), 0);
}

void FileChunk::add(NewFile file) {
  if (const std::byte* slab = file.entry.slab.memory().data();
      slab != last_slab_) {
    last_slab_ = slab;
    ++slabs_;
  }
  bytes_ += file.body.bytes.size();
  files_.push_back(std::move(file));
}

Task::Turn FileChunk::run(Worker& /*worker*/) {
  for (NewFile& file : files_) {
    uint64_t ordinal = file.entry.ordinal;
    if (!state_.failure.wants(ordinal)) {
      drop_file(state_.kernel, file);
      continue;
    }
    auto done = write_at(state_.kernel, file.fd, file.body.bytes, 0);
    if (done) {
      done = finish_file(state_, file);
    }
    if (!done) {
      if (done.error().subject.empty()) {
        done.error().subject = std::string(file.entry.path);
      }
      state_.failure.note(ordinal, std::move(done.error()));
      drop_file(state_.kernel, file);
    }
    // Gives the slab back before the next file is begun.
    file = NewFile();
  }
  return Turn::done;
}

}  // namespace lamina::archive
