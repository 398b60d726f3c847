// A ring of slabs: the memory through which a decoded layer flows.
//
// A SlabRing owns a fixed number of buffers that are used again and again; a
// SlabRef is one share in one of them. The last share to go gives the slab
// back. When none is free, acquire() waits: that is the back-pressure which
// keeps a fast decoder from running ahead of a slow disk, and the bound on
// memory. Slabs are allocated when first needed, so a small layer costs little,
// and the slab freed last is taken first, while its bytes are still in the
// cache.
//
// Any thread may acquire, copy and drop shares. A slab's bytes are written by
// the one who acquired it, before it is shared, and by nobody after.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "archive/bytes.h"
#include "base/error.h"

namespace lamina::archive {

class SlabRing;
struct Slab;

class SlabRef {
 public:
  SlabRef() = default;
  SlabRef(const SlabRef& other) noexcept;
  SlabRef(SlabRef&& other) noexcept
      : slab_(std::exchange(other.slab_, nullptr)) {}
  SlabRef& operator=(SlabRef other) noexcept {
    std::swap(slab_, other.slab_);
    return *this;
  }
  ~SlabRef();

  // False for "no slab": memory that somebody else keeps alive.
  bool held() const { return slab_ != nullptr; }

  // The whole buffer. Empty without a slab.
  MutableBytes memory() const;

 private:
  friend class SlabRing;
  explicit SlabRef(Slab* slab)
      : slab_(slab) {}

  Slab* slab_ = nullptr;
};

// A piece of the decoded stream and the share that keeps it. Without a slab the
// bytes lie in memory that outlives the stream.
struct Slice {
  SlabRef slab;
  Bytes bytes;
};

class SlabRing {
 public:
  // 1 MiB was the fastest of 256 KiB, 1 and 4 MiB. A multiple of the tar block,
  // so that a header never lies in two slabs.
  static constexpr size_t kSlabBytes = size_t{1} << 20;
  static constexpr size_t kSlabs = 16;
  // One being filled, one being read, one whose header is still needed while
  // the body of its entry flows, and one on its way.
  static constexpr size_t kFewestSlabs = 4;

  // Requires count >= kFewestSlabs.
  explicit SlabRing(size_t count = kSlabs, size_t slab_bytes = kSlabBytes);
  SlabRing(const SlabRing&) = delete;
  SlabRing& operator=(const SlabRing&) = delete;
  // Requires that no share is left.
  ~SlabRing();

  // Waits for a free slab. After cancel() the answer is a share of nothing.
  // Throws std::bad_alloc when a new slab cannot be had.
  SlabRef acquire();

  // Ends all waiting, now and later.
  void cancel();

  // How many slabs could be acquired now without waiting. A thread that would
  // both use up the slabs and set them free looks here before it waits.
  size_t available() const;

  size_t slab_bytes() const { return slab_bytes_; }
  size_t slabs() const { return count_; }

 private:
  friend class SlabRef;
  void give_back(Slab* slab);

  const size_t count_;
  const size_t slab_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  // Guarded by the mutex.
  std::vector<std::unique_ptr<Slab>> made_;
  std::vector<Slab*> free_;
  bool cancelled_ = false;
};

// A decoded layer as slices in order, each but the last a multiple of 512
// bytes.
class SliceStream {
 public:
  SliceStream() = default;
  SliceStream(const SliceStream&) = delete;
  SliceStream& operator=(const SliceStream&) = delete;
  virtual ~SliceStream() = default;

  // The next slice, never empty; nothing at the end of the stream, and again
  // whenever asked after it. After a failure the stream is of no more use.
  virtual Result<std::optional<Slice>> next() = 0;

  // Goes on behind up to `bytes` bytes, a multiple of 512, where they need not
  // be read, and says how many it passed over. Not beyond the end.
  virtual uint64_t pass_over(uint64_t /*bytes*/) { return 0; }
};

// A plain tar that lies in memory, as slices that point into it.
class MemorySlices final : public SliceStream {
 public:
  // Requires that the bytes outlive every slice, and `slice_bytes` to be a
  // multiple of 512.
  explicit MemorySlices(Bytes bytes, size_t slice_bytes = SlabRing::kSlabBytes)
      : rest_(bytes),
        slice_bytes_(slice_bytes) {}

  Result<std::optional<Slice>> next() override;

 private:
  Bytes rest_;
  const size_t slice_bytes_;
};

}  // namespace lamina::archive
