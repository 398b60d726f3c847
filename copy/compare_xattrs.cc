#include "copy/compare_xattrs.h"

#include <string_view>

#include "copy/read_xattrs.h"

namespace lamina::copy {

namespace {

constexpr std::string_view kLabel = "security.selinux";

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

void compare_label(const XattrValues& copy, const std::string& label,
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
  TRY_ASSIGN(XattrValues wanted, read_xattrs(kernel, source, rules));
  TRY_ASSIGN(XattrValues found, read_xattrs(kernel, copy, {}));
  std::vector<std::string> out;
  if (options.label) {
    compare_label(found, *options.label, out);
  }
  for (auto& [name, value] : wanted) {
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
    if (!wanted.contains(name) && came_with_the_copy(name)) {
      out.push_back(escape_name(name) + " was not there");
    }
  }
  return out;
}

}  // namespace lamina::copy
