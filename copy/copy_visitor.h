// Copies what a walk meets: one function per kind of inode, all of the same
// signature, each doing only what differs.
#pragma once

#include <optional>

#include "copy/copy_state.h"
#include "copy/data.h"
#include "copy/walk.h"

namespace lamina::copy {

// The operation of a device that could not be made, which may be forgiven.
inline constexpr std::string_view kMakeNode = "mknodat";

class CopyVisitor final : public Visitor {
 public:
  explicit CopyVisitor(CopyState& state);

  std::unique_ptr<Visitor> fork() override;
  void begin_turn(const Worker& worker) override;
  void end_turn() override;
  Result<bool> enter(Dir& dir, int parent_source, int parent_target,
                     OpenDirs& open) override;
  Result<Visit> visit(const Entry& entry) override;
  Result<Visit> resume(const Entry& entry) override;
  Result<void> leave(Dir& dir, OpenDirs& open) override;

  // The walk's own OpenDirs, for places of hard links. Must be called before
  // the walk runs.
  void set_open_dirs(OpenDirs& open) { open_ = &open; }

 private:
  // A regular file that is being copied.
  struct OpenFile {
    Fd source;
    Fd target;
    struct stat stat {};
    Wanted wanted;
    mode_t born_mode = 0;
    Abilities* abilities = nullptr;
    bool created = false;  // Its name stands in the target.
    // Set while further names wait for this one to be made.
    std::optional<InodeKey> claimed;
    // Set while further names may link to this one, though it may yet fail.
    std::optional<InodeKey> published;
    FileData data;
  };

  using Place = LinkTracker::Place;

  // copy_visitor.cc
  Result<Fd> open_source(int dir, const char* name, int flags);
  Result<struct stat> stat_of(const Entry& entry);
  Result<void> note_newcomer(const Entry& entry, const struct stat& stat);
  mode_t born(mode_t asked) const;
  Result<void> finish(const InodeEnd& source, const NewInode& target,
                      const Wanted& wanted, Abilities& abilities);
  void count(uint64_t Tally::*what) { ++(tally_.*what); }

  // directory.cc
  Result<void> make_directory(Dir& dir, int parent_target, OpenDirs& open);

  // links.cc
  bool listing_tells(const Entry& entry) const;
  Result<Visit> link_further(const Entry& entry, InodeKey key, Place place,
                             const struct stat* stat);
  Result<int> try_link(const Entry& entry, const Place& place);
  Result<bool> may_share_inode(const Entry& entry, const struct stat* stat);
  Result<std::optional<Visit>> link_to_source(const Entry& entry);
  Result<void> publish(const Entry& entry, InodeKey key);

  Result<Visit> visit_regular(const Entry& entry, const struct stat* stat);

  // regular.cc
  Result<Visit> copy_regular(const Entry& entry, const struct stat* stat);
  Result<Visit> begin_regular(const Entry& entry, const struct stat* stat);
  Result<void> open_regular(const Entry& entry, const struct stat* stat);
  Result<void> create_regular(const Entry& entry);
  Result<Visit> move_regular();
  Result<void> finish_regular();
  void count_regular();
  void drop_regular(const Entry& entry);

  // symlink.cc, special.cc
  Result<void> copy_symlink(const Entry& entry, const struct stat& stat);
  Result<void> copy_special(const Entry& entry, const struct stat& stat);
  // Either of them, as the first name of an inode or as its only one. `claimed`
  // is set when further names wait for this one.
  Result<Visit> copy_other(const Entry& entry, const struct stat& stat);
  Result<Visit> make_other(const Entry& entry, const struct stat& stat,
                           std::optional<InodeKey> claimed);

  CopyState& state_;
  Kernel& kernel_;
  OpenDirs* open_ = nullptr;
  MetadataWriter metadata_;
  CopyBuffer buffer_;
  Tally tally_;
  uint64_t entries_ = 0;
  mode_t umask_ = 0;
  LabelScope label_;
  std::optional<Error> turn_error_;
  OpenFile file_;
};

}  // namespace lamina::copy
