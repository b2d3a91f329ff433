#pragma once
// A limit on the bytes that several memories hold together: those of an index and of its values, or of several indexes.
//
//     MemoryBudget ----+
//     (a handle)       +---> Sum: limit, charged        charged <= limit at every moment
//     its copies  -----+
//
// A copy of a budget is the same budget, so all memories of one configuration share it. A memory charges bytes before
// it takes them from the system, and refunds them after it has given them back. So the memories never hold more than
// the limit, and a charge that is refused changes nothing. No sum of a charge that will be refused is ever visible: it
// would make another thread's charge fail that fits.
#include <atomic>
#include <memory>

#include "src/base/types.h"

namespace latchlab {

class MemoryBudget {
 public:
  /// Makes a budget without a limit, which costs its users nothing.
  MemoryBudget() = default;
  /// Makes a new budget of `limit` bytes; 0 is no limit. Throws std::bad_alloc.
  MemoryBudget(u64 limit)  // NOLINT: converts implicitly, since users know it as a number of bytes
      : sum_(limit == 0 ? nullptr : std::make_shared<Sum>(limit)) {}

  /// Charges bytes; returns false if they do not fit. Any thread may call it.
  [[nodiscard]] bool charge(u64 bytes) const {
    if (sum_ == nullptr) return true;
    // Relaxed, here and in refund: the sum guards no other memory, and changes of one word are in one order.
    u64 now = sum_->charged.load(kRelaxed);
    do {
      if (bytes > sum_->limit - now) return false;
    } while (!sum_->charged.compare_exchange_weak(now, now + bytes, kRelaxed));
    return true;
  }
  /// Takes back the charge for bytes that the system has again. Any thread may call it.
  void refund(u64 bytes) const {
    if (sum_ != nullptr) sum_->charged.fetch_sub(bytes, kRelaxed);
  }

  /// Returns the limit in bytes; 0 if there is none.
  [[nodiscard]] u64 bytes() const { return sum_ == nullptr ? 0 : sum_->limit; }
  /// Returns the bytes that are charged now; 0 if there is no limit.
  [[nodiscard]] u64 charged() const { return sum_ == nullptr ? 0 : sum_->charged.load(kRelaxed); }

 private:
  // Has its lines for itself: with malloc every block of every thread writes it.
  struct alignas(kFalseSharingBytes) Sum {
    explicit Sum(u64 most) : limit(most) {}
    const u64 limit;
    std::atomic<u64> charged{0};
  };

  std::shared_ptr<Sum> sum_;
};

}  // namespace latchlab
