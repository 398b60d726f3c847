#include "cli/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/kernel.h"

namespace lamina::cli {

namespace {

constexpr mode_t kMode = 0644;
constexpr size_t kMostName = 255;

}  // namespace

Result<OutputFile> OutputFile::open(Kernel& kernel, const std::string& path) {
  TRY_ASSIGN(NamePlace place, open_parent(kernel, path));
  if (path.ends_with('/')) {
    return fail(make_error(EISDIR, "open", path));
  }
  OutputFile out(kernel, std::move(place));
  struct stat stat {};
  int found = kernel.fstatat(out.parent().get(), out.place_.name.c_str(), &stat,
                             AT_SYMLINK_NOFOLLOW);
  if (found != 0 && errno != ENOENT) {
    return fail(last_error("open", path));
  }
  bool beside = found != 0 || S_ISREG(stat.st_mode);
  if (auto opened = beside ? out.open_beside() : out.open_through(); !opened) {
    return fail(std::move(opened.error()));
  }
  return out;
}

Result<void> OutputFile::open_beside() {
  std::string name = "." + place_.name;
  const std::string end = ".lamina-" + std::to_string(::getpid());
  name.resize(std::min(name.size(), kMostName - end.size()));
  name += end;
  fd_.reset(kernel_->openat(
      place_.parent.get(), name.c_str(),
      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, kMode));
  if (!fd_.valid()) {
    return fail(last_error("open", place_.shown));
  }
  temporary_ = std::move(name);
  return {};
}

Result<void> OutputFile::open_through() {
  fd_.reset(kernel_->openat(place_.parent.get(), place_.name.c_str(),
                            O_WRONLY | O_CLOEXEC | O_NOCTTY | O_TRUNC, 0));
  if (!fd_.valid()) {
    return fail(last_error("open", place_.shown));
  }
  return {};
}

Result<void> OutputFile::complete() {
  if (auto closed = fd_.close(*kernel_, place_.shown); !closed) {
    return closed;
  }
  if (!temporary_.empty() &&
      kernel_->renameat2(place_.parent.get(), temporary_.c_str(),
                         place_.parent.get(), place_.name.c_str(), 0) != 0) {
    return fail(last_error("rename", place_.shown));
  }
  temporary_.clear();
  return {};
}

OutputFile::~OutputFile() {
  // What failed before this is what is told.
  if (!temporary_.empty()) {
    [[maybe_unused]] int ignored =
        kernel_->unlinkat(place_.parent.get(), temporary_.c_str(), 0);
  } else if (fd_.valid()) {
    [[maybe_unused]] int ignored = kernel_->ftruncate(fd_.get(), 0);
  }
}

}  // namespace lamina::cli
