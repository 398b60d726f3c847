// The root that layers are applied to, one after the other.
//
// 1. LayerRoot root(kernel); root.open(place);
// 2. for each layer: root.begin_layer(), the layer, root.end_layer()
// 3. root.finish(), or root.undo() when one failed
//
// A root that was absent or empty is taken over like a copy's and can be taken
// back; one that held something is simply opened. One thread.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "copy/destination.h"

namespace lamina::archive {

class LayerRoot {
 public:
  explicit LayerRoot(Kernel& kernel)
      : kernel_(kernel) {}

  // `place` must outlive this.
  Result<void> open(const NamePlace& place);

  const Fd& fd() const { return taken_ ? taken_->root() : fd_; }
  // As the layer found it.
  const struct stat& stat() const { return stat_; }
  // False when it held something before the first layer.
  bool was_empty() const { return taken_.has_value(); }
  // True when lower layers' names may stand in it.
  bool holds_layers() const { return !taken_ || layers_ > 1; }
  const std::string& shown() const { return shown_; }

  Result<void> begin_layer();

  // Whether the layer that ends had an entry for the root itself. Where not,
  // the root keeps the times it had.
  enum class Named { no, yes };
  Result<void> end_layer(Named named);

  // Gives a root that no layer named its own attributes.
  Result<void> finish();

  Result<void> undo(WorkerPool& pool);

 private:
  Kernel& kernel_;
  std::string shown_;
  std::optional<copy::Destination> taken_;
  Fd fd_;
  struct stat stat_ {};
  unsigned layers_ = 0;
  bool named_ = false;
};

}  // namespace lamina::archive
