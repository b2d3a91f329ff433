#pragma once
// The common part of `tbb-spec` and `tbb-spec-rw`: an operation holds one of oneTBB's speculative locks. They are the
// peers of `rtm` and make their own decisions.
//
//     wait until free -> begin -> subscribe: lock held? abort 0xff -> body -> commit
//           ^                                                 |
//           '--- retry advised, and fewer than ten tries? <-- abort
//                           else: take the lock
//
// So a try beside a held lock costs one of ten. A status without advice (capacity, a page fault) takes the lock at
// once. An operation that has given up never speculates again: the lemming effect is part of the comparison. oneTBB
// does not report aborts. XTEST inside the operation shows that it ran in a transaction; an abort undoes this answer
// with all else.
//
// Pools are topped up before the operation, not before each try, which is invisible here. An operation whose pool runs
// dry aborts ten times in vain and gets its memory under the lock.
//
// oneTBB speculates if CPUID lists RTM, whether transactions then commit or not. Latchlab believes its probe
// (src/arch/features.h). If either says no, the result is degraded.
#include <array>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>

#include "src/arch/features.h"
#include "src/machine/native.h"
#include "sync/coarse.h"
#include "sync/rtm_counters.h"

namespace latchlab {

/// The visible counts of oneTBB's elision, per thread. Between operations, ops = commits + fallbacks.
struct TbbElisionCounters {
  u64 ops = 0;        ///< operations begun
  u64 commits = 0;    ///< operations that needed no lock
  u64 fallbacks = 0;  ///< operations that took the lock: all of them if oneTBB does not speculate

  static constexpr auto fields() {
    using C = TbbElisionCounters;
    return std::array{CounterField{"ops", &C::ops}, CounterField{"commits", &C::commits},
                      CounterField{"fallbacks", &C::fallbacks}};
  }
  u64 elided() const { return commits; }
  /// Returns the contradiction between these counters in one line; empty if the sum holds.
  std::string inconsistency() const { return unaccounted(ops, "commits", commits, fallbacks); }
};

/// Returns the reason why oneTBB's speculative locks do not elide on a machine with these flags, or nothing if they do.
/// `why_not` is the reason why transactions do not work, or nothing if they do.
inline std::optional<std::string> why_no_tbb_elision(std::optional<std::string> why_not, const CpuFlags& flags) {
  if (why_not || flags.rtm) return why_not;
  return "hardware transactions work, but oneTBB believes CPUID, which lists no RTM";
}

/// A policy with one of oneTBB's speculative locks. `Reading` and `Writing` are its guards, as in OneLock.
template <std::derived_from<Native> M, class Lock, class Reading, class Writing = Reading>
class TbbElision : public CoarsePolicy<M> {
 public:
  static constexpr bool kElides = true;
  static constexpr std::string_view kWaitsElsewhere = "oneTBB's lock waits by itself";
  using Counters = TbbElisionCounters;

  /// Runs the probe of transactions now, so that it does not run inside one.
  explicit TbbElision(const NoOptions&) { (void)M::transactions_work(); }

  /// Returns the reason why this process never elides the lock, or nothing if oneTBB speculates and transactions work.
  static std::optional<std::string> degraded(const NoOptions&) {
    auto why = why_no_tbb_elision(why_no_rtm(), cpu_flags());
    if (why) why->insert(0, "oneTBB runs under its lock: ");
    return why;
  }

  template <class Me, class Body>
  [[gnu::always_inline]] auto read(Me& me, Body&& body) {
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
  [[gnu::always_inline]] auto inside(Me& me, DirectTx<M>& tx, Body& body) {
    // A failure is ignored: when memory is out, only an operation that needs memory must fail.
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

  Lock lock_;  // oneTBB pads it to lines of its own
};

}  // namespace latchlab
