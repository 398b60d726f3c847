// Which names of UPPER are one inode, and which of them a diff must name so
// that they are one again when it is applied to LOWER.
//
// A layer cannot link to a file of the layers below it: engines that keep each
// layer in a directory of its own have nothing there to link to. So an inode of
// which one name has to be written is written whole, under the first such name,
// and all its other names become hard links to that one, also those that are
// as they were (as containerd does). An inode that has the same names as an
// equal one of LOWER, or fewer, is left alone.
//
// Only inodes with more than one link are to be noted, and they are forgotten
// when all their names were seen, in either tree: about 150 bytes an inode and
// 40 a name. One thread at a time.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "copy/dir.h"
#include "copy/link_tracker.h"

namespace lamina::archive {

class LinkGroups {
 public:
  struct Place {
    std::shared_ptr<copy::Dir> dir;
    std::string name;

    std::string path() const { return dir->path_of(name); }
  };

  // What to do with a name of UPPER.
  struct Verdict {
    enum class Do { nothing, write, link } what = Do::nothing;
    Place link;  // Do::link: the name that was written.
    std::vector<Place>
        relink;  // Do::write: earlier names, to link to this one.
  };

  // Whether anything but links differs.
  enum class Equal { no, yes };

  // Judges the next name in walk order. `lower` is what the name is in LOWER,
  // null when there is none.
  Verdict note(Place place, const struct stat& upper, const struct stat* lower,
               Equal equal);

  // How many inodes are remembered, for tests of the bound.
  size_t size() const { return groups_.size(); }

 private:
  struct Hash {
    size_t operator()(const copy::InodeKey& key) const {
      return static_cast<size_t>(key.inode * 31 + key.device);
    }
  };
  struct Same {
    bool operator()(const copy::InodeKey& a, const copy::InodeKey& b) const {
      return a.inode == b.inode && a.device == b.device;
    }
  };
  struct Group {
    enum class State { unseen, kept, written } state = State::unseen;
    uint64_t unseen_names = 0;
    std::vector<Place> names;  // Those kept, or the one that was written.
    copy::InodeKey kept;       // State::kept: the inode of LOWER that it is.
    // As an inode of LOWER: the one of UPPER that it is.
    std::optional<copy::InodeKey> taken_by;
  };

  // The group of an inode that has several names; null for another.
  Group* find(const struct stat& stat);
  Verdict judge_group(Group& group, Place place, const struct stat* kept);
  void release(const Group& group);
  void count_name(const struct stat& stat);

  std::unordered_map<copy::InodeKey, Group, Hash, Same> groups_;
};

}  // namespace lamina::archive
