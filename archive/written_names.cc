#include "archive/written_names.h"

#include <sys/random.h>

#include <bit>
#include <chrono>
#include <cstring>

namespace lamina::archive {

namespace {

// SipHash-2-4 with a 128-bit result, as its authors describe it (Aumasson and
// Bernstein, "SipHash: a fast short-input PRF").
class SipHash {
 public:
  SipHash(uint64_t key0, uint64_t key1)
      : v0_(key0 ^ 0x736f6d6570736575U),
        v1_(key1 ^ 0x646f72616e646f6dU ^ 0xee),
        v2_(key0 ^ 0x6c7967656e657261U),
        v3_(key1 ^ 0x7465646279746573U) {}

  void add(uint64_t word) {
    v3_ ^= word;
    round();
    round();
    v0_ ^= word;
  }

  void add(std::string_view bytes) {
    size_t left = bytes.size();
    const char* at = bytes.data();
    for (; left >= 8; left -= 8, at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, at, 8);
      add(word);
    }
    uint64_t last = uint64_t{bytes.size()} << 56;
    for (size_t i = 0; i < left; ++i) {
      last |= uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);
    }
    add(last);
  }

  uint64_t first() {
    v2_ ^= 0xee;
    return mixed();
  }
  uint64_t second() {
    v1_ ^= 0xdd;
    return mixed();
  }

 private:
  uint64_t mixed() {
    for (int i = 0; i < 4; ++i) {
      round();
    }
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

  void round() {
    v0_ += v1_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v3_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ += v3_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ += v1_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v2_ = std::rotl(v2_, 32);
  }

  uint64_t v0_;
  uint64_t v1_;
  uint64_t v2_;
  uint64_t v3_;
};

constexpr size_t kFirstSlots = 64;

}  // namespace

WrittenNames::WrittenNames()
    : slots_(kFirstSlots) {
  if (getrandom(key_, sizeof key_, 0) != sizeof key_) {
    // Before the kernel's pool is filled: a clock is better than a constant.
    key_[0] = static_cast<uint64_t>(
        std::chrono::steady_clock::now().time_since_epoch().count());
  }
}

WrittenNames::Digest WrittenNames::digest(uint32_t directory,
                                          std::string_view name) const {
  SipHash hash(key_[0], key_[1]);
  hash.add(directory);
  hash.add(name);
  Digest out{hash.first(), 0};
  out.low = hash.second();
  if (out.empty()) {
    out.low = 1;  // All zeros marks a free slot.
  }
  return out;
}

size_t WrittenNames::place(const Digest& digest) const {
  size_t i = digest.high % slots_.size();
  while (!slots_[i].empty() && slots_[i] != digest) {
    i = (i + 1) % slots_.size();
  }
  return i;
}

void WrittenNames::grow() {
  std::vector<Digest> old(slots_.size() + slots_.size() / 2);
  old.swap(slots_);
  for (const Digest& digest : old) {
    if (!digest.empty()) {
      slots_[place(digest)] = digest;
    }
  }
}

void WrittenNames::add(uint32_t directory, std::string_view name) {
  if ((used_ + 1) * 5 > slots_.size() * 4) {
    grow();
  }
  Digest wanted = digest(directory, name);
  Digest& slot = slots_[place(wanted)];
  if (slot.empty()) {
    slot = wanted;
    ++used_;
  }
}

bool WrittenNames::has(uint32_t directory, std::string_view name) const {
  return !slots_[place(digest(directory, name))].empty();
}

}  // namespace lamina::archive
