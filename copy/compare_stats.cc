#include "copy/compare_stats.h"

#include <sys/sysmacros.h>

#include <string_view>

namespace lamina::copy {

namespace {

constexpr mode_t kAllBits = 07777;
constexpr mode_t kSetIds = S_ISUID | S_ISGID;

std::string_view kind_name(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "a regular file";
    case S_IFDIR:
      return "a directory";
    case S_IFLNK:
      return "a symbolic link";
    case S_IFIFO:
      return "a fifo";
    case S_IFSOCK:
      return "a socket";
    case S_IFCHR:
      return "a character device";
    case S_IFBLK:
      return "a block device";
    default:
      return "something unknown";
  }
}

std::string octal(mode_t mode) {
  std::string out;
  for (int shift = 9; shift >= 0; shift -= 3) {
    out += static_cast<char>('0' + ((mode >> shift) & 7));
  }
  return out;
}

std::string seconds(const timespec& time) {
  std::string parts = std::to_string(time.tv_nsec);
  parts.insert(0, parts.size() < 9 ? 9 - parts.size() : 0, '0');
  return std::to_string(time.tv_sec) + "." + parts;
}

std::string owner(uint64_t uid, uint64_t gid) {
  return std::to_string(uid) + ":" + std::to_string(gid);
}

std::string device(dev_t number) {
  return std::to_string(major(number)) + ":" + std::to_string(minor(number));
}

// "mode 0600, not 0644".
std::string instead(std::string_view what, std::string_view found,
                    std::string_view wanted) {
  return std::string(what) + " " + std::string(found) + ", not " +
         std::string(wanted);
}

std::string compare_devices(const struct stat& source,
                            const struct stat& copy) {
  bool device_node = S_ISCHR(source.st_mode) || S_ISBLK(source.st_mode);
  if (!device_node || source.st_rdev == copy.st_rdev) {
    return "";
  }
  return instead("device", device(copy.st_rdev), device(source.st_rdev));
}

std::string compare_owners(const struct stat& source, const struct stat& copy,
                           const Options& options) {
  if (options.owner == Owner::none || options.loss == Loss::forgiven) {
    return "";
  }
  uint32_t uid = source.st_uid;
  uint32_t gid = source.st_gid;
  if (options.owner == Owner::mapped &&
      (!options.uid_map.try_map(source.st_uid, &uid) ||
       !options.gid_map.try_map(source.st_gid, &gid))) {
    return "the source's owner " + owner(source.st_uid, source.st_gid) +
           " is in no map";
  }
  if (copy.st_uid == uid && copy.st_gid == gid) {
    return "";
  }
  return instead("owner", owner(copy.st_uid, copy.st_gid), owner(uid, gid));
}

std::string compare_modes(const struct stat& source, const struct stat& copy,
                          const Options& options) {
  if (S_ISLNK(source.st_mode)) {
    return "";
  }
  mode_t wanted = source.st_mode & kAllBits;
  bool owner_may_differ =
      options.owner == Owner::none || options.loss == Loss::forgiven;
  if (owner_may_differ &&
      (source.st_uid != copy.st_uid || source.st_gid != copy.st_gid)) {
    wanted &= ~kSetIds;
  }
  mode_t found = copy.st_mode & kAllBits;
  return found == wanted ? "" : instead("mode", octal(found), octal(wanted));
}

std::string compare_times(const timespec& wanted, const timespec& found) {
  if (wanted.tv_sec == found.tv_sec && wanted.tv_nsec == found.tv_nsec) {
    return "";
  }
  return instead("modified at", seconds(found), seconds(wanted));
}

}  // namespace

std::vector<std::string> compare_stats(const struct stat& source,
                                       const struct stat& copy,
                                       const Options& options) {
  if ((source.st_mode & S_IFMT) != (copy.st_mode & S_IFMT)) {
    return {instead("is", kind_name(copy.st_mode), kind_name(source.st_mode))};
  }
  std::vector<std::string> out;
  for (std::string text :
       {compare_devices(source, copy), compare_owners(source, copy, options),
        compare_modes(source, copy, options),
        compare_times(source.st_mtim, copy.st_mtim)}) {
    if (!text.empty()) {
      out.push_back(std::move(text));
    }
  }
  return out;
}

}  // namespace lamina::copy
