#include "archive/slab.h"

#include <algorithm>
#include <cassert>
#include <new>

namespace lamina::archive {

namespace {

// Page-aligned, so that a read(2) into a slab copies whole pages.
constexpr std::align_val_t kAlignment{4096};

struct FreePages {
  void operator()(std::byte* memory) const {
    ::operator delete[](memory, kAlignment);
  }
};

}  // namespace

struct Slab {
  Slab(SlabRing& owner, size_t bytes)
      : ring(owner),
        // new[] of bytes leaves them untouched: the kernel gives a page when
        // it is first written.
        memory(new (kAlignment) std::byte[bytes]) {}

  SlabRing& ring;
  std::atomic<uint32_t> shares = 0;
  std::unique_ptr<std::byte[], FreePages> memory;
};

SlabRef::SlabRef(const SlabRef& other) noexcept
    : slab_(other.slab_) {
  if (slab_ != nullptr) {
    slab_->shares.fetch_add(1, std::memory_order_relaxed);
  }
}

SlabRef::~SlabRef() {
  // acq_rel: whoever gets the slab next must see every read of it as done.
  if (slab_ != nullptr &&
      slab_->shares.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    slab_->ring.give_back(slab_);
  }
}

MutableBytes SlabRef::memory() const {
  if (slab_ == nullptr) {
    return {};
  }
  return {slab_->memory.get(), slab_->ring.slab_bytes()};
}

SlabRing::SlabRing(size_t count, size_t slab_bytes)
    : count_(count),
      slab_bytes_(slab_bytes) {
  assert(count_ >= kFewestSlabs);
  made_.reserve(count_);
  free_.reserve(count_);
}

SlabRing::~SlabRing() {
  assert(free_.size() == made_.size());
}

SlabRef SlabRing::acquire() {
  std::unique_lock lock(mutex_);
  freed_.wait(lock, [&] {
    return cancelled_ || !free_.empty() || made_.size() < count_;
  });
  if (cancelled_) {
    return {};
  }
  Slab* slab = nullptr;
  if (free_.empty()) {
    slab = made_.emplace_back(std::make_unique<Slab>(*this, slab_bytes_)).get();
  } else {
    slab = free_.back();
    free_.pop_back();
  }
  slab->shares.store(1, std::memory_order_relaxed);
  return SlabRef(slab);
}

void SlabRing::cancel() {
  {
    std::lock_guard lock(mutex_);
    cancelled_ = true;
  }
  freed_.notify_all();
}

size_t SlabRing::available() const {
  std::lock_guard lock(mutex_);
  return free_.size() + (count_ - made_.size());
}

void SlabRing::give_back(Slab* slab) {
  // Notified under the lock: once it is let go, the ring may be destroyed.
  std::lock_guard lock(mutex_);
  free_.push_back(slab);
  freed_.notify_one();
}

Result<std::optional<Slice>> MemorySlices::next() {
  if (rest_.empty()) {
    return std::nullopt;
  }
  Bytes slice = rest_.first(std::min(rest_.size(), slice_bytes_));
  rest_ = rest_.subspan(slice.size());
  return Slice{.slab = {}, .bytes = slice};
}

}  // namespace lamina::archive
