#include "archive/applier.h"

#include <fcntl.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <utility>

#include "base/kernel.h"
#include "copy/remove_tree.h"

namespace lamina::archive {

namespace {

constexpr std::string_view kWhiteoutPrefix = ".wh.";

std::string_view base_name(std::string_view path) {
  size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string_view parent_path(std::string_view path) {
  size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "" : path.substr(0, slash);
}

}  // namespace

Applier::Applier(ApplyState& state, const Fd& root, const struct stat& stat,
                 Lower lower, TaskGroup& group)
    : state_(state),
      kernel_(state.kernel),
      group_(group),
      lower_(lower),
      tracking_(state.options.whiteouts == Whiteouts::overlay ||
                (state.options.whiteouts == Whiteouts::remove &&
                 lower == Lower::present)),
      lower_stack_(state.kernel, state.options.lower),
      dirs_(state.kernel, root, stat, state.umask),
      writer_(state.kernel, state.metadata, state.birth),
      unknown_writer_(state.kernel, state.metadata, state.unknown_birth) {
  if (!lower_stack_.empty()) {
    dirs_.ask_below(
        {[this](NodeId parent, std::string_view name) {
           return lower_link(parent, name);
         },
         [this](NodeId made) { return take_lower_attributes(made); }});
  }
}

copy::MetadataWriter& Applier::writer(NodeId parent) {
  return dirs_[parent].inherits ? unknown_writer_ : writer_;
}

bool Applier::root_named() const {
  return dirs_[Directories::kRoot].named;
}

Result<void> Applier::apply(TarEntry entry, TarReader& reader) {
  ++report_.entries;
  TRY_ASSIGN(bool kept, strip(entry));
  if (!kept) {
    ++report_.skipped;
    return {};
  }
  TRY(check_name(entry.path));
  if (entry.type == EntryType::file) {
    TRY_ASSIGN(Mark mark, mark_of(base_name(entry.path)));
    return mark == Mark::none ? make_file(std::move(entry), reader)
                              : apply_whiteout(entry, mark);
  }
  return dispatch(entry, reader);
}

Result<void> Applier::dispatch(const TarEntry& entry, TarReader& /*reader*/) {
  TRY_ASSIGN(Mark mark, mark_of(base_name(entry.path)));
  if (mark != Mark::none) {
    return apply_whiteout(entry, mark);
  }
  if (entry.type == EntryType::directory) {
    return make_directory(entry);
  }
  if (entry.path == ".") {
    return fail(make_error(EINVAL, "apply", entry.path,
                           "the root can only be a directory"));
  }
  bool is_whiteout = state_.options.whiteouts == Whiteouts::overlay &&
                     entry.type == EntryType::char_device &&
                     entry.dev_major == 0 && entry.dev_minor == 0;
  TRY_ASSIGN(Place at, place(entry));
  if (is_whiteout) {  // Overlay's own mark, written as a device.
    ++report_.whiteouts;
    return mark_name(at.parent, at.name, entry);
  }
  switch (entry.type) {
    case EntryType::hard_link:
      return make_hard_link(entry, at);
    case EntryType::symlink:
      return make_symlink(entry, at);
    case EntryType::char_device:
    case EntryType::block_device:
    case EntryType::fifo:
      return make_special(entry, at);
    case EntryType::file:
    case EntryType::directory:
      break;
  }
  return {};
}

// Leaves out leading components. False: nothing of the name is left.
Result<bool> Applier::strip(TarEntry& entry) {
  for (unsigned i = 0; i < state_.options.strip; ++i) {
    size_t slash = entry.path.find('/');
    if (slash == std::string_view::npos) {
      return false;
    }
    entry.path.remove_prefix(slash + 1);
    if (entry.type == EntryType::hard_link) {
      size_t in_link = entry.link.find('/');
      if (in_link == std::string_view::npos) {
        return fail(make_error(EINVAL, "apply", entry.path,
                               "the other name of a hard link is stripped"));
      }
      entry.link.remove_prefix(in_link + 1);
    }
  }
  return true;
}

// A ".wh." name can be a mark, but no directory on the way.
Result<void> Applier::check_name(std::string_view path) const {
  if (state_.options.whiteouts == Whiteouts::none) {
    return {};
  }
  std::string_view parents = parent_path(path);
  for (size_t at = 0; at < parents.size();) {
    size_t end = std::min(parents.find('/', at), parents.size());
    std::string_view part = parents.substr(at, end - at);
    if (part.starts_with(kWhiteoutPrefix) && !part.starts_with(".wh..wh.")) {
      return fail(make_error(EINVAL, "apply", path,
                             "a whiteout cannot be a directory"));
    }
    at = end + 1;
  }
  return {};
}

Result<Applier::Place> Applier::place(const TarEntry& entry) {
  TRY_ASSIGN(copy::Wanted wanted, wanted_of(writer_, entry));
  Place out;
  TRY_ASSIGN(
      std::optional<NodeId> parent,
      dirs_.resolve(parent_path(entry.path), Missing::made, wanted.times));
  out.parent = *parent;
  out.name = std::string(base_name(entry.path));
  TRY_ASSIGN(out.dir, dirs_.fd(out.parent));
  return out;
}

void Applier::note_written(const Place& place) {
  dirs_.mark_content(place.parent);
  if (tracking_) {
    written_.add(place.parent, place.name);
  }
}

// Removes what stands at a place, whatever it is, without following or opening
// it.
Result<void> Applier::make_way(const Place& place) {
  dirs_.drop(place.parent, place.name);
  dirs_.forget_resolutions();
  if (kernel_.unlinkat(place.dir->get(), place.name.c_str(), 0) == 0) {
    return {};
  }
  if (errno == EISDIR || errno == EPERM) {
    copy::RemoveOptions options;
    options.kernel = state_.options.kernel;
    options.pool = state_.options.pool;
    options.workers = 1;
    auto removed = copy::remove_tree(*place.dir, place.name, options);
    if (!removed) {
      return fail(std::move(removed.error()));
    }
    return {};
  }
  return fail(last_error("unlinkat", ""));
}

Result<void> Applier::make_symlink(const TarEntry& entry, const Place& place) {
  std::string target(entry.link);
  TRY(make(place, "symlinkat", [&] {
    return kernel_.symlinkat(target.c_str(), place.dir->get(),
                             place.name.c_str());
  }));
  dirs_.forget_resolutions();
  ++report_.symlinks;
  return finish_inode(state_, writer(place.parent),
                      {place.dir->get(), place.name.c_str()}, entry, 0);
}

Result<void> Applier::make_special(const TarEntry& entry, const Place& place) {
  mode_t kind = entry.type == EntryType::fifo          ? S_IFIFO
                : entry.type == EntryType::char_device ? S_IFCHR
                                                       : S_IFBLK;
  copy::MetadataWriter& metadata = writer(place.parent);
  TRY_ASSIGN(copy::Wanted wanted, wanted_of(metadata, entry));
  mode_t mode = metadata.birth_mode(wanted, 0);
  dev_t device = makedev(entry.dev_major, entry.dev_minor);
  auto made = make(place, "mknodat", [&] {
    return kernel_.mknodat(place.dir->get(), place.name.c_str(), kind | mode,
                           device);
  });
  if (!made) {
    Error& error = made.error();
    if (state_.options.loss == copy::Loss::forgiven && error.code == EPERM) {
      // Without the right to make devices: the whole entry is left out.
      error.subject = std::string(entry.path);
      copy::Tally tally;
      copy::Counters::forgive(tally, &copy::Tally::forgiven_specials, error);
      state_.counters.add(tally);
      return {};
    }
    return made;
  }
  ++report_.specials;
  mode_t born = mode & ~state_.umask;
  if (dirs_[place.parent].inherits) {
    TRY(shed_acl(kernel_, {place.dir->get(), place.name.c_str()}));
    born = ~mode_t{0};  // Not known: it is set.
  }
  return finish_inode(state_, metadata, {place.dir->get(), place.name.c_str()},
                      entry, born);
}

// Where the other name of a hard link is: in the root, or in a lower layer that
// is kept elsewhere and then copied from there.
Result<std::optional<Applier::Place>> Applier::link_target(
    const TarEntry& entry) {
  TRY_ASSIGN(std::optional<NodeId> parent,
             dirs_.resolve(parent_path(entry.link), Missing::refused, nullptr));
  const std::string name(base_name(entry.link));
  std::string path(entry.link);
  if (parent) {
    Place place{*parent, name, {}};
    TRY_ASSIGN(place.dir, dirs_.fd(*parent));
    struct stat stat {};
    if (kernel_.fstatat(place.dir->get(), name.c_str(), &stat,
                        AT_SYMLINK_NOFOLLOW) == 0) {
      if (S_ISDIR(stat.st_mode)) {
        return fail(
            make_error(EPERM, "linkat", "", "a hard link to a directory"));
      }
      bool hidden = state_.options.whiteouts == Whiteouts::overlay &&
                    S_ISCHR(stat.st_mode) && stat.st_rdev == makedev(0, 0);
      return hidden ? std::optional<Place>()
                    : std::optional<Place>(std::move(place));
    }
    if (errno != ENOENT) {
      return fail(last_error("linkat", ""));
    }
    if (dirs_[*parent].opaque) {
      return std::optional<Place>();
    }
    path = dirs_.path(*parent);
    path += path.empty() ? name : "/" + name;
  }
  if (lower_stack_.empty()) {
    return std::optional<Place>();
  }
  TRY_ASSIGN(copy::Wanted wanted, wanted_of(writer_, entry));
  return copy_up(path, wanted.times);
}

// A further name. Its metadata is the first one's: applying a header's again
// would change an inode through a name that may be somebody else's.
Result<void> Applier::make_hard_link(const TarEntry& entry,
                                     const Place& place) {
  TRY_ASSIGN(std::optional<Place> target, link_target(entry));
  if (!target) {
    return fail(make_error(ENOENT, "linkat", "",
                           "the other name of a hard link is missing"));
  }
  if (target->parent == place.parent && target->name == place.name) {
    return fail(make_error(EINVAL, "linkat", "", "a hard link to itself"));
  }
  // What stands in the way must not hold the other name.
  if (auto in_way = dirs_.find(place.parent, place.name);
      in_way && dirs_.is_within(target->parent, *in_way)) {
    return fail(make_error(EINVAL, "linkat", "",
                           "a hard link would replace its own target"));
  }
  TRY(make(place, "linkat", [&] {
    return kernel_.linkat(target->dir->get(), target->name.c_str(),
                          place.dir->get(), place.name.c_str());
  }));
  ++report_.hard_links;
  return {};
}

}  // namespace lamina::archive
