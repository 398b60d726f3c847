// A file that appears whole or not at all.
//
// It is written under a temporary name beside its place (".NAME.lamina-PID")
// and renamed when it is complete; until then what stood there stays. A device,
// a fifo or a symlink that stands there is written to instead, and a file that
// is reached so is emptied when it is not completed. One thread.
#pragma once

#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"

namespace lamina {
class Kernel;
}

namespace lamina::cli {

class OutputFile {
 public:
  // Opens `path` for writing; a new file gets mode 0644. Errors name it.
  static Result<OutputFile> open(Kernel& kernel, const std::string& path);
  OutputFile(OutputFile&&) = default;
  OutputFile& operator=(OutputFile&&) = delete;
  // Takes back what was not completed.
  ~OutputFile();

  const Fd& fd() const { return fd_; }
  // The directory it stands in.
  const Fd& parent() const { return place_.parent; }

  // Closes the file and gives it its name. Once.
  Result<void> complete();

 private:
  OutputFile(Kernel& kernel, NamePlace place)
      : kernel_(&kernel),
        place_(std::move(place)) {}

  Result<void> open_beside();
  Result<void> open_through();

  Kernel* kernel_;
  NamePlace place_;
  std::string temporary_;  // Empty where the file itself is written to.
  Fd fd_;
};

}  // namespace lamina::cli
