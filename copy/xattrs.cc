#include "copy/xattrs.h"

#include <linux/limits.h>

#include <cerrno>
#include <cstring>

#include "base/kernel.h"

namespace lamina::copy {

namespace {

constexpr size_t kFirstBytes = 1024;
constexpr std::string_view kCapability = "security.capability";

Error xattr_error(const char* call, std::string_view name) {
  return last_error(std::string(call) + "(" + escape_name(name) + ")", "");
}

}  // namespace

bool wants_xattr(const XattrRules& rules, std::string_view name) {
  if (rules.label_given && name == "security.selinux") {
    return false;
  }
  switch (rules.keep) {
    case Xattrs::all:
      return true;
    case Xattrs::none:
      return false;
    case Xattrs::image:
      return name == kCapability || name.starts_with("system.posix_acl_") ||
             (name.starts_with("user.") && !name.starts_with("user.overlay."));
  }
  return true;
}

ssize_t XattrCopier::list_into(const XattrEnd& from, char* to, size_t size) {
  return from.name == nullptr
             ? kernel_.flistxattr(from.fd, to, size)
             : kernel_.listxattrat(from.fd, from.name, to, size);
}

ssize_t XattrCopier::get_into(const XattrEnd& from, const char* name, char* to,
                              size_t size) {
  return from.name == nullptr
             ? kernel_.fgetxattr(from.fd, name, to, size)
             : kernel_.getxattrat(from.fd, from.name, name, to, size);
}

Result<bool> XattrCopier::list(const XattrEnd& from, bool* unsupported) {
  if (names_.empty()) {
    names_.resize(kFirstBytes);
  }
  ssize_t n = list_into(from, names_.data(), names_.size());
  if (n < 0 && errno == ERANGE && names_.size() < XATTR_LIST_MAX) {
    names_.resize(XATTR_LIST_MAX);
    n = list_into(from, names_.data(), names_.size());
  }
  if (n < 0) {
    names_size_ = 0;
    if (errno == EOPNOTSUPP || errno == ENOSYS) {
      *unsupported = true;
      return false;
    }
    return fail(last_error("listxattr", ""));
  }
  names_size_ = static_cast<size_t>(n);
  return n > 0;
}

Result<void> XattrCopier::copy(const XattrEnd& from, const XattrEnd& to,
                               const XattrRules& rules,
                               const Forgive& forgive) {
  bool capability = false;
  for (size_t at = 0; at < names_size_;) {
    const char* name = names_.data() + at;
    std::string_view view(name);
    at += view.size() + 1;
    if (view == kCapability) {
      capability = wants_xattr(rules, view);
    } else if (wants_xattr(rules, view)) {
      TRY(copy_one(from, to, name, rules, forgive));
    }
  }
  if (capability) {
    TRY(copy_one(from, to, kCapability.data(), rules, forgive));
  }
  return {};
}

// False when the attribute went away since it was listed.
Result<bool> XattrCopier::read_value(const XattrEnd& from, const char* name) {
  value_.resize(std::max(value_.capacity(), kFirstBytes));
  ssize_t n = get_into(from, name, value_.data(), value_.size());
  if (n < 0 && errno == ERANGE) {
    value_.resize(XATTR_SIZE_MAX);
    n = get_into(from, name, value_.data(), value_.size());
  }
  if (n < 0) {
    if (errno == ENODATA) {
      return false;
    }
    return fail(xattr_error("getxattr", name));
  }
  value_.resize(static_cast<size_t>(n));
  return true;
}

Result<void> XattrCopier::copy_one(const XattrEnd& from, const XattrEnd& to,
                                   const char* name, const XattrRules& rules,
                                   const Forgive& forgive) {
  TRY_ASSIGN(bool present, read_value(from, name));
  if (!present) {
    return {};
  }
  TRY(map_xattr_ids(rules, name, value_));
  int done = to.name == nullptr
                 ? kernel_.fsetxattr(to.fd, name, value_.data(), value_.size())
                 : kernel_.setxattrat(to.fd, to.name, name, value_.data(),
                                      value_.size());
  if (done == 0) {
    return {};
  }
  Error error = xattr_error("setxattr", name);
  if (forgive(error)) {
    return {};
  }
  return fail(std::move(error));
}

}  // namespace lamina::copy
