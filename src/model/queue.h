#pragma once
// The queue at a memory channel or a link: one line after the other, at a bandwidth.
//
// Requests do not come in the order of their starts, because a thread may ask now for a miss that starts once another
// one is back. One "next free" moment would make a request wait for one that starts later. So time is cut into slots,
// each with the service that it has given away:
//
//     slot    | ####     | ######## | ##       |          a request takes the first slot at or after its start that is
//     taken     4          8 (full)   2                   not full; it waits for what that slot has given away
//
// At saturation this is a "next free" queue, and its bandwidth is exact. The ring holds the last slots; a request that
// starts before them does not wait.
#include <algorithm>
#include <utility>
#include <vector>

#include "src/base/types.h"
#include "src/model/parameters.h"

namespace latchlab::model {

class Queue {
 public:
  /// Makes an idle queue of this bandwidth in GB/s, which are bytes a nanosecond.
  explicit Queue(double gbps) : service_(nearest_whole(kLineBytes / gbps * kTicksPerNs * kFine)), slots_(kSlots) {}

  /// Takes the service of one line from `start` on; returns how long the line waits for it. O(full slots on the way).
  Ticks take(Ticks start) {
    for (u64 number = start / kSlotTicks;; ++number) {
      Slot& slot = slots_[number % kSlots];
      if (slot.number > number) return 0;  // the ring has moved on
      if (slot.number < number) slot = {.number = number, .taken = 0};
      if (slot.taken >= kSlotTicks * kFine) continue;
      const u64 earliest = std::max(start, number * kSlotTicks);
      const u64 served = std::max(earliest * kFine, number * kSlotTicks * kFine + slot.taken);
      slot.taken += service_;
      // What does not fit is taken from the slots that follow.
      Slot* full = &slot;
      for (u64 next = number + 1; full->taken > kSlotTicks * kFine; ++next) {
        Slot& after = slots_[next % kSlots];
        if (after.number > next) break;
        if (after.number < next) after = {.number = next, .taken = 0};
        after.taken += std::exchange(full->taken, kSlotTicks * kFine) - kSlotTicks * kFine;
        full = &after;
      }
      return served / kFine - start;
    }
  }

 private:
  static constexpr u64 kFine = 1024;        // parts of a tick, in which a service is counted
  static constexpr Ticks kSlotTicks = 128;  // 8 ns: a wait is too short by at most this
  static constexpr u64 kSlots = 16384;      // 131 us
  struct Slot {
    u64 number = 0, taken = 0;
  };

  u64 service_;
  std::vector<Slot> slots_;
};

}  // namespace latchlab::model
