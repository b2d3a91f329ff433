#pragma once
// What every optimistic policy has and does alike: readers write nothing, writers latch only what they change (Leis,
// Scheibner, Kemper, Neumann, DaMoN 2016). A policy derives from this and says where the latches are, and what a reader
// proves.
//
// An operation runs inside an epoch: whatever it can reach stays readable until it leaves, so following a
// stale pointer is wrong but harmless, and the validation after it says so. A run that must restart has
// stored nothing; what it allocated goes back to its pool, the epoch stays (the next run may start at once),
// and the wait before it is random and bounded.
//
// After a commit, in this order: the transaction unlatches, then what it unlinked is handed to the reclaimer.
// Stamping it later than it was unlinked is safe (the grace period only starts later); earlier would not be.
#include <array>
#include <new>
#include <utility>

#include "src/reclaim/epochs.h"
#include "src/stats/counters.h"
#include "sync/backoff.h"
#include "sync/latch_places.h"
#include "sync/no_options.h"
#include "sync/promises.h"
#include "sync/seeded_bugs.h"
#include "sync/versioned_tx.h"

namespace latchlab {

template <class LayoutType, class Latches = LatchInNode<typename LayoutType::Machine>>
class Optimistic : public Promises {
  using M = typename LayoutType::Machine;
  using Bugs = typename LayoutType::Bugs;

 public:
  using Machine = M;
  using Layout = LayoutType;
  using Tx = VersionedTx<M, Bugs, Latches>;
  using Reclaimer = Epochs<M>;
  using Options = NoOptions;

  struct Counters {
    u64 read_restarts = 0;   ///< runs of a reading body that were given up
    u64 write_restarts = 0;  ///< of a writing one

    static constexpr auto fields() {
      return std::array{CounterField{"read_restarts", &Counters::read_restarts},
                        CounterField{"write_restarts", &Counters::write_restarts}};
    }
  };

  template <class Me, class Body>
  [[gnu::always_inline]] auto read(Me& me, const Body& body) {
    return read_by(me, body, [&] { return Tx(*me.pool, latches_); });
  }
  template <class Me, class Body>
  auto write(Me& me, const Body& body) {
    me.reclaim.enter();
    for (u32 restarts = 0;; ++restarts) {
      Tx tx(*me.pool, latches_);
      auto attempt = body(tx);
      if (attempt) [[likely]] {
        tx.commit();
        settle(me, tx.blocks());
        me.reclaim.leave();
        return *std::move(attempt);
      }
      tx.release();
      tx.blocks().abandon();
      give_up(me, attempt.failure(), me.counters.write_restarts, restarts);
    }
  }

 protected:
  explicit Optimistic(Latches latches = {}) : latches_(latches) {}

  /// `read`, each run with a transaction that `begin` makes.
  template <class Me, class Body, class Begin>
  [[gnu::always_inline]] auto read_by(Me& me, const Body& body, const Begin& begin) {
    return me.reclaim.decide([&](const auto& reclaim) __attribute__((always_inline)) {
      reclaim.enter();
      auto attempt = run_once(body, begin);
      if (!attempt) [[unlikely]]
        return run_again(me, body, begin, attempt.failure());
      reclaim.leave();  // nothing was latched or retired
      return *std::move(attempt);
    });
  }

  /// One run of a reading body. What it made, if it did, goes back here: where it makes nothing the lists stay in
  /// registers.
  template <class Body, class Begin>
  [[gnu::always_inline]] static auto run_once(const Body& body, const Begin& begin) {
    auto tx = begin();
    auto attempt = body(tx);
    if (!attempt) [[unlikely]]
      tx.blocks().abandon();
    return attempt;
  }
  /// The runs after one that failed. Apart, with copies of its own, so that the loop of lookups keeps its registers.
  template <class Me, class Body, class Begin>
  [[gnu::noinline]] static auto run_again(Me& me, const Body body, const Begin begin, Failure failure) {
    for (u32 restarts = 0;; ++restarts) {
      give_up(me, failure, me.counters.read_restarts, restarts);
      auto attempt = run_once(body, begin);
      if (attempt) {
        me.reclaim.leave();
        return *std::move(attempt);
      }
      failure = attempt.failure();
    }
  }

  /// After a run that failed. Throws std::bad_alloc when memory is out; otherwise waits for the next run.
  template <class Me>
  [[gnu::noinline, gnu::cold]] static void give_up(Me& me, Failure failure, u64& counter, u32 restarts) {
    if (failure == kNoMemory) {
      me.reclaim.leave();
      throw std::bad_alloc();
    }
    ++counter;
    back_off<M>(restarts);
  }

  /// What was made is published; what was retired waits until nobody can be reading it.
  template <class Me>
  static void settle(Me& me, AttemptBlocks<M>& blocks) {
    blocks.keep();
    if (Bugs::kDropGracePeriod) {
      blocks.free_retired();
    } else {
      blocks.hand_retired_to(me.reclaim);
    }
  }

 private:
  [[no_unique_address]] const Latches latches_;
};

}  // namespace latchlab
