#pragma once
// The common part of optimistic policies: readers write nothing, and writers latch only the nodes that they change
// (Leis, Scheibner, Kemper, Neumann, DaMoN 2016). A policy derives from this and decides where the latches are and what
// a reader validates.
//
// An operation runs inside an epoch, so all nodes that it can reach stay readable until it leaves. Following a stale
// pointer is harmless, because the validation after it fails. An attempt that must restart has stored nothing. Its
// blocks go back to the pool, the thread stays in the epoch, and it waits a random, bounded time before the next
// attempt.
//
// After a commit, the transaction first unlatches, and then the unlinked blocks go to the reclaimer. A stamp later than
// the unlinking is safe (the grace period only starts later); an earlier one would not be.
#include <array>
#include <concepts>
#include <new>
#include <optional>
#include <utility>

#include "src/reclaim/epochs.h"
#include "src/stats/counters.h"
#include "sync/backoff.h"
#include "sync/latch_places.h"
#include "sync/no_options.h"
#include "sync/promises.h"
#include "sync/seeded_bugs.h"
#include "sync/small_tx.h"
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
  using Reclaimer = Epochs<M, 2, 64, 64, HoldsNothing, typename Bugs::Flag>;
  using Options = NoOptions;

  struct Counters {
    u64 read_restarts = 0;   ///< attempts of reading bodies that restarted
    u64 write_restarts = 0;  ///< attempts of writing bodies that restarted

    u64 conflicts() const { return write_restarts; }
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
  [[gnu::always_inline]] auto write(Me& me, const Body& body) {
    using Small = SmallTx<M, Bugs, Latches>;
    me.reclaim.enter();
    if constexpr (std::invocable<const Body&, Small&>) {
      Small tx(*me.pool, latches_);
      auto attempt = body(tx);
      if (!attempt) [[unlikely]] {
        tx.release();
        tx.blocks().abandon();
        return write_more(me, body, tx.needs_more() ? std::nullopt : std::optional(attempt.failure()));
      }
      tx.commit();
      settle(me, tx.blocks());
      me.reclaim.leave();
      return *std::move(attempt);
    } else {
      return write_more(me, body, std::nullopt);
    }
  }

 protected:
  explicit Optimistic(Latches latches = {}) : latches_(latches) {}

  /// Runs the attempts after a small one.
  template <class Me, class Body>
  [[gnu::noinline]] auto write_more(Me& me, const Body body, std::optional<Failure> failure) {
    return write_by(me, body, failure, [&] { return Tx(*me.pool, latches_); });
  }
  /// Runs attempts with a transaction from `begin` each, the first after one that failed, if `failure` says so.
  template <class Me, class Body, class Begin>
  [[gnu::always_inline]] auto write_by(Me& me, const Body& body, std::optional<Failure> failure, const Begin& begin) {
    for (u32 restarts = 0;; ++restarts) {
      if (failure) give_up(me, *failure, me.counters.write_restarts, restarts);
      auto tx = begin();
      auto attempt = body(tx);
      if (attempt) [[likely]] {
        tx.commit();
        settle(me, tx.blocks());
        me.reclaim.leave();
        return *std::move(attempt);
      }
      tx.release();
      tx.blocks().abandon();
      failure = attempt.failure();
    }
  }

  /// Does the same as `read`, with a transaction from `begin` for each attempt.
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

  /// Runs one attempt of a reading body, and returns its blocks to the pool if it fails. If the body makes none, the
  /// lists stay in registers.
  template <class Body, class Begin>
  [[gnu::always_inline]] static auto run_once(const Body& body, const Begin& begin) {
    auto tx = begin();
    auto attempt = body(tx);
    if (!attempt) [[unlikely]]
      tx.blocks().abandon();
    return attempt;
  }
  /// Runs the attempts after one that failed. Not inlined, and with its own copies of the arguments, so that a loop of
  /// lookups keeps its registers.
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

  /// Ends an attempt that failed. Throws std::bad_alloc when memory is out; otherwise backs off before the next one.
  template <class Me>
  [[gnu::noinline, gnu::cold]] static void give_up(Me& me, Failure failure, u64& counter, u32 restarts) {
    if (failure == kNoMemory) {
      me.reclaim.leave();
      throw std::bad_alloc();
    }
    ++counter;
    back_off<M>(restarts);
  }

  /// Ends an attempt that committed: the blocks that it made stay, and those that it retired wait until no thread can
  /// be reading them.
  template <class Me>
  [[gnu::always_inline]] static void settle(Me& me, AttemptBlocks<M>& blocks) {
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
