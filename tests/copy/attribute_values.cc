#include "tests/copy/attribute_values.h"

#include <linux/capability.h>
#include <sys/xattr.h>

#include <array>

#include "tests/support/descriptor.h"
#include "tests/support/tree_text.h"

namespace lamina::test {
namespace {

void append(std::string& out, std::uint32_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    out += static_cast<char>(value >> (8 * i));
}

std::string capability_of(std::uint32_t revision) {
  std::string out;
  append(out, revision | VFS_CAP_FLAGS_EFFECTIVE, 4);
  append(out, 1U << CAP_NET_RAW, 4);
  append(out, 0, 4);
  append(out, 0, 4);
  append(out, 0, 4);
  return out;
}

}  // namespace

std::string acl(const std::vector<AclEntry>& entries) {
  constexpr std::uint32_t kVersion = 2;
  std::string out;
  append(out, kVersion, 4);
  for (const AclEntry& entry : entries) {
    append(out, entry.tag, 2);
    append(out, entry.permissions, 2);
    append(out, entry.id, 4);
  }
  return out;
}

std::string acl_for_user(std::uint32_t user) {
  return acl({{AclEntry::owner, 7},
              {AclEntry::user, 7, user},
              {AclEntry::owning_group, 5},
              {AclEntry::mask, 7},
              {AclEntry::other, 0}});
}

std::string acl_for_group(std::uint32_t group) {
  return acl({{AclEntry::owner, 7},
              {AclEntry::owning_group, 5},
              {AclEntry::group, 7, group},
              {AclEntry::mask, 7},
              {AclEntry::other, 0}});
}

std::string capability() {
  return capability_of(VFS_CAP_REVISION_2);
}

std::string capability(std::uint32_t root) {
  std::string out = capability_of(VFS_CAP_REVISION_3);
  append(out, root, 4);
  return out;
}

std::string xattr_field(std::string_view name, std::string_view value) {
  return " xattr:" + escape(name) + "=" + escape(value) + " ";
}

std::string xattr_of(const std::string& path, const std::string& name) {
  std::array<char, 65536> value;
  const ssize_t n =
      ::lgetxattr(path.c_str(), name.c_str(), value.data(), value.size());
  return n < 0 ? "(none)" : std::string(value.data(), static_cast<size_t>(n));
}

void set_xattr(const std::string& path, const std::string& name,
               std::string_view value) {
  if (::lsetxattr(path.c_str(), name.c_str(), value.data(), value.size(), 0) !=
      0) {
    throw_errno("lsetxattr(" + name + ")", path);
  }
}

}  // namespace lamina::test
