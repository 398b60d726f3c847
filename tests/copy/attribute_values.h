// Values of attributes that the kernel reads: access control lists and file
// capabilities, as acl(5), capabilities(7) and linux/posix_acl_xattr.h lay them
// out. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::test {

struct AclEntry {
  enum Tag : std::uint16_t {
    owner = 0x01,
    user = 0x02,
    owning_group = 0x04,
    group = 0x08,
    mask = 0x10,
    other = 0x20,
  };
  static constexpr std::uint32_t kNoId = 0xffffffff;

  Tag tag = owner;
  std::uint16_t permissions = 0;
  std::uint32_t id = kNoId;
};

inline constexpr char kAccessAcl[] = "system.posix_acl_access";
inline constexpr char kDefaultAcl[] = "system.posix_acl_default";
inline constexpr char kCapability[] = "security.capability";

// The value of system.posix_acl_*.
std::string acl(const std::vector<AclEntry>& entries);

// rwx for the owner and for `user`, r-x for the group, nothing for others.
std::string acl_for_user(std::uint32_t user);
// The same for a group.
std::string acl_for_group(std::uint32_t group);

// CAP_NET_RAW, version 2; with a root id version 3.
std::string capability();
std::string capability(std::uint32_t root);

// One field of a line of make_tree().
std::string xattr_field(std::string_view name, std::string_view value);

// The value, "(none)" when `path` has no such attribute. Does not follow it.
std::string xattr_of(const std::string& path, const std::string& name);
// Sets one; throws SupportError when it cannot.
void set_xattr(const std::string& path, const std::string& name,
               std::string_view value);

}  // namespace lamina::test
