#pragma once
// What `rtm`, `hle:emulated` and `adaptive` have in common: the global lock of `spin`, elided by transactions.
//
//     begin -> subscribe: lock held? abort 0xff -> body -> commit
//       ^                                           |
//       '--- the policy decides how often <------ abort
//                   else: under the lock, a fallback
//
// The invariant: a transaction commits only while nobody holds the lock. It reads the word first, so it has the word in
// its read set for as long as it sees anything of the index, and the exchange of whoever takes the lock aborts it.
// (Reading it last would be cheaper and is unsound: a transaction beside a lock holder sees half-done work and may run
// anywhere.)
//
// Inside a transaction there is nothing but the subscription, the body, and one store of its result: no counter (its
// line would be written by everybody), no PAUSE, no allocation that can reach the kernel: pools are topped up before
// each try.
//
// A policy derives with itself as `Self`, and decides in
//
//     u32 try_once(me, tx, run)            // a transact(), and what must come before it
//     bool speculate(me, tx, run, status)  // after a first try that aborted with it. true: `run` committed in another;
//                                          // false: this thread now holds lock_
//
// which are called only where the lock is elided; elsewhere every operation is a fallback. A policy that elides in
// another way has a run_elided of its own.
#include <optional>
#include <type_traits>

#include "sync/coarse.h"
#include "sync/rtm_counters.h"
#include "sync/seeded_bugs.h"
#include "sync/spin_lock.h"

namespace latchlab {

template <class Self, class M, class Bugs>
class ElidedLock : public CoarsePolicy<M, Bugs> {
 public:
  static constexpr bool kElides = true;
  using Counters = RtmCounters;

  template <class Me, class Body>
  auto read(Me& me, Body&& body) {
    DirectTx<M> tx(*me.pool);
    auto attempt = inside(me, tx, body);
    return finish_reading(*attempt);
  }

  template <class Me, class Body>
  auto write(Me& me, Body&& body) {
    DirectTx<M> tx(*me.pool);
    auto attempt = inside(me, tx, body);
    return finish_writing(tx, *attempt);
  }

 protected:
  explicit ElidedLock(bool elides) : elides_(elides) {}

  /// Runs `run` once to its end, in a transaction or under the lock, and counts which.
  template <class Me, class Tx, class Run>
  [[gnu::always_inline]] inline void run_elided(Me& me, Tx& tx, const Run& run) {
    if (elides_) [[likely]] {
      const u32 status = static_cast<Self&>(*this).try_once(me, tx, run);
      if (status != kCommitted) [[unlikely]]
        return run_again(me, tx, run, status);
      ++me.counters.commits;
    } else {
      ++me.counters.fallbacks;
      lock_.lock();
      run();
      lock_.unlock();
    }
  }

  /// Waits until nobody holds the lock, and counts how long.
  [[gnu::always_inline]] inline void await_free(RtmCounters& count) const {
    if (!lock_.busy()) [[likely]]
      return;
    const u64 since = M::now();
    lock_.await_free();
    count.wait_ns += M::now() - since;
  }

  /// One try: kCommitted, or the abort status, which is counted; then everything is as before it.
  template <class Run>
  [[nodiscard, gnu::always_inline]] inline u32 transact(RtmCounters& count, AttemptBlocks<M>& blocks, const Run& run) {
    const auto subscribe_and_run = [&] {
      if (!Bugs::kDropSubscription) {
        if (lock_.busy()) M::template abort<kBusyCode>();
      }
      run();
    };
    u32 status;
    if (Bugs::kCountInside) {
      // An abort takes the count back with everything else.
      typename M::template Plain<u64> begun(0);
      status = M::transact([&] {
        begun.store(1);
        subscribe_and_run();
      });
      count.begins += begun.load();
    } else {
      ++count.begins;
      status = M::transact(subscribe_and_run);
    }
    if (status != kCommitted) [[unlikely]] {
      blocks.abandon();
      count.abort(status);
    }
    return status;
  }

  /// Runs the body to its end, and counts how.
  template <class Me, class Tx, class Body>
  [[gnu::always_inline]] inline auto inside(Me& me, Tx& tx, Body& body) {
    std::optional<std::invoke_result_t<Body&, Tx&>> attempt;
    ++me.counters.ops;
    static_cast<Self&>(*this).run_elided(me, tx, [&] { attempt.emplace(body(tx)); });
    return attempt;
  }

  const bool elides_;
  SpinLock<M> lock_;

 private:
  /// An operation whose first try has aborted. Out of the way of those that commit at once.
  template <class Me, class Tx, class Run>
  [[gnu::noinline]] void run_again(Me& me, Tx& tx, const Run& run, u32 status) {
    RtmCounters& count = me.counters;
    const u64 since = M::now(), begins = count.begins;
    const bool committed = static_cast<Self&>(*this).speculate(me, tx, run, status);
    const u64 now = M::now();
    count.retry_ns += now - since;
    if (committed) {
      count.commit(count.begins - begins + 1);
      return;
    }
    ++count.fallbacks;
    run();
    if (!Bugs::kDropFallbackLock) lock_.unlock();
    count.hold_ns += M::now() - now;
  }

  [[no_unique_address]] typename M::Elision elision_;
};

}  // namespace latchlab
