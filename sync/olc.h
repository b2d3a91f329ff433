#pragma once
// `olc`: optimistic lock coupling (Leis, Scheibner, Kemper, Neumann, DaMoN 2016). A version in every node;
// readers write nothing, writers latch only the nodes that they change.
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
#include "sync/layout.h"
#include "sync/no_options.h"
#include "sync/seeded_bugs.h"
#include "sync/versioned_tx.h"

namespace latchlab {

template <class M, class Bugs = NoBugs>
class Olc {
 public:
  static constexpr std::string_view kName = "olc";
  static constexpr std::string_view kAbout = "optimistic lock coupling: a version in every node";
  using Machine = M;
  using Layout = VersionedLayout<M, Bugs>;
  using Tx = VersionedTx<M, Bugs>;
  using Reclaimer = Epochs<M>;
  using Options = NoOptions;

  struct Counters {
    u64 read_restarts = 0;    ///< runs of a reading body that were given up
    u64 write_restarts = 0;   ///< of a writing one

    static constexpr auto fields() {
      return std::array{CounterField{"read_restarts", &Counters::read_restarts},
                        CounterField{"write_restarts", &Counters::write_restarts}};
    }
  };

  explicit Olc(const Options&) {}

  template <class Me, class Body>
  [[gnu::always_inline]] auto read(Me& me, const Body& body) {
    me.reclaim.enter();
    for (u32 restarts = 0;; ++restarts) {
      Tx tx(me.context);
      auto attempt = body(tx);
      if (attempt) [[likely]] {
        me.reclaim.leave();   // a reading body has latched, made and retired nothing
        return *std::move(attempt);
      }
      tx.blocks().abandon();   // here and not in give_up: where the body makes nothing the lists stay in registers
      give_up(me, attempt.failure(), me.counters.read_restarts, restarts);
    }
  }
  template <class Me, class Body>
  auto write(Me& me, const Body& body) {
    me.reclaim.enter();
    for (u32 restarts = 0;; ++restarts) {
      Tx tx(me.context);
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

 private:
  /// After a run that failed. Throws std::bad_alloc when memory is out; otherwise waits for the next run. Apart from the
  /// loop, so that what is hot stays in registers.
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
    if constexpr (Bugs::kDropGracePeriod) {
      blocks.free_retired();
    } else {
      blocks.hand_retired_to(me.reclaim);
    }
  }
};

}  // namespace latchlab
