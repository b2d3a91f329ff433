#pragma once
// `adaptive`: the global lock of `spin`, elided by transactions (elided_lock.h), with a response to each cause of
// abort.
//
//     lock busy    wait until the lock is free; this costs no budget
//     pool dry     fill it outside, with more each time; after eight times memory must be out: take the lock
//     zero         probably a page that was never touched, or whose Accessed bit was cleared: scout (scouting_tx.h) and
//                  try again, at most twice, then take the lock. A retry alone never helps, because the page stays as
//                  it is
//     capacity     try again once, because it may have been chance; then take the lock. A thread whose operations are
//                  often too large skips speculation for a while
//     conflict     wait a random time; from the third conflict on, retry in a queue, one operation at a time, while the
//                  others run
//     any other    try again while there is budget
//
// When the budget is used up and the lock is free, take it. Otherwise wait and speculate with a new budget, as `rtm`
// does with respec=1. The budget is learned (budget_learner.h). It may be 0, because a lone thread is better off with
// the lock. Such an operation is counted as direct_lock, not as a fallback.
//
// Scouts read beside transactions and beside the lock's holder. So cells are racy, and unlinked nodes wait for a grace
// period. Only scouts enter an epoch, because all other operations exclude each other.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <type_traits>

#include "src/arch/features.h"
#include "src/reclaim/epochs.h"
#include "sync/backoff.h"
#include "sync/budget_learner.h"
#include "sync/elided_lock.h"
#include "sync/mcs.h"
#include "sync/scouting_tx.h"

namespace latchlab {

/// ops = commits + fallbacks + direct_lock.
struct AdaptiveCounters : RtmCounters {
  u64 direct_lock = 0;     ///< operations that took the lock without speculation: budget 0, or skipped
  u64 skips = 0;           ///< the skipped ones of these: earlier operations were too large for a transaction
  u64 scouts = 0;          ///< runs of a body that only touched pages
  u64 scout_repaired = 0;  ///< scouts after which the next try committed
  u64 queued = 0;          ///< operations that entered the queue of conflicts
  u64 budget_changes = 0;  ///< the number of times that another budget became the cheapest

  static constexpr auto fields() {
    using C = AdaptiveCounters;
    return fields_of_elision(std::array<CounterField<C>, 6>{{{"direct_lock", &C::direct_lock},
                                                             {"skips", &C::skips},
                                                             {"scouts", &C::scouts},
                                                             {"scout_repaired", &C::scout_repaired},
                                                             {"queued", &C::queued},
                                                             {"budget_changes", &C::budget_changes}}});
  }
  std::string inconsistency() const {
    if (std::string what = TransactionCounters::inconsistency(); !what.empty()) return what;
    return unaccounted(ops, "commits + direct_lock", commits + direct_lock, fallbacks);
  }
};

template <class M, class Bugs = NoBugs>
class Adaptive : public ElidedLock<Adaptive<M, Bugs>, M, Bugs> {
  using Base = ElidedLock<Adaptive, M, Bugs>;
  friend Base;

 public:
  static constexpr std::string_view kName = "adaptive";
  static constexpr std::string_view kAbout =
      "one global lock, elided with a response to each cause of abort and a learned budget";
  /// Bodies also run as scouts, whose reads are not validated.
  static constexpr bool kScouts = true;
  using Layout = UnlatchedLayout<M, Bugs>;
  using Tx = ScoutingTx<M>;
  using Reclaimer = Epochs<M>;
  using Counters = AdaptiveCounters;

  /// The state that a thread has learned. At Scale::kTiny every operation may have another budget, so that short
  /// schedules reach the lock.
  template <Scale kScale>
  struct LearnedAt {
    std::conditional_t<kScale == Scale::kTiny, BudgetLearner<1, 1>, BudgetLearner<>> budget;
    u32 too_large = 0;  // rises with operations that did not fit, and falls with those that did
    u32 skip = 0;       // the number of operations to skip from now on
  };
  using Learned = LearnedAt<Scale::kReal>;

  explicit Adaptive(const NoOptions&) : Base(M::transactions_work()) {}

  /// Tells the learner that the thread does other work, whose time is not a cost of operations.
  template <class Me>
  void idle(Me& me) const {
    if (this->elides_) me.learned.budget.pause(M::now());
  }

  /// Returns the reason why this process runs `adaptive` under its lock, or nothing if transactions work.
  static std::optional<std::string> degraded(const NoOptions&) {
    if (M::transactions_work()) return std::nullopt;
    return "adaptive runs under its lock: " + why_no_rtm().value_or("this machine has no transactions");
  }

