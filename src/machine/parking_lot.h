#pragma once
// The parking lot: where threads sleep that wait for a cell to change. A store that may end waits is followed by a wake
// of its cell (Machine::wake). Only the addresses of cells are used, so a cell needs no room for its waiting threads,
// and may be gone when it is woken.
//
//     cell --hash--> space:  parked   threads that look, or sleep, here
//                            calls    counts the wakes; the kernel puts a thread to sleep while this has not changed
//
//     a waiting thread                           a thread that ends the wait
//     (1) parked += 1                            (5) store to the cell
//     (2) heavy fence                            (6) light fence
//     (3) seen = calls                           (7) if parked is not 0:
//     (4) look at the cell; if the wait is not   (8)   calls += 1
//         over: sleep while calls is seen, and   (9)   wake all threads of the space
//         go on with (3)
//
// No wake-up is lost:
//   1. By the fences (2) and (6), (4) sees the store (5), or (7) sees (1).
//   2. If (7) sees (1), (8) comes before (3) or after it. Before: (3) acquires (8), which released (5), so (4) sees the
//      store. After: the kernel finds that `calls` is not `seen`, or (9) finds the thread asleep.
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
///     sleep_while(word, seen)   returns at once if the word is not `seen`, and else after a wake_all(word); it may
///     also
///                               return without one
///     wake_all(word)
template <class M, class Kernel, u32 kSpaces = 256, class Bugs = parking::NoBugs>
class ParkingLot {
  struct alignas(kLineBytes) Space {
    typename M::template Atomic<u32> parked{0};
    typename M::template Atomic<u32> calls{0};
  };

 public:
  /// A thread's stay for one wait. The thread looks at its cell between two calls of pass().
  class Stay {
   public:
    Stay(ParkingLot& lot, const void* cell) : space_(lot.space_of(cell)) {}
    ~Stay() {
      if (announced_) space_.parked.fetch_add(-1u, kRelaxed);  // relaxed: a wake that misses it wakes no thread
    }
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;

    /// Announces the thread, or lets it sleep if it is announced. Returns true if it may have slept.
    bool pass() {
      const bool sleeps = announced_ || Bugs::kSleepUnseen;
      if (!announced_) {
        announced_ = true;
        space_.parked.fetch_add(1, kRelaxed);  // (1) relaxed: (2) orders it
        M::heavy_fence();                      // (2) pairs with (6)
        seen_ = space_.calls.load(kAcquire);   // (3) pairs with (8)
      }
      if (!sleeps) return false;
      Kernel::sleep_while(space_.calls, seen_);
      seen_ = space_.calls.load(kAcquire);  // (3) again
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
    M::light_fence();                                           // (6) pairs with (2)
    if (space.parked.load(kRelaxed) == 0) return false;         // (7) relaxed: (6) orders it
    if (!Bugs::kKeepCalls) space.calls.fetch_add(1, kRelease);  // (8) pairs with (3)
    Kernel::wake_all(space.calls);                              // (9)
    return true;
  }

 private:
  Space& space_of(const void* cell) { return spaces_[mix64(reinterpret_cast<u64>(cell)) % kSpaces]; }

  Space spaces_[kSpaces];
};

}  // namespace latchlab
