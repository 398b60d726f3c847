#include "copy/compare_xattrs.h"

#include <linux/limits.h>

#include <cerrno>
#include <map>
#include <string_view>

#include "base/kernel.h"

namespace lamina::copy {

namespace {

constexpr std::string_view kLabel = "security.selinux";

using Values = std::map<std::string, std::vector<char>, std::less<>>;

Result<std::string> list(Kernel& kernel, const XattrEnd& end) {
  std::string names(1024, '\0');
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

Result<Values> read_all(Kernel& kernel, const XattrEnd& end) {
  TRY_ASSIGN(std::string names, list(kernel, end));
  Values out;
  for (size_t at = 0; at < names.size();) {
    std::string name = names.c_str() + at;
    at += name.size() + 1;
    std::vector<char> value(XATTR_SIZE_MAX);
    ssize_t n =
        end.name == nullptr
            ? kernel.fgetxattr(end.fd, name.c_str(), value.data(), value.size())
            : kernel.getxattrat(end.fd, end.name, name.c_str(), value.data(),
                                value.size());
    if (n < 0 && errno == ENODATA) {
      continue;
    }
    if (n < 0) {
      return fail(last_error("getxattr(" + escape_name(name) + ")", ""));
    }
    value.resize(static_cast<size_t>(n));
    out.emplace(std::move(name), std::move(value));
  }
  return out;
}

// What only a copier can have brought: the others (security modules, btrfs
// properties inherited, network file systems' own) may come by themselves.
bool came_with_the_copy(std::string_view name) {
  return name.starts_with("user.") || name.starts_with("trusted.") ||
         name == "security.capability" || name.starts_with("system.posix_acl_");
}

// A label may be stored with the NUL behind it.
std::string_view text_of(const std::vector<char>& value) {
  std::string_view text(value.data(), value.size());
  if (text.ends_with('\0')) {
    text.remove_suffix(1);
  }
  return text;
}

void compare_label(const Values& copy, const std::string& label,
                   std::vector<std::string>& out) {
  auto found = copy.find(kLabel);
  if (found == copy.end()) {
    out.push_back(std::string(kLabel) + " is missing");
  } else if (text_of(found->second) != label) {
    out.push_back(std::string(kLabel) + " differs");
  }
}

}  // namespace

Result<std::vector<std::string>> compare_xattrs(Kernel& kernel,
                                                const XattrEnd& source,
                                                const XattrEnd& copy,
                                                const Options& options) {
  XattrRules rules;
  rules.keep = options.xattrs;
  rules.label_given = options.label.has_value();
  if (options.owner == Owner::mapped) {
    rules.uid_map = &options.uid_map;
    rules.gid_map = &options.gid_map;
  }
  TRY_ASSIGN(Values wanted, read_all(kernel, source));
  TRY_ASSIGN(Values found, read_all(kernel, copy));
  std::vector<std::string> out;
  if (options.label) {
    compare_label(found, *options.label, out);
  }
  for (auto& [name, value] : wanted) {
    if (!wants_xattr(rules, name)) {
      continue;
    }
    auto there = found.find(name);
    if (there == found.end()) {
      if (options.loss == Loss::refused) {
        out.push_back(escape_name(name) + " is missing");
      }
      continue;
    }
    TRY(map_xattr_ids(rules, name, value));
    if (there->second != value) {
      out.push_back(escape_name(name) + " differs");
    }
  }
  for (const auto& [name, value] : found) {
    bool expected = wanted.contains(name) && wants_xattr(rules, name);
    if (!expected && came_with_the_copy(name)) {
      out.push_back(escape_name(name) + " was not there");
    }
  }
  return out;
}

}  // namespace lamina::copy
