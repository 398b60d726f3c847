#include "copy/read_xattrs.h"

#include <linux/limits.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "base/kernel.h"

namespace lamina::copy {

namespace {

constexpr size_t kFirstBytes = 1024;

Result<std::string> list(Kernel& kernel, const XattrEnd& end) {
  std::string names(kFirstBytes, '\0');
  for (;;) {
    ssize_t n =
        end.name == nullptr
            ? kernel.flistxattr(end.fd, names.data(), names.size())
            : kernel.listxattrat(end.fd, end.name, names.data(), names.size());
    if (n >= 0) {
      names.resize(static_cast<size_t>(n));
      return names;
    }
    if (errno == EOPNOTSUPP || errno == ENOSYS) {
      return std::string();
    }
    if (errno != ERANGE || names.size() >= XATTR_LIST_MAX) {
      return fail(last_error("listxattr", ""));
    }
    names.resize(XATTR_LIST_MAX);
  }
}

Result<std::optional<std::vector<char>>> read_one(Kernel& kernel,
                                                  const XattrEnd& end,
                                                  const std::string& name) {
  std::vector<char> value(kFirstBytes);
  for (;;) {
    ssize_t n =
        end.name == nullptr
            ? kernel.fgetxattr(end.fd, name.c_str(), value.data(), value.size())
            : kernel.getxattrat(end.fd, end.name, name.c_str(), value.data(),
                                value.size());
    if (n >= 0) {
      value.resize(static_cast<size_t>(n));
      return std::optional(std::move(value));
    }
    if (errno == ENODATA) {
      return std::optional<std::vector<char>>();
    }
    if (errno != ERANGE || value.size() >= XATTR_SIZE_MAX) {
      return fail(last_error("getxattr(" + escape_name(name) + ")", ""));
    }
    value.resize(XATTR_SIZE_MAX);
  }
}

}  // namespace

Result<XattrValues> read_xattrs(Kernel& kernel, const XattrEnd& end,
                                const XattrRules& rules) {
  XattrValues out;
  if (rules.keep == Xattrs::none) {
    return out;
  }
  TRY_ASSIGN(std::string names, list(kernel, end));
  for (size_t at = 0; at < names.size();) {
    std::string name = names.c_str() + at;
    at += name.size() + 1;
    if (!wants_xattr(rules, name)) {
      continue;
    }
    TRY_ASSIGN(auto value, read_one(kernel, end, name));
    if (value) {
      out.emplace(std::move(name), std::move(*value));
    }
  }
  return out;
}

}  // namespace lamina::copy
