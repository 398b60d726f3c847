// Compares what a walk over source and copy meets. The walk lists the source;
// every name is looked up in the copy, and names that only the copy has are
// found when a directory is entered.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "copy/abilities.h"
#include "copy/compare.h"
#include "copy/compare_file.h"
#include "copy/differences.h"
#include "copy/walk.h"
#include "copy/xattrs.h"

namespace lamina::copy {

// What the visitors of one comparison share.
struct CompareState {
  const Options& options;
  Kernel& kernel;
  const Links links;
  dev_t source_device = 0;  // Of the source's root.
  // Guard themselves.
  std::atomic<uint64_t> entries{0};
  Differences differences;
  Counterparts counterparts;
  AbilityTable file_systems;  // Only for their kinds.
};

class CompareVisitor final : public Visitor {
 public:
  explicit CompareVisitor(CompareState& state)
      : state_(state),
        kernel_(state.kernel) {}

  std::unique_ptr<Visitor> fork() override {
    return std::make_unique<CompareVisitor>(state_);
  }
  void begin_turn(const Worker& /*worker*/) override {}
  void end_turn() override;
  Result<bool> enter(Dir& dir, int parent_source, int parent_copy,
                     OpenDirs& open) override;
  Result<Visit> visit(const Entry& entry) override;
  Result<Visit> resume(const Entry& entry) override;
  Result<void> leave(Dir& /*dir*/, OpenDirs& /*open*/) override { return {}; }

  // Compares two open directories but not what is below them; hands them to
  // `open`. False: they are not to be entered.
  Result<bool> compare_directories(Dir& dir, Fd source, Fd copy,
                                   OpenDirs& open);

 private:
  struct Names {
    uint64_t count = 0;
    uint64_t hash = 0;  // Of their set.
    friend bool operator==(const Names&, const Names&) = default;
  };

  // Each notes what differs.
  bool compare_inodes(const std::string& path, const struct stat& source,
                      const struct stat& copy);
  // True when the inode was compared under another name.
  bool compare_names(const std::string& path, const struct stat& source,
                     const struct stat& copy);
  Result<void> compare_attributes(const std::string& path,
                                  const XattrEnd& source, const XattrEnd& copy);
  Result<void> compare_targets(const Entry& entry, const std::string& path);
  Result<Visit> compare_regular(const Entry& entry, const std::string& path,
                                const struct stat& source,
                                const struct stat& copy);
  Result<void> note_extra_names(const Dir& dir, const Fd& copy, int source);
  void note_missing(const std::string& path, mode_t kind);

  Result<std::optional<struct stat>> stat_copy(const Entry& entry);
  Result<Names> names_in(int dir);
  Result<FsKind> kind_of(dev_t device, int fd);

  CompareState& state_;
  Kernel& kernel_;
  uint64_t entries_ = 0;
  Fd source_file_;
  Fd copy_file_;
  FileComparison file_;
};

}  // namespace lamina::copy
