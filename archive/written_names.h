// The names a layer has written, to tell them from those of lower layers.
//
// A set of 128-bit keyed digests of (directory, name), 24 bytes a name on
// average. The key is drawn anew for each set, so that a layer cannot be made
// to collide; two names meet by chance once in 2^60 layers of a million names.
// Names are only ever added. One thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace lamina::archive {

class WrittenNames {
 public:
  WrittenNames();

  void add(uint32_t directory, std::string_view name);
  bool has(uint32_t directory, std::string_view name) const;
  size_t size() const { return used_; }

 private:
  struct Digest {
    uint64_t high = 0;
    uint64_t low = 0;
    bool empty() const { return high == 0 && low == 0; }
    friend bool operator==(const Digest&, const Digest&) = default;
  };

  Digest digest(uint32_t directory, std::string_view name) const;
  size_t place(const Digest& digest) const;
  void grow();

  uint64_t key_[2] = {};
  std::vector<Digest> slots_;
  size_t used_ = 0;
};

}  // namespace lamina::archive
