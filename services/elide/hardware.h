#pragma once
// The two ways in which a program's mutexes are elided: by the processor, and with emulated aborts.
//
// ElidingThread asks for these; all are of the calling thread:
//
//     kIsolates       a transaction that has begun keeps its stores to itself
//     begin()         returns kCommitted inside a transaction, or the status of an abort, as often as it aborts
//     test()          true inside a transaction
//     end()           commits; only inside
//     abort<code>()   aborts, so that begin() returns explicit_status(code); only inside
//     pause(), yield(), now()   how it waits; nanoseconds of a clock that does not go back
#include <sched.h>
#include <time.h>

#include <array>

#include "src/arch/pause.h"
#include "src/arch/rtm.h"
#include "src/base/rng.h"

namespace latchlab::elide {

struct Waiting {
  static void pause() { pause_spin(); }
  static void yield() { sched_yield(); }
  static u64 now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<u64>(time.tv_sec) * 1'000'000'000 + static_cast<u64>(time.tv_nsec);
  }
};

/// The processor's transactions. ./bench elide has run the probe of src/arch/features.h before it starts the program.
struct Processor : Waiting {
  static constexpr bool kIsolates = true;
  [[gnu::always_inline]] static u32 begin() { return rtm_begin(); }
  [[gnu::always_inline]] static bool test() { return rtm_test(); }
  [[gnu::always_inline]] static void end() { rtm_end(); }
  template <u8 kCode>
  [[noreturn, gnu::always_inline]] static void abort() {
    rtm_abort<kCode>();
  }
};

/// No transactions: a share of begins fails with a status by a seed. After the others the lock is really taken, and
/// counted as a commit. So a program runs as it would without us, on any processor.
class EmulatedAborts : public Waiting {
 public:
  static constexpr bool kIsolates = false;
  /// The statuses, each as likely as the others.
  static constexpr std::array<u32, 6> kStatuses{explicit_status(kBusyCode),
                                                kAbortConflict | kAbortRetry,
                                                kAbortCapacity,
                                                kAbortNested | kAbortRetry,
                                                kAbortRetry,
                                                0};

  /// `rate` is the share of begins that fail, 0 to 1. Threads have streams of their own.
  EmulatedAborts(double rate, u64 seed, u64 stream) : draws_(seed, stream), rate_(rate) {}

  u32 begin() {
    const u64 word = draws_(begins_++);
    if (unit(word) >= rate_) return kCommitted;
    return kStatuses[bounded(mix64(word), kStatuses.size())];
  }
  static constexpr bool test() { return false; }
  static constexpr void end() {}
  template <u8 kCode>
  static constexpr void abort() {}

 private:
  Draws draws_;
  double rate_;
  u64 begins_ = 0;
};

}  // namespace latchlab::elide
