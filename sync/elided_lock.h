#pragma once
// The common part of `rtm`, `hle:emulated` and `adaptive`: the global lock of `spin`, elided by transactions.
//
//     begin -> subscribe: lock held? abort 0xff -> body -> commit
//       ^                                           |
//       '--- the policy decides how often <------ abort
//                   else: under the lock, a fallback
//
// The invariant: a transaction commits only while the lock is free. It reads the lock word first. So the word is in its
// read set while it reads the index, and the exchange of a thread that takes the lock aborts it. (Reading the word last
// would be cheaper but unsound: a transaction beside a lock holder sees half an operation and may execute anything; see
// lazy_subscription_test.cc.)
//
// A transaction contains only the subscription, the body, and one store of its result. It has no counter (all threads
// would write its line), no PAUSE, and no allocation that can reach the kernel. For that, pools are topped up before
// each try.
//
// A policy derives with itself as `Self`, and implements
//
//     u32 try_once(me, tx, run)            // prepares and calls transact()
//     bool speculate(me, tx, run, status)  // is called after the first try aborted with `status`; returns true if
//                                          // `run` committed in a later try, false if this thread now holds lock_
//
// They are called only if the lock is elided; otherwise every operation is a fallback. A policy that elides in another
// way has a run_elided of its own.
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
  [[gnu::always_inline]] auto read(Me& me, Body&& body) {
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

  /// Runs `run` once to its end, in a transaction or under the lock, and counts which of the two it was.
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

  /// Waits until the lock is free, and counts the time.
  [[gnu::always_inline]] inline void await_free(RtmCounters& count) const {
    if (!lock_.busy()) [[likely]]
      return;
    const u64 since = M::now();
    lock_.await_free();
    count.wait_ns += M::now() - since;
  }

  /// Makes one try. Returns kCommitted or the abort status, which it counts; after an abort all is as before the try.
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
      // An abort undoes the count with all else.
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

  /// Runs the body to its end, and counts the operation.
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
  /// Continues an operation whose first try has aborted. Not inlined, for the speed of operations that commit at once.
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
