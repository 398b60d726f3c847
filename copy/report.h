// How a copy was done: counts for the caller, and counters for its threads.
//
// Report is a value. Counters is what the threads of one copy add to; reading
// it gives sums that are exact once the copy has ended.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/error.h"

namespace lamina::copy {

struct Report {
  uint64_t directories = 0;
  // Regular files, by what became of them.
  uint64_t reflinked = 0;
  uint64_t linked = 0;           // To the source inode.
  uint64_t copied_by_range = 0;  // copy_file_range(2).
  uint64_t copied_by_read_write = 0;
  uint64_t empty_files = 0;      // Had no bytes to move.
  uint64_t links_recreated = 0;  // Further names of inodes within the tree.
  uint64_t link_fallbacks = 0;   // Wanted as links, made as copies.
  uint64_t symlinks = 0;
  uint64_t specials = 0;       // Devices, fifos, sockets.
  uint64_t bytes_logical = 0;  // Sizes of the files not linked.
  uint64_t bytes_written = 0;  // Bytes moved, not shared and not holes.
  // Attributes that the destination could not hold (Loss::forgiven).
  uint64_t forgiven_owners = 0;
  uint64_t forgiven_xattrs = 0;
  uint64_t forgiven_specials = 0;
  uint64_t forgiven_modes = 0;  // Set-id bits left off (Owner::none).
  std::string first_forgiven;   // The first instance, as a message.
  unsigned workers = 1;         // Threads that took part.
  std::chrono::duration<double> seconds{0};
};

// A copy's entries and bytes so far, for a progress bar. Any thread may read.
struct Progress {
  std::atomic<uint64_t> entries{0};
  std::atomic<uint64_t> bytes{0};
};

// What one thread counts; merged into the shared Report when its turn ends.
using Tally = Report;

class Counters {
 public:
  // Adds a tally and empties it.
  void add(Tally& tally);
  // Notes the first forgiven error's text in a tally.
  static void forgive(Tally& tally, uint64_t Tally::*which, const Error& error);
  Report get() const;

 private:
  mutable std::mutex mutex_;
  Report sum_;
};

}  // namespace lamina::copy
