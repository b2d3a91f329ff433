#pragma once
// What policies that run hardware transactions count, per thread and outside of them. Sums that must hold at any time
// between operations:
//
//     begins = commits + aborts of all classes        of an elided lock: ops = commits + fallbacks
#include <array>
#include <string>

#include "src/arch/rtm_status.h"
#include "src/stats/counters.h"

namespace latchlab {

/// Of every policy that runs transactions.
struct TransactionCounters {
  u64 begins = 0;         ///< transactions begun
  u64 commits = 0;        ///< transactions committed
  u64 lock_busy = 0, arena = 0, explicit_other = 0;   ///< aborts by class, see AbortCause
  u64 nested = 0, debug = 0, capacity = 0, conflict = 0, retry_only = 0, zero = 0;

  /// The counter of each class, in the order of AbortCause. Their names are those of kAbortCauseNames.
  static constexpr auto abort_fields() {
    using C = TransactionCounters;
    return std::array{&C::lock_busy, &C::arena,    &C::explicit_other, &C::nested, &C::debug,
                      &C::capacity,  &C::conflict, &C::retry_only,     &C::zero};
  }

  /// All fields of a struct C that has these and its `own`.
  template <class C, std::size_t kOwn>
  static constexpr auto fields_beside(const std::array<CounterField<C>, kOwn>& own) {
    constexpr auto kCauses = abort_fields();
    std::array<CounterField<C>, kOwn + 2 + kCauses.size()> all{};
    std::size_t i = 0;
    for (const auto& field : own) all[i++] = field;
    all[i++] = {"begins", &C::begins};
    all[i++] = {"commits", &C::commits};
    for (std::size_t cause = 0; cause < kCauses.size(); ++cause) all[i++] = {kAbortCauseNames[cause], kCauses[cause]};
    return all;
  }

  /// Counts one abort with its status.
  constexpr void abort(u32 status) {
    constexpr auto kByCause = abort_fields();
    ++(this->*kByCause[static_cast<std::size_t>(classify(status))]);
  }

  /// Operations that needed no lock.
  constexpr u64 elided() const { return commits; }

  /// Of all classes.
  constexpr u64 aborts() const {
    u64 sum = 0;
    for (const auto member : abort_fields()) sum += this->*member;
    return sum;
  }

  /// What contradicts what, in one line; empty when the sum holds.
  std::string inconsistency() const {
    if (begins == commits + aborts()) return "";
    return "begins " + std::to_string(begins) + " are not commits " + std::to_string(commits) + " + aborts " +
           std::to_string(aborts());
  }
};

static_assert(TransactionCounters::abort_fields().size() == kAbortCauseNames.size());

/// What contradicts what, in one line; empty when each of `ops` operations was elided, as counted by `name`, or fell back.
inline std::string unaccounted(u64 ops, const char* name, u64 elided, u64 fallbacks) {
  if (ops == elided + fallbacks) return "";
  return "ops " + std::to_string(ops) + " are not " + name + " " + std::to_string(elided) + " + fallbacks " +
         std::to_string(fallbacks);
}

/// Of an elided lock.
struct RtmCounters : TransactionCounters {
  u64 ops = 0;            ///< operations begun
  u64 fallbacks = 0;      ///< operations that took the lock: all of them where transactions do not work
  u64 respeculations = 0; ///< new budgets because the lock was held when the old one was used up

  static constexpr auto fields() {
    using C = RtmCounters;
    return fields_beside(std::array{CounterField{"ops", &C::ops}, CounterField{"fallbacks", &C::fallbacks},
                                    CounterField{"respeculations", &C::respeculations}});
  }

  std::string inconsistency() const {
    if (std::string what = TransactionCounters::inconsistency(); !what.empty()) return what;
    return unaccounted(ops, "commits", commits, fallbacks);
  }
};

}  // namespace latchlab
