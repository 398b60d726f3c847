#include "copy/link_tracker.h"

#include <algorithm>
#include <utility>

namespace lamina::copy {

namespace {

constexpr size_t kFirstSlots = 64;
// Growing by half at four fifths keeps a slot's share between 30 and 45 bytes.
constexpr size_t kFullNumerator = 4;
constexpr size_t kFullDenominator = 5;

uint32_t clamp_links(uint64_t links) {
  return static_cast<uint32_t>(std::min<uint64_t>(links, UINT32_MAX));
}

}  // namespace

uint16_t LinkTracker::device_index(dev_t device) {
  auto it = std::find(devices_.begin(), devices_.end(), device);
  if (it == devices_.end()) {
    it = devices_.insert(devices_.end(), device);
  }
  return static_cast<uint16_t>(it - devices_.begin());
}

size_t LinkTracker::home(uint64_t inode, uint16_t device) const {
  // Fibonacci hashing; inode numbers of one tree lie close together.
  uint64_t mixed = (inode + device) * 0x9E3779B97F4A7C15U;
  return static_cast<size_t>((mixed >> 32) % slots_.size());
}

LinkTracker::Slot* LinkTracker::look_up(InodeKey key) {
  if (used_.load(std::memory_order_relaxed) == 0) {
    return nullptr;
  }
  uint16_t device = device_index(key.device);
  for (size_t i = home(key.inode, device); slots_[i].inode != 0;
       i = (i + 1) % slots_.size()) {
    if (slots_[i].inode == key.inode && slots_[i].device == device) {
      return &slots_[i];
    }
  }
  return nullptr;
}

LinkTracker::Slot& LinkTracker::insert(InodeKey key, uint32_t remaining) {
  size_t used = used_.load(std::memory_order_relaxed);
  if ((used + 1) * kFullDenominator > slots_.size() * kFullNumerator) {
    grow();
  }
  uint16_t device = device_index(key.device);
  size_t i = home(key.inode, device);
  while (slots_[i].inode != 0) {
    i = (i + 1) % slots_.size();
  }
  slots_[i] = {key.inode, remaining, 0, 0, device, 1};
  used_.store(used + 1, std::memory_order_release);
  return slots_[i];
}

void LinkTracker::grow() {
  std::vector<Slot> old(
      std::max(kFirstSlots, slots_.size() + slots_.size() / 2));
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.inode != 0) {
      size_t i = home(slot.inode, slot.device);
      while (slots_[i].inode != 0) {
        i = (i + 1) % slots_.size();
      }
      slots_[i] = slot;
    }
  }
}

// Removes by shifting back what was displaced by this slot, so that no
// tombstone is ever needed.
void LinkTracker::erase(Slot& slot) {
  drop_place(slot);
  auto hole = static_cast<size_t>(&slot - slots_.data());
  slots_[hole] = {};
  for (size_t i = (hole + 1) % slots_.size(); slots_[i].inode != 0;
       i = (i + 1) % slots_.size()) {
    size_t want = home(slots_[i].inode, slots_[i].device);
    size_t from_want = (i + slots_.size() - want) % slots_.size();
    size_t from_hole = (i + slots_.size() - hole) % slots_.size();
    if (from_want >= from_hole) {
      slots_[hole] = std::exchange(slots_[i], {});
      hole = i;
    }
  }
  size_t used = used_.load(std::memory_order_relaxed) - 1;
  used_.store(used, std::memory_order_release);
  if (used == 0) {  // All is seen: give the memory back.
    names_.assign(1, '\0');
    dead_name_bytes_ = 0;
  }
}

uint32_t LinkTracker::dir_index(std::shared_ptr<Dir> dir) {
  auto known = dir_numbers_.find(dir.get());
  if (known != dir_numbers_.end()) {
    return known->second;
  }
  uint32_t index = 0;
  if (free_dirs_.empty()) {
    index = static_cast<uint32_t>(dirs_.size());
    dirs_.emplace_back();
  } else {
    index = free_dirs_.back();
    free_dirs_.pop_back();
  }
  dir_numbers_[dir.get()] = index;
  dirs_[index] = {std::move(dir), 0};
  return index;
}

