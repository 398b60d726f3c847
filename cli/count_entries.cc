#include "cli/count_entries.h"

#include <dirent.h>
#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "base/kernel.h"
#include "base/worker_pool.h"
#include "copy/walk.h"

namespace lamina::cli {

namespace {

using copy::Dir;
using copy::Entry;
using copy::OpenDirs;
using copy::Side;
using copy::Visit;

constexpr int kFlags =
    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;

Fd open_quietly(Kernel& kernel, int parent, const char* name) {
  Fd fd(kernel.openat(parent, name, kFlags | O_NOATIME, 0));
  if (!fd.valid() && errno == EPERM) {
    fd.reset(kernel.openat(parent, name, kFlags, 0));
  }
  return fd;
}

struct Count {
  dev_t device = 0;
  copy::Crossing crossing = copy::Crossing::allowed;
  uint64_t entries = 0;  // One thread.
};

class CountVisitor final : public copy::Visitor {
 public:
  explicit CountVisitor(Count& count)
      : count_(count) {}

  std::unique_ptr<Visitor> fork() override {
    return std::make_unique<CountVisitor>(count_);
  }
  void begin_turn(const Worker& /*worker*/) override {}
  void end_turn() override {}

  // What cannot be entered is counted and left: the copy will say why.
  Result<bool> enter(Dir& dir, int parent, int /*target*/,
                     OpenDirs& open) override {
    ++count_.entries;
    Kernel& kernel = real_kernel();
    Fd fd = open_quietly(kernel, parent, dir.name().c_str());
    if (!fd.valid() || kernel.fstat(fd.get(), &dir.stat) != 0) {
      return false;
    }
    if (count_.crossing == copy::Crossing::forbidden &&
        dir.stat.st_dev != count_.device) {
      return false;
    }
    open.put(dir, Side::source, std::move(fd));
    return true;
  }

  Result<Visit> visit(const Entry& entry) override {
    if (entry.listed.type == DT_UNKNOWN) {
      return Visit::enter;  // And there it is found to be what it is.
    }
    ++count_.entries;
    return Visit::done;
  }
  Result<Visit> resume(const Entry& /*entry*/) override { return Visit::done; }
  Result<void> leave(Dir& /*dir*/, OpenDirs& /*open*/) override { return {}; }

 private:
  Count& count_;
};

}  // namespace

Result<uint64_t> count_entries(const Fd& root, copy::Crossing crossing,
                               std::stop_token stop) {
  Kernel& kernel = real_kernel();
  auto dir = std::make_shared<Dir>(nullptr, "");
  Fd own = open_quietly(kernel, root.get(), ".");
  if (!own.valid() || kernel.fstat(own.get(), &dir->stat) != 0) {
    return fail(last_error("openat", ""));
  }
  // A pool of its own, of no threads: the copy has the other one to itself.
  WorkerPool pool(kernel);
  Count count{dir->stat.st_dev, crossing, 0};
  copy::Walk walk({kernel, pool, copy::Trees::source_only, dir->stat.st_dev, 1,
                   std::move(stop)});
  walk.open().put(*dir, Side::source, std::move(own));
  TRY(walk.run(dir, std::make_unique<CountVisitor>(count)));
  return count.entries;
}

}  // namespace lamina::cli
