#pragma once
// The parking lot: where threads sleep that wait for a cell to change. A store that may end waits is followed by a wake
// of its cell (Machine::wake). Only the addresses of cells are used, so a cell needs no room for its waiting threads,
// and may be gone when it is woken.
//
//     cell --hash--> space:  awaited  1 if a thread has announced itself since the last wake
//                            calls    counts the wakes; the kernel puts a thread to sleep while this has not changed
//
//     a waiting thread                           a thread that ends the wait
//     (1) seen = calls                           (5) store to the cell
//     (2) awaited = 1                            (6) light fence
//     (3) heavy fence                            (7) if awaited is not 0:
//     (4) look at the cell; if the wait is not   (8)   awaited = 0
//         over: sleep while calls is seen, look  (9)   calls += 1, and wake all threads of the space
//         again, and go on with (1)
//
// No wake-up is lost. Say that a thread sleeps for a wait that a store (5) has ended:
//   1. By the fences (3) and (6), (4) sees (5), or (7) sees (2) or what replaced it. The thread sleeps, so it is (7).
//   2. If (7) sees a 1, (9) follows. Else a wake has replaced the 1 of (2) by its (8), and its own (9) follows. Either
//      (9) comes after (1), since (8) acquires (2): so `calls` is not `seen`, and the thread does not sleep on.
//
// After (8) no thread calls the kernel in vain until a thread announces itself again. A woken thread may have to wait
// long for a processor, and unlocks go on meanwhile.
//
// All threads of a space are woken, since different cells may share it, and different waits a cell. Those whose wait is
// not over sleep again. So a word on which many threads wait (that of `spin`) wakes them all with each unlock.
//
// Asymmetric fences: see src/arch/heavy_fence.h. Parking in general: WebKit's WTF::ParkingLot; the counting of calls is
// that of event counts (D. Vyukov). WTF wakes single threads from queues, and its unlocks fence.
#include <climits>
#include <cstddef>
#include <type_traits>

#include "src/base/hash.h"
#include "src/base/types.h"

namespace latchlab {

namespace parking {

/// Bugs for tests to switch on (sync/seeded_bugs.h explains their use).
template <class Flag>
struct BugFlags {
  /// A thread sleeps without a look after it has announced itself.
  static inline Flag kSleepUnseen{};
  /// A wake does not change the count that a thread compares before it sleeps.
  static inline Flag kKeepCalls{};
};

using NoBugs = BugFlags<std::false_type>;

}  // namespace parking

/// `Kernel` puts threads to sleep:
///
///     sleep_while(word, seen)   returns at once if the word is not `seen`, and else after a wake_all(word)
///                               or without one
///     wake_all(word)            wakes them
///
template <class M, class Kernel, u32 kSpaces = 256, class Bugs = parking::NoBugs>
class ParkingLot {
  struct alignas(kLineBytes) Space {
    typename M::template Atomic<u32> awaited{0};
    typename M::template Atomic<u32> calls{0};
  };

 public:
  /// A thread's stay for one wait. The thread looks at its cell between two calls of pass().
  class Stay {
   public:
    Stay(ParkingLot& lot, const void* cell) : space_(lot.space_of(cell)) {}

    /// Announces the thread; if it is announced, lets it sleep. Returns true if it may have slept.
    bool pass() {
      if (!announced_) {
        announced_ = true;
        seen_ = space_.calls.load(kRelaxed);   // (1) relaxed: (2) orders it
        space_.awaited.exchange(1, kRelease);  // (2) pairs with (8), so that (1) comes before its (9)
        M::heavy_fence();                      // (3) pairs with (6)
        if (!Bugs::kSleepUnseen) return false;
      }
      announced_ = false;
      Kernel::sleep_while(space_.calls, seen_);
      return true;
    }

   private:
    Space& space_;
    u32 seen_ = 0;
    bool announced_ = false;
  };

  /// Wakes the threads that wait for the cell. Call it after a store to it. Returns true if there may have been one.
  bool wake(const void* cell) {
    Space& space = space_of(cell);
    M::light_fence();                                           // (6) pairs with (3)
    if (space.awaited.load(kRelaxed) == 0) return false;        // (7) relaxed: (6) orders it
    space.awaited.exchange(0, kAcquire);                        // (8) pairs with (2)
    if (!Bugs::kKeepCalls) space.calls.fetch_add(1, kRelease);  // (9) release: stays behind (8)
    Kernel::wake_all(space.calls);
    return true;
  }

 private:
  Space& space_of(const void* cell) { return spaces_[mix64(reinterpret_cast<u64>(cell)) % kSpaces]; }

  Space spaces_[kSpaces];
};

}  // namespace latchlab
