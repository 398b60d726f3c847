#include "tests/copy/mount_at.h"

#include <sys/mount.h>

#include <utility>

#include "tests/support/descriptor.h"

namespace lamina::test {

MountAt MountAt::bind(const std::string& source, const std::string& target) {
  return {source, target, MS_BIND};
}

MountAt::MountAt(const std::string& source, std::string target,
                 unsigned long flags)
    : target_(std::move(target)) {
  if (::mount(source.c_str(), target_.c_str(), "tmpfs", flags, nullptr) != 0)
    throw_errno("mount", target_);
}

MountAt::MountAt(MountAt&& other) noexcept
    : target_(std::exchange(other.target_, "")) {}

MountAt::~MountAt() {
  if (!target_.empty())
    ::umount2(target_.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
}

}  // namespace lamina::test
