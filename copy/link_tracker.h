// Remembers inodes with several names until the last name was seen, so that a
// further name costs one linkat(2) and nothing else.
//
// Keyed by device and inode: one number may stand for two files where a tree
// spans file systems. At most 48 bytes an inode, and its name. Only inodes with
// more than one link are to be claimed. Any thread may call any function; a
// caller waits only while another thread is making the first name, which takes
// no other lock.
//
// 1. find(key): known? Then link to the Place it gives.
// 2. else claim(key, links): either a Place, or the caller is the first.
// 3. the first calls publish() once the new inode has its name, or abandon().
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "copy/dir.h"

namespace lamina::copy {

struct InodeKey {
  dev_t device = 0;
  ino_t inode = 0;
};

class LinkTracker {
 public:
  // Where the first name of an inode was made in the target.
  struct Place {
    std::shared_ptr<Dir> dir;
    std::string name;
  };

  // True when no inode is remembered; cheap enough for every entry.
  bool empty() const { return used_.load(std::memory_order_acquire) == 0; }

  // The place of a known inode, counting one more name of it seen; nullopt when
  // it is unknown.
  std::optional<Place> find(InodeKey key);

  // The same, but an unknown inode becomes known, with `links` names in all and
  // this one seen. nullopt: the caller makes the first name.
  std::optional<Place> claim(InodeKey key, uint64_t links);

  // Says where the first name stands. `dir` and `name` are those of the target.
  void publish(InodeKey key, std::shared_ptr<Dir> dir, std::string_view name);

  // Says that the first name could not be made. Those who wait claim again.
  void abandon(InodeKey key);

  // Called when linking to `failed` was refused for want of links (EMLINK): the
  // caller is to make a new inode and publish() it (nullopt), unless another
  // thread already did (its Place).
  std::optional<Place> renew(InodeKey key, const Place& failed);

  // Memory held, for tests of the bound.
  size_t bytes() const;
  size_t size() const { return used_.load(std::memory_order_acquire); }

 private:
  // An inode of 0 marks a free slot: no file system gives that number out.
  struct Slot {
    uint64_t inode = 0;
    uint32_t remaining = 0;  // Names not yet seen.
    uint32_t name = 0;       // Offset into names_.
    uint32_t dir = 0;        // Index into dirs_.
    uint16_t device = 0;     // Index into devices_.
    uint16_t making = 0;     // 1 while the first name is being made.
  };
  static_assert(sizeof(Slot) == 24);

  struct UsedDir {
    std::shared_ptr<Dir> dir;
    uint32_t slots = 0;
  };

  using Lock = std::unique_lock<std::mutex>;

  uint16_t device_index(dev_t device);
  size_t home(uint64_t inode, uint16_t device) const;
  Slot* look_up(InodeKey key);
  Slot& insert(InodeKey key, uint32_t remaining);
  void grow();
  void erase(Slot& slot);
  Slot* wait_made(InodeKey key, Lock& lock);
  Place take_place(Slot& slot);
  void set_place(Slot& slot, std::shared_ptr<Dir> dir, std::string_view name);
  void drop_place(Slot& slot);
  void compact_names();
  uint32_t dir_index(std::shared_ptr<Dir> dir);

  mutable std::mutex mutex_;
  std::condition_variable made_;
  std::atomic<size_t> used_{0};
  std::vector<Slot> slots_;
  std::vector<dev_t> devices_;
  std::string names_{'\0'};  // NUL-terminated; offset 0 means none.
  size_t dead_name_bytes_ = 0;
  std::vector<UsedDir> dirs_;
  std::vector<uint32_t> free_dirs_;
  std::unordered_map<const Dir*, uint32_t> dir_numbers_;
};

}  // namespace lamina::copy
