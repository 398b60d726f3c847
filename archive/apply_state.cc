#include "archive/apply_state.h"

#include <sys/sysmacros.h>

#include <cerrno>
#include <utility>

namespace lamina::archive {

namespace {

mode_t kind_of(EntryType type) {
  switch (type) {
    case EntryType::file:
    case EntryType::hard_link:
      return S_IFREG;
    case EntryType::symlink:
      return S_IFLNK;
    case EntryType::char_device:
      return S_IFCHR;
    case EntryType::block_device:
      return S_IFBLK;
    case EntryType::directory:
      return S_IFDIR;
    case EntryType::fifo:
      return S_IFIFO;
  }
  return S_IFREG;
}

bool is_later(const timespec& a, const timespec& b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

}  // namespace

void FirstFailure::note(uint64_t ordinal, Error error) {
  bool ends = is_exhaustion(error.code) && !error.op.starts_with("setxattr");
  if (ends || error.code == ECANCELED) {
    lowest_.end(std::move(error));
  } else {
    lowest_.note(ordinal, std::move(error));
  }
}

std::optional<Error> FirstFailure::get() const {
  auto failure = lowest_.get();
  return failure ? std::optional(std::move(failure->error)) : std::nullopt;
}

ApplyState::ApplyState(const ApplyOptions& asked, Kernel& seam)
    : options(asked),
      kernel(seam) {
  metadata.owner = asked.owner;
  metadata.uid_map = asked.uid_map;
  metadata.gid_map = asked.gid_map;
  metadata.xattrs = asked.xattrs;
  metadata.loss = asked.loss;
  rules.keep = asked.xattrs;
  if (asked.owner == copy::Owner::mapped) {
    rules.uid_map = &metadata.uid_map;
    rules.gid_map = &metadata.gid_map;
  }
  unknown_birth.owner_known = false;
}

Result<copy::Wanted> wanted_of(const copy::MetadataWriter& writer,
                               const TarEntry& entry) {
  struct stat stat {};
  stat.st_uid = entry.uid;
  stat.st_gid = entry.gid;
  stat.st_mode = entry.mode;
  stat.st_mtim = entry.mtime;
  // A missing access time, or one before the modification, would make tools
  // that clean by it think the file unused.
  stat.st_atim = entry.atime && is_later(*entry.atime, entry.mtime)
                     ? *entry.atime
                     : entry.mtime;
  return writer.wanted(stat);
}

Result<void> finish_inode(ApplyState& state, copy::MetadataWriter& writer,
                          const copy::InodeEnd& target, const TarEntry& entry,
                          mode_t born_mode) {
  TRY_ASSIGN(copy::Wanted wanted, wanted_of(writer, entry));
  copy::Tally tally;
  uint64_t dropped = 0;
  copy::XattrCopier::Forgive forgive = [&](const Error& error) {
    if (state.options.loss == copy::Loss::refused) {
      return false;
    }
    copy::Counters::forgive(tally, &copy::Tally::forgiven_xattrs, error);
    return true;
  };
  mode_t kind = kind_of(entry.type);
  EntryAttributes attributes(state.kernel, entry.xattrs, state.rules, kind,
                             forgive, dropped);
  auto written =
      writer.write({target, kind, born_mode}, wanted, attributes, tally);
  state.counters.add(tally);
  state.dropped_xattrs += dropped;
  return written;
}

}  // namespace lamina::archive
