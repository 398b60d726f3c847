#include "copy/metadata.h"

#include "base/kernel.h"

namespace lamina::copy {

namespace {

constexpr mode_t kPermissions = 0777;
constexpr mode_t kAllBits = 07777;
constexpr mode_t kSetIds = S_ISUID | S_ISGID;

}  // namespace

MetadataWriter::MetadataWriter(Kernel& kernel, const Options& options,
                               const Birth& birth)
    : kernel_(kernel),
      options_(options),
      birth_(birth),
      xattrs_(kernel) {
  rules_.keep = options.xattrs;
  rules_.label_given = options.label.has_value();
  if (options.owner == Owner::mapped) {
    rules_.uid_map = &options.uid_map;
    rules_.gid_map = &options.gid_map;
  }
}

Result<Wanted> MetadataWriter::wanted(const struct stat& source) const {
  Wanted out;
  out.uid = source.st_uid;
  out.gid = source.st_gid;
  if (options_.owner == Owner::mapped) {
    TRY_ASSIGN(out.uid, options_.uid_map.map(source.st_uid, ""));
    TRY_ASSIGN(out.gid, options_.gid_map.map(source.st_gid, ""));
  }
  out.mode = source.st_mode & kAllBits;
  out.times[0] = source.st_atim;
  out.times[1] = source.st_mtim;
  return out;
}

bool MetadataWriter::born_right(const Wanted& wanted) const {
  return birth_.owner_known && wanted.uid == birth_.uid &&
         wanted.gid == birth_.gid;
}

mode_t MetadataWriter::birth_mode(const Wanted& wanted, mode_t extra) const {
  bool right = born_right(wanted) || options_.owner == Owner::none;
  return (right ? wanted.mode & kPermissions : 0600) | extra;
}

Result<void> MetadataWriter::write_owner(const InodeEnd& target, Wanted& wanted,
                                         Tally& tally) {
  if (born_right(wanted)) {
    return {};
  }
  if (options_.owner != Owner::none) {
    int done =
        target.name == nullptr
            ? kernel_.fchown(target.fd, wanted.uid, wanted.gid)
            : kernel_.fchownat(target.fd, target.name, wanted.uid, wanted.gid);
    if (done == 0) {
      return {};
    }
    Error error = last_error("chown", "");
    if (options_.loss == Loss::refused || is_exhaustion(error.code)) {
      return fail(std::move(error));
    }
    Counters::forgive(tally, &Tally::forgiven_owners, error);
  }
  if ((wanted.mode & kSetIds) != 0) {
    // Set-id bits under another owner would lend rights nobody meant to lend.
    wanted.mode &= ~kSetIds;
    Counters::forgive(tally, &Tally::forgiven_modes,
                      make_error(0, "chmod", "",
                                 "set-id bits left off, "
                                 "since the owner is another"));
  }
  return {};
}

Result<void> MetadataWriter::write_mode(const InodeEnd& target, mode_t mode) {
  int done = target.name == nullptr
                 ? kernel_.fchmod(target.fd, mode)
                 : kernel_.fchmodat(target.fd, target.name, mode);
  if (done != 0) {
    return fail(last_error("chmod", ""));
  }
  return {};
}

Result<void> MetadataWriter::copy_xattrs(const InodeEnd& source,
                                         const InodeEnd& target,
                                         bool* list_refused, Tally& tally) {
  if (options_.xattrs == Xattrs::none || *list_refused) {
    return {};
  }
  TRY_ASSIGN(bool some, xattrs_.list(source, list_refused));
  if (!some) {
    return {};
  }
  return xattrs_.copy(source, target, rules_, [&](const Error& error) {
    if (options_.loss == Loss::refused) {
      return false;
    }
    Counters::forgive(tally, &Tally::forgiven_xattrs, error);
    return true;
  });
}

Result<void> MetadataWriter::write_times(const InodeEnd& target,
                                         const Wanted& wanted) {
  int done = target.name == nullptr
                 ? kernel_.futimens(target.fd, wanted.times)
                 : kernel_.utimensat(target.fd, target.name, wanted.times);
  if (done != 0) {
    return fail(last_error("utimensat", ""));
  }
  return {};
}

Result<void> MetadataWriter::write(const NewInode& target,
                                   const Wanted& wanted_before,
                                   AttributeSource& attributes, Tally& tally) {
  Wanted wanted = wanted_before;
  TRY(write_owner(target.end, wanted, tally));
  if (target.kind != S_IFLNK && wanted.mode != target.born_mode) {
    TRY(write_mode(target.end, wanted.mode));
  }
  TRY(attributes.write_to(target.end));
  return write_times(target.end, wanted);
}

// The attributes of an inode of the source.
class CopiedAttributes final : public AttributeSource {
 public:
  CopiedAttributes(MetadataWriter& writer, const InodeEnd& source,
                   bool* list_refused, Tally& tally)
      : writer_(writer),
        source_(source),
        list_refused_(list_refused),
        tally_(tally) {}

  Result<void> write_to(const InodeEnd& target) override {
    return writer_.copy_xattrs(source_, target, list_refused_, tally_);
  }

 private:
  MetadataWriter& writer_;
  const InodeEnd& source_;
  bool* list_refused_;
  Tally& tally_;
};

Result<void> MetadataWriter::write(const InodeEnd& source,
                                   const NewInode& target, const Wanted& wanted,
                                   bool* list_refused, Tally& tally) {
  CopiedAttributes attributes(*this, source, list_refused, tally);
  return write(target, wanted, attributes, tally);
}

}  // namespace lamina::copy
