#pragma once
// What `tbb-spec` and `tbb-spec-rw` have in common: an operation runs inside one of oneTBB's speculative locks, which
// are the peers of `rtm` and decide for themselves.
//
//     wait until free -> begin -> subscribe: lock held? abort 0xff -> body -> commit
//           ^                                                 |
//           '--- retry advised, and fewer than ten tries? <-- abort
//                           else: take the lock
//
// So a try beside a held lock costs one of ten, a status without advice (capacity, a page fault) ends at the lock at
// once, and nobody speculates again: the lemming effect is part of what is compared. oneTBB tells nothing of its
// aborts. That an operation ran in a transaction is seen from inside: XTEST says so, and an abort takes the answer back
// with everything else.
//
// Pools are topped up before the operation, not before each try, which we do not see. One that runs dry inside aborts
// ten times in vain and gets its memory under the lock.
//
// oneTBB speculates where CPUID lists RTM, whatever transactions then do; we believe the probe (src/arch/features.h).
// Where either says no, the result is degraded.
#include <array>
#include <concepts>
#include <optional>
#include <string>

#include "src/arch/features.h"
#include "src/machine/native.h"
#include "sync/coarse.h"
#include "sync/rtm_counters.h"

namespace latchlab {

/// What can be seen of oneTBB's elision, per thread: ops = commits + fallbacks between operations.
struct TbbElisionCounters {
  u64 ops = 0;        ///< operations begun
  u64 commits = 0;    ///< that needed no lock
  u64 fallbacks = 0;  ///< that took it: all of them where oneTBB does not speculate

  static constexpr auto fields() {
    using C = TbbElisionCounters;
    return std::array{CounterField{"ops", &C::ops}, CounterField{"commits", &C::commits},
                      CounterField{"fallbacks", &C::fallbacks}};
  }
  u64 elided() const { return commits; }
  /// What contradicts what, in one line; empty when the sum holds.
  std::string inconsistency() const { return unaccounted(ops, "commits", commits, fallbacks); }
};

/// Why oneTBB's speculative locks do not elide on a machine with these flags, where transactions do not work for the
/// reason `why_not`, or do; nothing where they elide.
inline std::optional<std::string> why_no_tbb_elision(std::optional<std::string> why_not, const CpuFlags& flags) {
  if (why_not || flags.rtm) return why_not;
  return "hardware transactions work, but oneTBB asks CPUID, which lists no RTM";
}

/// `Reading` and `Writing` are guards of the Lock, as in OneLock.
template <std::derived_from<Native> M, class Lock, class Reading, class Writing = Reading>
class TbbElision : public CoarsePolicy<M> {
 public:
  static constexpr bool kElides = true;
  using Counters = TbbElisionCounters;

  /// Asks whether transactions work, so that nobody does so inside one for the first time.
  explicit TbbElision(const NoOptions&) { (void)M::transactions_work(); }

  /// Why the policy runs on its lock in this process; nothing where oneTBB speculates and transactions work.
  static std::optional<std::string> degraded(const NoOptions&) {
    auto why = why_no_tbb_elision(why_no_rtm(), cpu_flags());
    if (why) why->insert(0, "oneTBB runs on its lock: ");
    return why;
  }

  template <class Me, class Body>
  auto read(Me& me, Body&& body) {
    DirectTx<M> tx(*me.pool);
    auto attempt = inside<Reading>(me, tx, body);
    return finish_reading(attempt);
  }
  template <class Me, class Body>
  auto write(Me& me, Body&& body) {
    DirectTx<M> tx(*me.pool);
    auto attempt = inside<Writing>(me, tx, body);
    return finish_writing(tx, attempt);
  }

 private:
  template <class Guard, class Me, class Body>
  auto inside(Me& me, DirectTx<M>& tx, Body& body) {
    // When memory is out this fails, and only who needs memory must fail.
    (void)me.pool->top_up();
    bool elided = false;
    auto attempt = [&] {
      Guard guard(lock_);
      elided = M::in_transaction();
      return body(tx);
    }();
    ++me.counters.ops;
    ++(elided ? me.counters.commits : me.counters.fallbacks);
    return attempt;
  }

  Lock lock_;  // which sees to it that it is alone on its lines
};

}  // namespace latchlab
