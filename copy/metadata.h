// Puts owner, mode, attributes and times on a new inode, in the one order that
// keeps them all.
//
//   create      exclusively, label set; with the final permission bits less
//               set-id bits when the new inode has the right owner anyway, else
//               0600 or 0700, so that nobody can look in before it is finished
//   data        writing clears set-id bits and file capabilities
//   owner       clears set-id bits and capabilities (chown(2))
//   mode        only where creation could not give it; symlinks have none
//   attributes  an access ACL rewrites the group bits of the mode;
//               security.capability last, everything above can drop it
//   times       last of all; of directories when their last child is done
//   close       checked: late errors
//
// What is wanted is a value computed once from the source's stat. One thread at
// a time per MetadataWriter.
#pragma once

#include <sys/stat.h>

#include "base/error.h"
#include "copy/report.h"
#include "copy/xattrs.h"

namespace lamina::copy {

struct Wanted {
  uid_t uid = 0;
  gid_t gid = 0;
  mode_t mode = 0;         // 07777.
  timespec times[2] = {};  // Access, modification.
};

// What is known of the inodes this process creates.
struct Birth {
  uid_t uid = 0;
  gid_t gid = 0;
  // False where a file system gives new inodes another owner (NFS root squash):
  // then every owner is set.
  bool owner_known = true;
};

// An inode's end of a copy: open, or by name (xattrs.h).
using InodeEnd = XattrEnd;

// Where an inode's extended attributes come from.
class AttributeSource {
 public:
  AttributeSource() = default;
  AttributeSource(const AttributeSource&) = delete;
  AttributeSource& operator=(const AttributeSource&) = delete;
  virtual ~AttributeSource() = default;

  // Sets them on the target, security.capability last. Called once, at the
  // right moment.
  virtual Result<void> write_to(const InodeEnd& target) = 0;
};

// An inode that was made and is to be finished.
struct NewInode {
  InodeEnd end;
  mode_t kind = 0;       // S_IFMT bits.
  mode_t born_mode = 0;  // What creation really gave, after the umask.
};

class MetadataWriter {
 public:
  MetadataWriter(Kernel& kernel, const Options& options, const Birth& birth);

  // What the copy of an inode should have, ids mapped as asked. An id in no
  // range is an error.
  Result<Wanted> wanted(const struct stat& source) const;

  // The permission bits to create an inode with. `extra` are bits that its
  // maker needs meanwhile (0700 for directories).
  mode_t birth_mode(const Wanted& wanted, mode_t extra) const;

  // Owner, mode, attributes and times, in this order. Adds what was forgiven to
  // `tally`.
  Result<void> write(const NewInode& target, const Wanted& wanted,
                     AttributeSource& attributes, Tally& tally);

  // The same with the attributes of an inode of the source. `list_refused` is
  // set when the source's file system has no attributes; where it is set
  // already they are not asked for.
  Result<void> write(const InodeEnd& source, const NewInode& target,
                     const Wanted& wanted, bool* list_refused, Tally& tally);

 private:
  Result<void> write_owner(const InodeEnd& target, Wanted& wanted,
                           Tally& tally);
  Result<void> write_mode(const InodeEnd& target, mode_t mode);
  friend class CopiedAttributes;
  Result<void> copy_xattrs(const InodeEnd& source, const InodeEnd& target,
                           bool* list_refused, Tally& tally);
  Result<void> write_times(const InodeEnd& target, const Wanted& wanted);
  bool born_right(const Wanted& wanted) const;

  Kernel& kernel_;
  const Options& options_;
  const Birth& birth_;
  XattrRules rules_;
  XattrCopier xattrs_;
};

}  // namespace lamina::copy
