// The one error that numbered work reports: that of the lowest number.
//
// Once a failure is known, work below it is still done, since it may fail too,
// and work above it is not begun; so the one that remains does not depend on
// how threads met. Any thread may call any function. For work in the order of a
// tree see copy/first_error.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include "base/error.h"

namespace lamina::copy {

class LowestFailure {
 public:
  struct Failure {
    // Nothing where all work was ended.
    std::optional<uint64_t> number;
    Error error;
  };

  // True when the work `number` is still to be done, or gone on with.
  bool wants(uint64_t number) const {
    return number < lowest_.load(std::memory_order_acquire);
  }
  bool any() const {
    return lowest_.load(std::memory_order_acquire) != kNone || ended();
  }

  // Notes the failure of a number.
  void note(uint64_t number, Error error) {
    std::lock_guard lock(mutex_);
    if (!ended() && number < lowest_.load(std::memory_order_relaxed)) {
      failure_ = Failure{number, std::move(error)};
      lowest_.store(number, std::memory_order_release);
    }
  }
  // Ends all work; what was noted before is forgotten, what comes is ignored.
  void end(Error error) {
    std::lock_guard lock(mutex_);
    if (!ended()) {
      failure_ = Failure{std::nullopt, std::move(error)};
      ended_.store(true, std::memory_order_release);
      lowest_.store(0, std::memory_order_release);
    }
  }
  bool ended() const { return ended_.load(std::memory_order_acquire); }

  std::optional<Failure> get() const {
    std::lock_guard lock(mutex_);
    return failure_;
  }

 private:
  static constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

  mutable std::mutex mutex_;
  std::atomic<uint64_t> lowest_{kNone};
  std::atomic<bool> ended_{false};
  std::optional<Failure> failure_;
};

}  // namespace lamina::copy
