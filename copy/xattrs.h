// Copies extended attributes, xattr(7), from one inode to another.
//
// An end is an open descriptor, or a name in an open directory (symlinks and
// special files, which cannot be opened for this). Nothing here decides whether
// a refusal is forgiven; the caller is asked. One thread at a time per buffer.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/id_map.h"
#include "copy/options.h"

namespace lamina {
class Kernel;
}

namespace lamina::copy {

struct XattrEnd {
  int fd = -1;                 // The inode, or the directory of `name`.
  const char* name = nullptr;  // Null for the inode that fd is open on.
};

// What to leave out, and how ids within values change.
struct XattrRules {
  Xattrs keep = Xattrs::all;
  bool label_given = false;        // security.selinux is set by other means.
  const IdMap* uid_map = nullptr;  // For ids in ACLs and capabilities.
  const IdMap* gid_map = nullptr;
};

// True when an attribute of this name is to be kept.
bool wants_xattr(const XattrRules& rules, std::string_view name);

// Rewrites the ids inside a POSIX ACL or a version 3 capability, in place, as
// acl(5) and capabilities(7) lay them out. Other attributes are left alone. An
// id that is in no range is an error.
Result<void> map_xattr_ids(const XattrRules& rules, std::string_view name,
                           std::vector<char>& value);

class XattrCopier {
 public:
  explicit XattrCopier(Kernel& kernel)
      : kernel_(kernel) {}

  // Asked about each attribute that could not be set; returning true forgives.
  using Forgive = std::function<bool(const Error&)>;

  // Reads the names `from` has. False when there is nothing to copy. ENOTSUP is
  // no attributes, and sets *unsupported.
  Result<bool> list(const XattrEnd& from, bool* unsupported);

  // Copies what list() found. security.capability goes last: everything before
  // it can drop it. Errors name the attribute in their operation.
  Result<void> copy(const XattrEnd& from, const XattrEnd& to,
                    const XattrRules& rules, const Forgive& forgive);

 private:
  Result<void> copy_one(const XattrEnd& from, const XattrEnd& to,
                        const char* name, const XattrRules& rules,
                        const Forgive& forgive);
  ssize_t list_into(const XattrEnd& from, char* to, size_t size);
  ssize_t get_into(const XattrEnd& from, const char* name, char* to,
                   size_t size);
  Result<bool> read_value(const XattrEnd& from, const char* name);

  Kernel& kernel_;
  std::vector<char> names_;
  size_t names_size_ = 0;
  std::vector<char> value_;
};

}  // namespace lamina::copy