void LinkTracker::set_place(Slot& slot, std::shared_ptr<Dir> dir,
                            std::string_view name) {
  if (names_.size() > 4096 && dead_name_bytes_ > names_.size() / 2) {
    compact_names();
  }
  slot.dir = dir_index(std::move(dir));
  ++dirs_[slot.dir].slots;
  slot.name = static_cast<uint32_t>(names_.size());
  names_.append(name);
  names_ += '\0';
}

void LinkTracker::drop_place(Slot& slot) {
  if (slot.name == 0) {
    return;
  }
  dead_name_bytes_ += std::string_view(&names_[slot.name]).size() + 1;
  slot.name = 0;
  UsedDir& used = dirs_[slot.dir];
  if (--used.slots == 0) {
    dir_numbers_.erase(used.dir.get());
    used.dir.reset();
    free_dirs_.push_back(slot.dir);
  }
}

void LinkTracker::compact_names() {
  std::string kept(1, '\0');
  kept.reserve(names_.size() - dead_name_bytes_ + 256);
  for (Slot& slot : slots_) {
    if (slot.inode != 0 && slot.name != 0) {
      std::string_view name(&names_[slot.name]);
      slot.name = static_cast<uint32_t>(kept.size());
      kept.append(name);
      kept += '\0';
    }
  }
  names_ = std::move(kept);
  dead_name_bytes_ = 0;
}

LinkTracker::Slot* LinkTracker::wait_made(InodeKey key, Lock& lock) {
  Slot* slot = look_up(key);
  while (slot != nullptr && slot->making != 0) {
    made_.wait(lock);
    slot = look_up(key);
  }
  return slot;
}

// The place of a slot, counting one more name; forgets the inode at the last.
LinkTracker::Place LinkTracker::take_place(Slot& slot) {
  Place place{dirs_[slot.dir].dir, std::string(&names_[slot.name])};
  if (--slot.remaining == 0) {
    erase(slot);
  }
  return place;
}

std::optional<LinkTracker::Place> LinkTracker::find(InodeKey key) {
  Lock lock(mutex_);
  Slot* slot = wait_made(key, lock);
  if (slot == nullptr) {
    return std::nullopt;
  }
  return take_place(*slot);
}

std::optional<LinkTracker::Place> LinkTracker::claim(InodeKey key,
                                                     uint64_t links) {
  Lock lock(mutex_);
  if (Slot* slot = wait_made(key, lock)) {
    return take_place(*slot);
  }
  insert(key, clamp_links(links - 1));
  return std::nullopt;
}

void LinkTracker::publish(InodeKey key, std::shared_ptr<Dir> dir,
                          std::string_view name) {
  {
    Lock lock(mutex_);
    if (Slot* slot = look_up(key)) {
      set_place(*slot, std::move(dir), name);
      slot->making = 0;
      if (slot->remaining == 0) {
        erase(*slot);
      }
    }
  }
  made_.notify_all();
}

void LinkTracker::abandon(InodeKey key) {
  {
    Lock lock(mutex_);
    if (Slot* slot = look_up(key)) {
      erase(*slot);
    }
  }
  made_.notify_all();
}

std::optional<LinkTracker::Place> LinkTracker::renew(InodeKey key,
                                                     const Place& failed) {
  Lock lock(mutex_);
  Slot* slot = wait_made(key, lock);
  if (slot == nullptr) {
    insert(key, 0);  // It was the last name: nobody else will ask.
    return std::nullopt;
  }
  Place place{dirs_[slot->dir].dir, std::string(&names_[slot->name])};
  if (place.dir != failed.dir || place.name != failed.name) {
    return place;
  }
  drop_place(*slot);
  slot->making = 1;
  return std::nullopt;
}

size_t LinkTracker::bytes() const {
  Lock lock(mutex_);
  return slots_.capacity() * sizeof(Slot) + names_.capacity();
}

}  // namespace lamina::copy
