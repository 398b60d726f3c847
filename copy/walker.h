// One depth-first path through part of a walk: the task the pool runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "copy/walk.h"

namespace lamina::copy {

class Walker final : public Task {
 public:
  Walker(Walk& walk, std::unique_ptr<Visitor> visitor);

  // Starts with a directory that is already entered.
  void start_at(std::shared_ptr<Dir> dir);
  // Starts with a name in `parent` that is still to be entered. The caller has
  // counted it in the parent.
  void start_below(std::shared_ptr<Dir> parent, std::string name);
  // Starts with some entries of `dir`, as Listing::take() gave them. The caller
  // has counted them in the directory.
  void start_with(std::shared_ptr<Dir> dir, std::string_view entries);

  Turn run(Worker& worker) override;

 private:
  struct Frame {
    std::shared_ptr<Dir> dir;
    bool more = false;                // The listing may have more to read.
    int64_t cookie = 0;               // Where it goes on, if opened anew.
    std::weak_ptr<const Fd> scanned;  // The descriptor read so far.
    std::vector<std::string> below;   // Subdirectories listed, not entered.
  };

  Turn turn();
  bool activate(Frame& frame);
  void deactivate();
  bool step(Frame& frame);
  void visit(Frame& frame);
  bool fill(Frame& frame);
  void enter(const std::shared_ptr<Dir>& parent, std::string_view name);
  void settle(Frame& frame, const Entry& entry, Result<Visit> visit);
  void complete(std::shared_ptr<Dir> dir);
  void split();
  bool split_subdirectory();
  void split_entries();

  Walk& walk_;
  std::unique_ptr<Visitor> visitor_;
  std::vector<Frame> frames_;
  // Of the top frame; used up before another frame is pushed.
  Listing listing_;
  DirEntry entry_;
  bool resuming_ = false;
  SharedFd source_;
  SharedFd target_;
  // Set between start_below() and the first turn.
  std::shared_ptr<Dir> first_parent_;
  std::string first_name_;
};

}  // namespace lamina::copy
