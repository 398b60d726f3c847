// Carries out a layer's entries, one after the other, in the archive's order.
//
// All that changes names happens here, on one thread: parents found or made,
// what stands in the way removed, files created, links made, whiteouts obeyed.
// Bodies of small files go to the pool in chunks; a large file's are written
// here as they arrive, since one file takes one writer. Because a file's name
// stands before its body is written, later entries may link to it, replace it
// or hide it without waiting.
#pragma once

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "archive/apply_state.h"
#include "archive/directories.h"
#include "archive/file_chunk.h"
#include "archive/lower_stack.h"
#include "archive/tar_reader.h"
#include "archive/written_names.h"
#include "base/worker_pool.h"

namespace lamina::archive {

class Applier {
 public:
  // Whether lower layers' names may stand in the root.
  enum class Lower { none, present };

  Applier(ApplyState& state, const Fd& root, const struct stat& stat,
          Lower lower, TaskGroup& group);

  // Carries out one entry; its body is read from `reader`.
  Result<void> apply(TarEntry entry, TarReader& reader);

  // Hands what is still collected to the pool.
  void flush();

  // Puts on the directories what the layer says of them, when all else is done.
  Result<void> finish_directories();

  // True when the layer has an entry for the root.
  bool root_named() const;

  ApplyReport& report() { return report_; }

 private:
  // Where an entry goes.
  struct Place {
    NodeId parent = Directories::kRoot;
    std::string name;  // Empty for the root.
    SharedFd dir;
  };

  // applier.cc
  Result<bool> strip(TarEntry& entry);
  Result<void> dispatch(const TarEntry& entry, TarReader& reader);
  Result<Place> place(const TarEntry& entry);
  Result<void> check_name(std::string_view path) const;
  Result<void> make_way(const Place& place);
  // Makes a name by `make`, called `op` in errors; what stands there goes
  // first.
  template <typename Make>
  Result<void> make(const Place& place, const char* op, Make make) {
    if (make() != 0) {
      if (errno != EEXIST) {
        return fail(last_error(op, ""));
      }
      TRY(make_way(place));
      if (make() != 0) {
        return fail(last_error(op, ""));
      }
    }
    note_written(place);
    return {};
  }
  Result<void> make_symlink(const TarEntry& entry, const Place& place);
  Result<void> make_special(const TarEntry& entry, const Place& place);
  Result<void> make_hard_link(const TarEntry& entry, const Place& place);
  Result<std::optional<Place>> link_target(const TarEntry& entry);
  void note_written(const Place& place);
  copy::MetadataWriter& writer(NodeId parent);

  // apply_directory.cc
  Result<void> make_directory(const TarEntry& entry);
  Result<NodeId> directory_node(const TarEntry& entry, const Place& place,
                                const copy::Wanted& wanted);
  void remember(NodeId id, const TarEntry& entry, const copy::Wanted& wanted);
  Result<void> finish_directory(NodeId id);
  Result<void> finish_by_name(NodeId id);
  Result<void> finish_named(NodeId id, const SharedFd& fd);
  Result<void> shed_xattrs(NodeId id, const SharedFd& fd);

  // apply_file.cc
  Result<void> make_file(TarEntry entry, TarReader& reader);
  Result<NewFile> create_file(TarEntry entry, const Place& place);
  Result<void> stream_body(NewFile& file, std::optional<BodyPiece> piece,
                           TarReader& reader);
  void collect(NewFile file);

  // apply_copy_up.cc
  Result<std::optional<Place>> copy_up(std::string_view path,
                                       const timespec times[2]);
  Result<void> copy_up_inode(const LowerStack::Found& from, const Place& place);
  Result<Fd> open_lower(const LowerStack::Found& from);
  Result<void> copy_up_bytes(const Fd& from, const Fd& to,
                             const struct stat& stat);
  Result<void> copy_up_node(const LowerStack::Found& from, const Place& place);
  Result<void> take_lower_attributes(NodeId id);
  Result<std::optional<Directories::LinkBelow>> lower_link(
      NodeId parent, std::string_view name);

  // apply_whiteouts.cc
  enum class Mark { none, whiteout, opaque, aufs };
  Result<Mark> mark_of(std::string_view name) const;
  Result<void> apply_whiteout(const TarEntry& entry, Mark mark);
  Result<void> hide_name(NodeId parent, std::string_view name);
  Result<void> hide_children(NodeId id);
  Result<void> remove_name(NodeId parent, std::string_view name);
  Result<void> mark_name(NodeId parent, std::string_view name,
                         const TarEntry& entry);
  Result<bool> is_mark(int dir, std::string_view name);
  bool is_written(NodeId parent, std::string_view name) const;

  ApplyState& state_;
  Kernel& kernel_;
  TaskGroup& group_;
  const Lower lower_;
  const bool tracking_;  // Names written are remembered.
  const LowerStack lower_stack_;
  Directories dirs_;
  WrittenNames written_;
  // Attributes that directories get at the end.
  struct OwnXattr {
    std::string name;
    std::string value;
  };
  std::unordered_map<NodeId, std::vector<OwnXattr>> dir_xattrs_;
  copy::MetadataWriter writer_;
  copy::MetadataWriter unknown_writer_;
  std::unique_ptr<FileChunk> chunk_;
  ApplyReport report_;
};

}  // namespace lamina::archive
