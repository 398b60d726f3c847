// Names of inodes that exist already: one linkat(2), and nothing behind it.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/kernel.h"
#include "copy/copy_visitor.h"

namespace lamina::copy {

// True when d_ino is the inode number that stat would give.
bool CopyVisitor::listing_tells(const Entry& entry) const {
  return state_.listings_trusted &&
         listing_is_exact(entry.dir.abilities->source_kind);
}

// Lets further names of an inode link to `entry`, which stands now.
Result<void> CopyVisitor::publish(const Entry& entry, InodeKey key) {
  TRY(open_->remember(entry.dir));
  state_.links.publish(key, entry.dir.shared_from_this(),
                       entry.listed.name_view());
  return {};
}

// Links `entry` to where its inode was made; 0, or the errno of a refusal that
// a new inode can answer.
Result<int> CopyVisitor::try_link(const Entry& entry, const Place& place) {
  int from = entry.target;
  SharedFd held;
  if (place.dir.get() != &entry.dir) {
    TRY_ASSIGN(held, open_->get(*place.dir, Side::target));
    from = held->get();
  }
  if (kernel_.linkat(from, place.name.c_str(), entry.target, entry.name()) ==
      0) {
    return 0;
  }
  // ENOENT: the inode could not be finished, and its name was taken back.
  if (errno == ENOENT ||
      (errno == EMLINK && state_.options.strictness == Strictness::fall_back)) {
    return errno;
  }
  return fail(last_error("linkat", ""));
}

// A further name of a known inode. It returns as soon as the link stands, so
// that nobody adds metadata work behind it: the inode has its metadata.
Result<Visit> CopyVisitor::link_further(const Entry& entry, InodeKey key,
                                        Place place, const struct stat* stat) {
  for (;;) {
    TRY_ASSIGN(int refused, try_link(entry, place));
    if (refused == 0) {
      count(&Tally::links_recreated);
      return Visit::done;
    }
    // Most often the inode has all the names its file system gives one: this
    // name becomes a second inode, and names still to come follow it.
    auto renewed = state_.links.renew(key, place);
    if (!renewed) {
      break;
    }
    place = std::move(*renewed);
  }
  count(&Tally::link_fallbacks);
  struct stat own {};
  if (stat == nullptr) {
    auto got = stat_of(entry);
    if (!got) {
      state_.links.abandon(key);
      return fail(std::move(got.error()));
    }
    own = *got;
    stat = &own;
  }
  if (S_ISREG(stat->st_mode)) {
    file_.claimed = key;
    return copy_regular(entry, stat);
  }
  return make_other(entry, *stat, key);
}

// False for the files that are to be copied all the same.
Result<bool> CopyVisitor::may_share_inode(const Entry& entry,
                                          const struct stat* stat) {
  const std::vector<uint64_t>* unlinked = state_.options.unlinked;
  if (unlinked == nullptr || unlinked->empty()) {
    return true;
  }
  uint64_t inode = entry.listed.inode;
  if (stat != nullptr) {
    inode = stat->st_ino;
  } else if (!listing_tells(entry)) {
    TRY_ASSIGN(struct stat asked, stat_of(entry));
    inode = asked.st_ino;
  }
  return !std::binary_search(unlinked->begin(), unlinked->end(), inode);
}

// Sharing::hardlink: a name for the source's own inode. nullopt: that cannot
// be, and the file is to be copied.
Result<std::optional<Visit>> CopyVisitor::link_to_source(const Entry& entry) {
  Abilities& abilities = *entry.dir.abilities;
  int code = EXDEV;
  bool ask = state_.options.strictness == Strictness::strict ||
             !abilities.no_link.load(std::memory_order_relaxed);
  if (ask) {
    if (kernel_.linkat(entry.source, entry.name(), entry.target,
                       entry.name()) == 0) {
      count(&Tally::linked);
      return Visit::done;
    }
    code = errno;
    if (state_.options.strictness == Strictness::strict ||
        !is_unsupported(Method::link, code)) {
      return fail(make_error(code, "linkat", ""));
    }
    if (is_refusal(Method::link, code)) {
      abilities.no_link.store(true, std::memory_order_relaxed);
    }
  }
  count(&Tally::link_fallbacks);
  return std::optional<Visit>();
}

}  // namespace lamina::copy
