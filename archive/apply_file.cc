// Regular files: named here, filled by the pool or as their bytes arrive.
#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "archive/applier.h"
#include "base/kernel.h"

namespace lamina::archive {

namespace {

constexpr int kCreateFlags =
    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
// What a chunk holds at most, so that its slabs come back soon.
constexpr uint64_t kChunkBytes = 512 * 1024;
// Chunks that may wait for a worker; more would hold too many slabs.
constexpr size_t kWaitingChunks = 6;
// Files far apart in the archive: their headers alone hold slabs, and a chunk
// that is not handed on never gives them back.
constexpr size_t kChunkSlabs = 2;

}  // namespace

Result<void> Applier::make_file(TarEntry entry, TarReader& reader) {
  if (entry.path == ".") {
    return fail(make_error(EINVAL, "apply", entry.path,
                           "the root can only be a directory"));
  }
  TRY_ASSIGN(Place at, place(entry));
  // Before the name is made: a body that is not there makes no file.
  TRY_ASSIGN(std::optional<BodyPiece> piece, reader.next_body());
  uint64_t size = entry.size;
  bool whole = piece ? entry.stored == size && piece->slice.bytes.size() == size
                     : size == 0;
  TRY_ASSIGN(NewFile file, create_file(std::move(entry), at));
  ++report_.files;
  report_.bytes += size;
  if (whole) {
    if (piece) {
      file.body = std::move(piece->slice);
    }
    collect(std::move(file));
    return {};
  }
  auto streamed = stream_body(file, std::move(piece), reader);
  if (!streamed) {
    drop_file(kernel_, file);
  }
  return streamed;
}

Result<NewFile> Applier::create_file(TarEntry entry, const Place& place) {
  copy::MetadataWriter& metadata = writer(place.parent);
  TRY_ASSIGN(copy::Wanted wanted, wanted_of(metadata, entry));
  mode_t mode = metadata.birth_mode(wanted, 0);
  NewFile file;
  TRY(make(place, "openat", [&] {
    file.fd.reset(kernel_.openat(place.dir->get(), place.name.c_str(),
                                 kCreateFlags, mode));
    return file.fd.valid() ? 0 : -1;
  }));
  file.entry = std::move(entry);
  file.born_mode = mode & ~state_.umask;
  file.inherits = dirs_[place.parent].inherits;
  file.dir = place.dir;
  file.name = place.name;
  return file;
}

void Applier::collect(NewFile file) {
  if (!chunk_) {
    chunk_ = std::make_unique<FileChunk>(state_);
  }
  chunk_->add(std::move(file));
  if (chunk_->slabs() >= kChunkSlabs ||
      chunk_->size() >= state_.options.chunk_entries ||
      chunk_->bytes() >= kChunkBytes) {
    flush();
  }
}

void Applier::flush() {
  if (chunk_) {
    group_.submit(std::move(chunk_));
  }
  // Ahead of the workers, or without any: work here.
  while (group_.waiting() >= kWaitingChunks && group_.help()) {
  }
}

// A large or sparse file, written by this thread as it comes.
Result<void> Applier::stream_body(NewFile& file, std::optional<BodyPiece> piece,
                                  TarReader& reader) {
  flush();
  uint64_t end = 0;
  while (piece) {
    TRY(write_at(kernel_, file.fd, piece->slice.bytes, piece->offset));
    end = piece->offset + piece->slice.bytes.size();
    piece.reset();
    if (state_.options.stop.stop_requested()) {
      return fail(make_error(ECANCELED, "apply", "", "stopped"));
    }
    TRY_ASSIGN(piece, reader.next_body());
  }
  if (end < file.entry.size &&
      kernel_.ftruncate(file.fd.get(), static_cast<off_t>(file.entry.size)) !=
          0) {
    return fail(last_error("ftruncate", ""));
  }
  return finish_file(state_, file);
}

}  // namespace lamina::archive
