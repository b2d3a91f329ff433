#pragma once
// `rtm:N`: the global lock of `spin`, elided (elided_lock.h). Every operation first runs as a hardware transaction that
// only reads the lock word. After N retries it takes the lock.
//
//     wait until free -> begin -> subscribe: lock held? abort 0xff -> body -> commit
//           ^                                                 |
//           '---------------- budget left? <------ abort -----'
//                   else: lock free? take it : wait and speculate again (respec), or queue for it
//
// It is deliberately simple: any status costs one retry, as in Leis's measurements. A policy that responds to statuses
// is `adaptive`. Every result prints these options:
//
//   wait         wait until the lock is free before each try: a try beside a held lock only wastes a retry
//   busy_counts  an abort because the lock was held costs a retry too. If it does not, the next try waits for the lock
//                whatever `wait` says; otherwise it would spin without bound
//   obey_retry   take the lock at once when the processor says that a retry is useless. Explicit aborts (lock held,
//                pool dry) carry no advice and only cost their retry
//   respec       if the lock is held when the budget is used up, wait and speculate with a new budget instead of
//                queueing for the lock. Otherwise one fallback makes all operations behind it fall back (the lemming
//                effect)
//
// If transactions do not work, the policy runs under its lock, counts every operation as a fallback, and gives the
// reason in degraded().
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/arch/features.h"
#include "src/base/spec.h"
#include "sync/elided_lock.h"

namespace latchlab {

/// The options described above, with their defaults.
struct RtmOptions {
  u64 restarts = 20;  ///< tries after the first, 0 to 1,000,000; the number after the colon
  bool wait = true;
  bool busy_counts = true;
  bool obey_retry = false;
  bool respec = true;

  /// Parses a spec. Throws InputError for an unknown option or a value out of range.
  static RtmOptions parse(const Spec& spec);
  /// Returns all options with their effective values, in the order above.
  std::vector<std::pair<std::string, std::string>> resolved() const;
  /// Returns the meaning of an option, for `harness list`; empty for an unknown word.
  static std::string about(std::string_view key);
};

template <class M, class Bugs = NoBugs>
class Rtm : public ElidedLock<Rtm<M, Bugs>, M, Bugs> {
  using Base = ElidedLock<Rtm, M, Bugs>;
  friend Base;

 public:
  static constexpr std::string_view kName = "rtm";
  static constexpr std::string_view kAbout = "one global lock, elided by hardware transactions";
  using Options = RtmOptions;

  explicit Rtm(const Options& options) : Base(M::transactions_work()), options_(options) {}

  /// Returns the reason why this process runs `rtm` under its lock, or nothing if transactions work.
  static std::optional<std::string> degraded(const Options&) {
    if (M::transactions_work()) return std::nullopt;
    return "rtm runs under its lock: " + why_no_rtm().value_or("this machine has no transactions");
  }

 private:
  template <class Me, class Run>
  [[nodiscard, gnu::always_inline]] inline u32 try_once(Me& me, DirectTx<M>& tx, const Run& run) {
    if (options_.wait) this->await_free(me.counters);
    (void)me.pool->top_up();  // a failure is ignored: only an operation that needs memory must fall back and fail
    return this->transact(me.counters, tx.blocks(), run);
  }

  template <class Me, class Run>
  [[nodiscard]] bool speculate(Me& me, DirectTx<M>& tx, const Run& run, u32 status) {
    RtmCounters& count = me.counters;
    u64 extra = 0;  // bytes that the pool must have ready beyond the usual, once an attempt has needed more
    u64 tries_left = options_.restarts + 1;
    while (status != kCommitted) {
      const AbortCause cause = classify(status);
      if (cause == AbortCause::kLockBusy && !options_.busy_counts) {
        this->await_free(count);
      } else {
        if (cause == AbortCause::kArena) {
          extra = std::clamp(2 * extra, Pool<M>::kAttemptBytes, Pool<M>::kLargestCarved);
          (void)me.pool->top_up(extra);
        }
        --tries_left;
        if (options_.obey_retry && !(status & (kAbortRetry | kAbortExplicit))) tries_left = 0;
      }
      if (tries_left == 0) {
        if (Bugs::kDropFallbackLock) return false;
        if (this->lock_.try_lock()) return false;
        if (!options_.respec) {
          this->lock_.lock();
          return false;
        }
        this->await_free(count);
        ++count.respeculations;
        tries_left = options_.restarts + 1;
      }
      status = try_once(me, tx, run);
    }
    return true;
  }

  const Options options_;
};

}  // namespace latchlab