  template <class Me, class Body>
  [[gnu::always_inline]] auto read(Me& me, Body&& body) {
    Tx tx(*me.pool);
    auto attempt = this->inside(me, tx, body);
    return finish_reading(*attempt);
  }

  template <class Me, class Body>
  auto write(Me& me, Body&& body) {
    Tx tx(*me.pool);
    auto attempt = this->inside(me, tx, body);
    if (!Bugs::kDropGracePeriod) {
      if (*attempt) tx.blocks().hand_retired_to(me.reclaim);
    }
    return finish_writing(tx, *attempt);
  }

 private:
  static constexpr u32 kMostTopUps = 8, kMostScouts = 2, kMostCapacity = 1, kQueueFrom = 3;  // per operation
  static constexpr u32 kTooLargeStep = 64, kTooLargeMost = 256, kSkip = 64;

  template <class Me, class Run>
  [[gnu::always_inline]] inline void run_elided(Me& me, Tx& tx, const Run& run) {
    if (!this->elides_) return Base::run_elided(me, tx, run);
    auto& learned = me.learned;
    if (learned.skip != 0 || learned.budget.budget() == 0) {
      if (learned.skip != 0) --learned.skip, ++me.counters.skips;
      ++me.counters.direct_lock;
      this->lock_.lock();
      run();
      this->lock_.unlock();
    } else {
      Base::run_elided(me, tx, run);
    }
    if (learned.budget.count()) [[unlikely]] {
      learned.budget.end_window(M::now());
      me.counters.budget_changes = learned.budget.changes();
    }
  }

  template <class Me, class Run>
  [[nodiscard, gnu::always_inline]] inline u32 try_once(Me& me, Tx& tx, const Run& run) {
    this->await_free(me.counters);
    (void)me.pool->top_up();  // a failure is ignored: only an operation that needs memory must fall back and fail
    const u32 status = this->transact(me.counters, tx.blocks(), run);
    if (status == kCommitted) [[likely]]
      me.learned.too_large -= me.learned.too_large != 0;
    return status;
  }

  template <class Me, class Run>
  [[nodiscard]] bool speculate(Me& me, Tx& tx, const Run& run, u32 status) {
    AdaptiveCounters& count = me.counters;
    std::optional<typename McsLock<M>::Guard> queued;
    u32 top_ups = 0, scouts = 0, too_large = 0, conflicts = 0, left = me.learned.budget.budget();
    u64 extra = 0;  // bytes
    for (;;) {
      bool scouted = false, costs = false;
      switch (classify(status)) {
        case AbortCause::kLockBusy: break;  // try_once waits
        case AbortCause::kArena:
          if (++top_ups > kMostTopUps) return take_lock();
          extra = std::clamp(2 * extra, Pool<M>::kAttemptBytes, Pool<M>::kLargestCarved);
          (void)me.pool->top_up(extra);
          break;
        case AbortCause::kZero:
          if (++scouts > kMostScouts) return take_lock();
          scout(me, tx, run);
          scouted = true;
          break;
        case AbortCause::kCapacity:
          if (++too_large > kMostCapacity) {
            note_too_large(me.learned);
            return take_lock();
          }
          break;
        case AbortCause::kConflict:
          costs = true;
          if (++conflicts == kQueueFrom) {
            queued.emplace(queue_);
            ++count.queued;
          } else {
            back_off<M>(conflicts);
          }
          break;
        default: costs = true;
      }
      if (costs && left-- == 0) {
        if (Bugs::kDropFallbackLock) return false;
        if (this->lock_.try_lock()) return false;
        ++count.respeculations;
        left = me.learned.budget.budget();
      }
      status = try_once(me, tx, run);
      if (status == kCommitted) {
        count.scout_repaired += scouted;
        return true;
      }
    }
  }

  [[nodiscard]] bool take_lock() {
    if (!Bugs::kDropFallbackLock) this->lock_.lock();
    return false;
  }

  template <class Me, class Run>
  void scout(Me& me, Tx& tx, const Run& run) {
    ++me.counters.scouts;
    me.reclaim.enter();
    tx.scout(run);
    me.reclaim.leave();
    me.reclaim.idle();  // the next scout may be far off
  }

  static void note_too_large(auto& learned) {
    learned.too_large += kTooLargeStep;
    if (learned.too_large < kTooLargeMost) return;
    learned.too_large = kTooLargeMost / 2;
    learned.skip = kSkip;
  }

  McsLock<M> queue_;
};

}  // namespace latchlab
