#pragma once
// What an elided lock counts, per thread and outside of transactions. Two sums must hold at any time between
// operations:
//
//     begins = commits + aborts of all classes        ops = commits + fallbacks
#include <array>
#include <string>

#include "src/arch/rtm_status.h"
#include "src/stats/counters.h"

namespace latchlab {

struct RtmCounters {
  u64 ops = 0;            ///< operations begun
  u64 begins = 0;         ///< transactions begun
  u64 commits = 0;        ///< transactions committed: operations that needed no lock
  u64 fallbacks = 0;      ///< operations that took the lock: all of them where transactions do not work
  u64 lock_busy = 0, arena = 0, explicit_other = 0;   ///< aborts by class, see AbortCause
  u64 nested = 0, debug = 0, capacity = 0, conflict = 0, retry_only = 0, zero = 0;
  u64 respeculations = 0; ///< new budgets because the lock was held when the old one was used up

  static constexpr auto fields() {
    using C = RtmCounters;
    return std::array{CounterField{"ops", &C::ops},
                      CounterField{"begins", &C::begins},
                      CounterField{"commits", &C::commits},
                      CounterField{"fallbacks", &C::fallbacks},
                      CounterField{"lock_busy", &C::lock_busy},
                      CounterField{"arena", &C::arena},
                      CounterField{"explicit_other", &C::explicit_other},
                      CounterField{"nested", &C::nested},
                      CounterField{"debug", &C::debug},
                      CounterField{"capacity", &C::capacity},
                      CounterField{"conflict", &C::conflict},
                      CounterField{"retry_only", &C::retry_only},
                      CounterField{"zero", &C::zero},
                      CounterField{"respeculations", &C::respeculations}};
  }

  /// The counter of each class, in the order of AbortCause. Their names are those of kAbortCauseNames.
  static constexpr auto abort_fields() {
    using C = RtmCounters;
    return std::array{&C::lock_busy, &C::arena,    &C::explicit_other, &C::nested, &C::debug,
                      &C::capacity,  &C::conflict, &C::retry_only,     &C::zero};
  }

  /// Counts one abort with its status.
  constexpr void abort(u32 status) {
    constexpr auto kByCause = abort_fields();
    ++(this->*kByCause[static_cast<std::size_t>(classify(status))]);
  }

  /// Of all classes.
  constexpr u64 aborts() const {
    u64 sum = 0;
    for (const auto member : abort_fields()) sum += this->*member;
    return sum;
  }

  /// What contradicts what, in one line; empty when both sums hold.
  std::string inconsistency() const {
    const auto text = [](u64 value) { return std::to_string(value); };
    if (begins != commits + aborts()) {
      return "begins " + text(begins) + " are not commits " + text(commits) + " + aborts " + text(aborts());
    }
    if (ops != commits + fallbacks) {
      return "ops " + text(ops) + " are not commits " + text(commits) + " + fallbacks " + text(fallbacks);
    }
    return "";
  }
};

static_assert(RtmCounters::abort_fields().size() == kAbortCauseNames.size());

}  // namespace latchlab
