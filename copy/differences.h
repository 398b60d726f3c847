// The differences found so far by the threads of one comparison, and which
// inodes of two trees were found to be counterparts.
//
// Any thread may call any function.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "copy/compare.h"
#include "copy/link_tracker.h"

namespace lamina::copy {

class Differences {
 public:
  // Counts a difference, and keeps it if it is among the first in walk order;
  // several of one path stay in the order they came.
  void note(std::string path, std::string text);

  void take(Comparison& out);

 private:
  std::mutex mutex_;
  uint64_t count_ = 0;
  std::vector<Difference> first_;
};

// Inodes with several names, in either tree.
class Counterparts {
 public:
  enum class Pair { fits, known, split, joined };

  // Notes that a name is this inode in the source and that one in the copy.
  // `known`: so was another name, and whatever else there is was compared then.
  // `split`: the source inode was another one in the copy; `joined`: the copy's
  // was another one in the source.
  Pair note(const struct stat& source, const struct stat& copy);

 private:
  struct Hash {
    size_t operator()(const InodeKey& key) const {
      return static_cast<size_t>(key.inode * 31 + key.device);
    }
  };
  struct Same {
    bool operator()(const InodeKey& a, const InodeKey& b) const {
      return a.inode == b.inode && a.device == b.device;
    }
  };
  using Map = std::unordered_map<InodeKey, InodeKey, Hash, Same>;

  std::mutex mutex_;
  Map to_copy_;
  Map to_source_;
};

}  // namespace lamina::copy
