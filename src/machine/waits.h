#pragma once
// How threads of the system wait. A wait looks for about a microsecond (Native::wait_until). A longer one goes on in
// one of three ways, which the process chooses before its threads begin:
//
//   spin    the thread keeps its processor
//   yield   it offers the processor to other threads between looks
//   park    it sleeps in the kernel until a store ends its wait (parking_lot.h)
//
// Nothing here costs a wait that ends within that microsecond. Each thread counts what it does in longer ones. A store
// that may end waits costs one look at the way that was chosen.
//
// With more threads than processors, the harness also asks how often the kernel takes a processor away. A wait then
// asks the kernel for the thread's number of context switches before and after each yield or sleep, which takes about
// half a microsecond. From that follow two numbers that show what the lock and the scheduler do to each other:
//
//   1. A handover to a descheduled thread: a wait that was over when its thread came back from its last yield or sleep,
//      and the kernel had given the processor away in between. The time until the thread had a processor again was lost
//      for all that waited behind it.
//   2. A switch inside a wait. The other involuntary switches of a thread hit it at work, and perhaps inside a lock.
#include <array>
#include <atomic>
#include <optional>

#include "src/arch/heavy_fence.h"
#include "src/arch/pause.h"
#include "src/base/types.h"
#include "src/base/words.h"
#include "src/machine/parking_lot.h"

namespace latchlab {

enum class WaitBy { kSpin, kYield, kPark };
template <>
inline constexpr std::array kWords<WaitBy>{"spin"sv, "yield"sv, "park"sv};

/// The looks of a wait with a pause after each, about a microsecond, before it becomes a long one.
inline constexpr u32 kLooksBeforeLongWait = 32;

/// Offers the processor to other threads, and counts nothing.
void yield_processor();

/// The work of a thread in waits of more than a microsecond, since it began.
struct WaitCounts {
  u64 yields = 0;
  u64 parks = 0;  ///< calls of the kernel to sleep
  u64 wakes = 0;  ///< calls of the kernel to wake sleeping threads
  // The next two grow only while the process watches switches.
  u64 late_handovers = 0;      ///< waits that ended while the thread had no processor
  u64 involuntary_inside = 0;  ///< involuntary context switches in waits

  WaitCounts& operator+=(const WaitCounts& more) {
    yields += more.yields, parks += more.parks, wakes += more.wakes;
    late_handovers += more.late_handovers, involuntary_inside += more.involuntary_inside;
    return *this;
  }
  WaitCounts& operator-=(const WaitCounts& less) {
    yields -= less.yields, parks -= less.parks, wakes -= less.wakes;
    late_handovers -= less.late_handovers, involuntary_inside -= less.involuntary_inside;
    return *this;
  }
};

/// Numbers of context switches of a thread, since it began.
struct Switches {
  u64 voluntary = 0, involuntary = 0;

  friend bool operator==(const Switches&, const Switches&) = default;
};
/// Returns those of the calling thread, which takes about half a microsecond.
[[nodiscard]] Switches switches_of_this_thread();

/// Threads of the system, for the parking lot.
struct SystemThreads {
  template <class T>
  using Atomic = std::atomic<T>;

  static void heavy_fence() { fence_all_processors(); }             // pairs with light_fence
  static void light_fence() { std::atomic_signal_fence(kSeqCst); }  // pairs with heavy_fence
  static void sleep_while(const std::atomic<u32>& word, u32 seen);  // futex
  static void wake_all(const std::atomic<u32>& word);
};
using ThreadLot = ParkingLot<SystemThreads, SystemThreads>;

/// The way in which all threads of this process wait.
class Waits {
 public:
  /// Sets it, and whether waits look at context switches. Call it while no thread waits.
  static void set(WaitBy way, bool watches_switches) {
    way_ = way;
    watches_ = watches_switches;
  }
  /// Follows a store that may end waits for the cell.
  [[gnu::always_inline]] static inline void wake(const void* cell) {
    if (way_ == WaitBy::kPark) [[unlikely]]
      wake_parked(cell);
  }
  /// Offers the processor to other threads, unless threads spin.
  static void yield();
  /// Returns the counts of the calling thread.
  [[nodiscard]] static WaitCounts of_this_thread();

 private:
  friend class LongWait;
  [[gnu::noinline, gnu::cold]] static void wake_parked(const void* cell);

  // Plain, since they change only while no thread waits: starting the threads publishes them.
  static inline constinit WaitBy way_ = WaitBy::kYield;
  static inline constinit bool watches_ = false;
};

/// A wait for a cell that has lasted for about a microsecond.
class LongWait {
 public:
  explicit LongWait(const void* cell);
  ~LongWait();
  LongWait(const LongWait&) = delete;
  LongWait& operator=(const LongWait&) = delete;

  /// Lets a moment pass: spins, yields or sleeps. The caller looks at the cell between two calls.
  void pass();

 private:
  void look_at_switches();

  std::optional<ThreadLot::Stay> stay_;  // if threads park
  u32 spins_ = 0;
  bool switched_ = false;  // since the caller's look before the last one
  Switches before_, last_;
};

/// Waits until done(value) is true of the atomic's value, which it returns. It always yields, and counts nothing: for
/// threads of the harness that wait for each other.
template <class A, class Done>
auto wait_by_yields(const A& atomic, Done&& done) {
  for (u32 looks = 0;; ++looks) {
    // Acquire: pairs with the releasing store of the value that ends the wait.
    if (const auto value = atomic.load(kAcquire); done(value)) return value;
    looks < kLooksBeforeLongWait ? pause_spin() : yield_processor();
  }
}

}  // namespace latchlab
