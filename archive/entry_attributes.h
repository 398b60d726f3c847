// The attributes of an entry that a tree may have.
//
// Pure but for write_to(). One thread at a time.
#pragma once

#include <functional>
#include <vector>

#include "archive/pax.h"
#include "base/error.h"
#include "copy/metadata.h"
#include "copy/xattrs.h"

namespace lamina {
class Kernel;
}

namespace lamina::archive {

// True for a name that is never taken from a layer: labels are this host's, and
// trusted.* and overlay's own attributes decide what a mount shows.
bool is_forbidden_xattr(std::string_view name);

// Takes off an ACL that a directory of a lower layer gave to a new inode, open
// or by name. Its mode is to be set afterwards.
Result<void> shed_acl(Kernel& kernel, const copy::InodeEnd& end);

// Sets the attributes of a layer's entry.
class EntryAttributes final : public copy::AttributeSource {
 public:
  // Everything must outlive this. `dropped` counts what was left out.
  EntryAttributes(Kernel& kernel, const std::vector<Xattr>& xattrs,
                  const copy::XattrRules& rules, mode_t kind,
                  const copy::XattrCopier::Forgive& forgive, uint64_t& dropped)
      : kernel_(kernel),
        xattrs_(xattrs),
        rules_(rules),
        kind_(kind),
        forgive_(forgive),
        dropped_(dropped) {}

  Result<void> write_to(const copy::InodeEnd& target) override;

 private:
  Result<void> write_one(const copy::InodeEnd& target, const Xattr& xattr);

  Kernel& kernel_;
  const std::vector<Xattr>& xattrs_;
  const copy::XattrRules& rules_;
  const mode_t kind_;
  const copy::XattrCopier::Forgive& forgive_;
  uint64_t& dropped_;
};

}  // namespace lamina::archive
