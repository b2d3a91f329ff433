#pragma once
// `rtm:N`: the global lock of `spin`, elided. Every operation first runs as a hardware transaction that only
// reads the lock word; after N restarts it takes the lock.
//
//     wait until free -> begin -> subscribe: lock held? abort 0xff -> body -> commit
//           ^                                                 |
//           '---------------- budget left? <------ abort -----'
//                   else: lock free? take it : wait and speculate again (respec), or queue for it
//
// The invariant: a transaction commits only while nobody holds the lock. It reads the word first, so it has
// the word in its read set for as long as it sees anything of the index, and the exchange of whoever takes
// the lock aborts it. (Reading it last would be cheaper and is unsound: a transaction beside a lock holder
// sees half-done work and may run anywhere.)
//
// It is deliberately plain: any status costs one restart, as in Leis's measurements; using what is known about
// statuses would be another policy. Options, all printed with every result:
//
//   wait         wait until the lock is free before each try: a try beside a held lock only burns a restart
//   busy_counts  an abort because the lock was held costs a restart too. Where it does not, the next try
//                waits for the lock whatever `wait` says, or it would spin without bound
//   obey_retry   take the lock at once when the processor says that a retry is useless. Our own aborts (lock
//                held, pool dry) carry no advice and only cost their restart
//   respec       if the lock is held when the budget is used up, wait and speculate with a new budget instead
//                of queueing for it. Without this one fallback draws everybody behind it into falling back
//                (the lemming effect)
//
// Inside the transaction there is nothing but the subscription, the body, and one store of its result: no
// counter (its line would be written by everybody), no PAUSE, no allocation that can reach the kernel: pools
// are topped up before each try.
//
// Where transactions do not work the policy runs on its lock, counts every operation as a fallback, and says
// why in degraded().
#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/arch/features.h"
#include "src/base/spec.h"
#include "sync/coarse.h"
#include "sync/rtm_counters.h"
#include "sync/seeded_bugs.h"
#include "sync/spin_lock.h"

namespace latchlab {

/// The words of the essay above, with their defaults.
struct RtmOptions {
  u64 restarts = 20;   ///< tries after the first, 0 to 1,000,000; the number after the colon
  bool wait = true;
  bool busy_counts = true;
  bool obey_retry = false;
  bool respec = true;

  /// Throws InputError for a word that is none of these, or a value out of range.
  static RtmOptions parse(const Spec& spec);
  /// All of them with their values in effect, in the order above.
  std::vector<std::pair<std::string, std::string>> resolved() const;
  /// The meaning of one, for `harness list`; empty for an unknown word.
  static std::string about(std::string_view key);
};

template <class M, class Bugs = NoBugs>
class Rtm : public CoarsePolicy<M, Bugs> {
 public:
  static constexpr std::string_view kName = "rtm";
  static constexpr std::string_view kAbout = "one global lock, elided by hardware transactions";
  static constexpr bool kElides = true;
  using Options = RtmOptions;
  using Counters = RtmCounters;

  explicit Rtm(const Options& options) : options_(options), elides_(M::transactions_work()) {}

  /// Why this process runs `rtm` on its lock; nothing where transactions work.
  static std::optional<std::string> degraded(const Options&) {
    if (M::transactions_work()) return std::nullopt;
    return "rtm runs on its lock: " + why_no_rtm().value_or("this machine has no transactions");
  }

  template <class Me, class Body>
  auto read(Me& me, Body&& body) {
    DirectTx<M> tx(me.context);
    auto attempt = run_elided(me, tx, body);
    return finish_reading(*attempt);
  }

  template <class Me, class Body>
  auto write(Me& me, Body&& body) {
    DirectTx<M> tx(me.context);
    auto attempt = run_elided(me, tx, body);
    return finish_writing(tx, *attempt);
  }

 private:
  template <class Me, class Body>
  [[gnu::always_inline]] inline auto run_elided(Me& me, DirectTx<M>& tx, Body& body) {
    RtmCounters& count = me.counters;
    std::optional<std::invoke_result_t<Body&, DirectTx<M>&>> attempt;
    const auto run = [&] { attempt.emplace(body(tx)); };
    ++count.ops;
    if (elides_ && speculate(me, tx, run)) [[likely]] {
      ++count.commits;
    } else {
      if (!elides_) lock_.lock();   // speculate comes back with it
      ++count.fallbacks;
      run();
      if constexpr (!Bugs::kDropFallbackLock) lock_.unlock();
    }
    return attempt;
  }

  /// True when `run` has committed in a transaction; false when it has not, and this thread now holds the
  /// lock.
  template <class Me, class Run>
  [[nodiscard]] [[gnu::always_inline]] inline bool speculate(Me& me, DirectTx<M>& tx, Run& run) {
    RtmCounters& count = me.counters;
    u64 extra = 0;   // what the pool must hold beyond the usual, once an attempt has needed more
    for (;; ++count.respeculations) {
      for (u64 tries_left = options_.restarts + 1; tries_left > 0;) {
        if (options_.wait) lock_.await_free();
        // When memory is out this fails, and only who needs memory must fall back and fail.
        (void)me.context.top_up();
        const u32 status = transact(count, run);
        if (status == kCommitted) [[likely]] return true;
        tx.blocks().abandon();
        count.abort(status);
        const AbortCause cause = classify(status);
        if (cause == AbortCause::kLockBusy && !options_.busy_counts) {
          lock_.await_free();
          continue;
        }
        if (cause == AbortCause::kArena) {
          extra = std::clamp(2 * extra, Pool<M>::kAttemptBytes, Pool<M>::kLargestCarved);
          (void)me.context.top_up(extra);
        }
        if (options_.obey_retry && !(status & (kAbortRetry | kAbortExplicit))) break;
        --tries_left;
      }
      if constexpr (Bugs::kDropFallbackLock) return false;
      if (lock_.try_lock()) return false;
      if (!options_.respec) {
        lock_.lock();
        return false;
      }
      lock_.await_free();
    }
  }

  template <class Run>
  [[gnu::always_inline]] inline u32 transact(RtmCounters& count, Run& run) {
    const auto subscribe_and_run = [&] {
      if constexpr (!Bugs::kDropSubscription) {
        if (lock_.busy()) M::template abort<kBusyCode>();
      }
      run();
    };
    if constexpr (Bugs::kCountInside) {
      // An abort takes the count back with everything else.
      typename M::template Plain<u64> begun(0);
      const u32 status = M::transact([&] {
        begun.store(1);
        subscribe_and_run();
      });
      count.begins += begun.load();
      return status;
    } else {
      ++count.begins;
      return M::transact(subscribe_and_run);
    }
  }

  const Options options_;
  const bool elides_;
  [[no_unique_address]] typename M::Elision elision_;
  SpinLock<M> lock_;
};

}  // namespace latchlab
