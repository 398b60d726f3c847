// Owner ids inside attribute values.
#include <linux/capability.h>

#include <cstdint>
#include <cstring>

#include "copy/xattrs.h"

namespace lamina::copy {

namespace {

// linux/posix_acl_xattr.h: a little-endian u32 version (2), then entries of u16
// tag, u16 permissions, u32 id.
constexpr size_t kAclHeader = 4;
constexpr size_t kAclEntry = 8;
constexpr size_t kAclIdAt = 4;
constexpr uint16_t kAclUser = 0x02;
constexpr uint16_t kAclGroup = 0x08;

template <typename T>
T load_le(const char* from) {
  T out = 0;
  for (size_t i = sizeof(T); i-- > 0;) {
    out = static_cast<T>((out << 8) | static_cast<unsigned char>(from[i]));
  }
  return out;
}

void store_le32(char* to, uint32_t value) {
  for (size_t i = 0; i < 4; ++i) {
    to[i] = static_cast<char>(value >> (8 * i));
  }
}

Result<void> map_at(const IdMap& map, char* at, std::string_view name) {
  auto mapped = map.map(load_le<uint32_t>(at), "");
  if (!mapped) {
    mapped.error().op = "map id in " + std::string(name);
    return fail(std::move(mapped.error()));
  }
  store_le32(at, *mapped);
  return {};
}

}  // namespace

Result<void> map_xattr_ids(const XattrRules& rules, std::string_view name,
                           std::vector<char>& value) {
  if (rules.uid_map == nullptr || rules.gid_map == nullptr) {
    return {};
  }
  if (name.starts_with("system.posix_acl_")) {
    for (size_t at = kAclHeader; at + kAclEntry <= value.size();
         at += kAclEntry) {
      auto tag = load_le<uint16_t>(&value[at]);
      if (tag == kAclUser) {
        TRY(map_at(*rules.uid_map, &value[at + kAclIdAt], name));
      } else if (tag == kAclGroup) {
        TRY(map_at(*rules.gid_map, &value[at + kAclIdAt], name));
      }
    }
  }
  if (name == "security.capability" && value.size() == XATTR_CAPS_SZ_3) {
    // struct vfs_ns_cap_data: the root id is the last word.
    TRY(map_at(*rules.uid_map, &value[XATTR_CAPS_SZ_3 - 4], name));
  }
  return {};
}

}  // namespace lamina::copy
