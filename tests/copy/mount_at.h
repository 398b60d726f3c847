// Mounts at a place of the test's choosing, for a scope. In the private
// namespace that the test process has (tests/support/mounts.h); whoever uses
// one asks why_not(FileSystem::tmpfs) first.
#pragma once

#include <string>

namespace lamina::test {

class MountAt {
 public:
  // An empty tmpfs on the directory `target`.
  static MountAt memory(const std::string& target) {
    return MountAt("tmpfs", target, 0);
  }
  // `source`, a file or a directory, on `target`.
  static MountAt bind(const std::string& source, const std::string& target);

  MountAt(MountAt&& other) noexcept;
  MountAt& operator=(MountAt&&) = delete;
  MountAt(const MountAt&) = delete;
  MountAt& operator=(const MountAt&) = delete;
  // Detached rather than unmounted: nothing of it is used any more.
  ~MountAt();

 private:
  MountAt(const std::string& source, std::string target, unsigned long flags);

  std::string target_;
};

}  // namespace lamina::test
