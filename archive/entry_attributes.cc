#include "archive/entry_attributes.h"

#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "base/kernel.h"

namespace lamina::archive {

namespace {

constexpr std::string_view kCapability = "security.capability";
constexpr const char* kAccessAcl = "system.posix_acl_access";

// linux/posix_acl_xattr.h: version 2, then tag, permissions and id of owner,
// group and others. An ACL that says no more than a mode is stored as one.
constexpr unsigned char kModeAlone[] = {
    2,    0, 0, 0,                          //
    0x01, 0, 6, 0, 0xFF, 0xFF, 0xFF, 0xFF,  //
    0x04, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF,  //
    0x20, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF,
};

}  // namespace

bool is_forbidden_xattr(std::string_view name) {
  return name == "security.selinux" || name.starts_with("trusted.") ||
         name.starts_with("user.overlay.");
}

Result<void> shed_acl(Kernel& kernel, const copy::InodeEnd& end) {
  // By name there is nothing to remove an attribute with that does not open the
  // inode, which a device or a fifo must not be.
  int done = end.name == nullptr
                 ? kernel.fremovexattr(end.fd, kAccessAcl)
                 : kernel.setxattrat(end.fd, end.name, kAccessAcl, kModeAlone,
                                     sizeof kModeAlone);
  if (done != 0 && errno != ENODATA && errno != EOPNOTSUPP) {
    return fail(last_error("removexattr(" + std::string(kAccessAcl) + ")", ""));
  }
  return {};
}

Result<void> EntryAttributes::write_one(const copy::InodeEnd& target,
                                        const Xattr& xattr) {
  std::string name(xattr.name);
  std::vector<char> value(xattr.value.begin(), xattr.value.end());
  TRY(copy::map_xattr_ids(rules_, name, value));
  int done = target.name == nullptr
                 ? kernel_.fsetxattr(target.fd, name.c_str(), value.data(),
                                     value.size())
                 : kernel_.setxattrat(target.fd, target.name, name.c_str(),
                                      value.data(), value.size());
  if (done == 0) {
    return {};
  }
  Error error = last_error("setxattr(" + escape_name(name) + ")", "");
  // xattr(7): user attributes are for files and directories only, whoever asks.
  // Archives made elsewhere have them on symlinks.
  bool impossible = error.code == EPERM && name.starts_with("user.") &&
                    kind_ != S_IFREG && kind_ != S_IFDIR;
  if (impossible) {
    ++dropped_;
    return {};
  }
  if (forgive_(error)) {
    return {};
  }
  return fail(std::move(error));
}

Result<void> EntryAttributes::write_to(const copy::InodeEnd& target) {
  const Xattr* capability = nullptr;
  for (const Xattr& xattr : xattrs_) {
    if (is_forbidden_xattr(xattr.name) ||
        !copy::wants_xattr(rules_, xattr.name)) {
      ++dropped_;
    } else if (xattr.name == kCapability) {
      capability = &xattr;
    } else {
      TRY(write_one(target, xattr));
    }
  }
  return capability != nullptr ? write_one(target, *capability)
                               : Result<void>();
}

}  // namespace lamina::archive
