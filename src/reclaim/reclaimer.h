#pragma once
// The Reclaimer concept: a reclaimer decides when unlinked memory may be used again. Each policy names its own.
//
//     Immediate   at once: the policy excludes every operation that could still be reading   coarse policies
//     Epochs      when all operations that ran at the time have ended                        optimistic ones, adaptive
//
// --reclaim says how threads announce their operations to Epochs.
//
// There is one reclaimer per index, and one ThreadState object per thread and index. An operation is bracketed by enter
// and leave; memory that it reads in between stays readable. After its commit it hands over the blocks that it
// unlinked:
//
//     if (!me.reclaim.reserve()) ...        // memory is out; nothing has been changed
//     me.reclaim.enter();
//     ...                                   // run the body and commit: no retired block can be found from the root
//     blocks.keep();
//     blocks.hand_retired_to(me.reclaim);   // at most as many as one attempt can retire, so there is room
//     me.reclaim.leave();
//
// A retired block must be recorded, and after the commit that must not fail. So an operation that may retire calls
// reserve before it begins. After a refusal it may call reserve again at any time.
//
// A thread that stops operating for a while calls idle; otherwise the blocks that other threads retire may wait for it.
//
// retire must come AFTER the unlinking store: otherwise readers of a later epoch than the stamp could still find the
// block. It may come much later, and outside enter and leave.
//
// A ThreadState uses its thread's pool, so it must end before that thread's PoolLease. The Memory must outlive the
// reclaimer.
#include <array>
#include <concepts>
#include <string_view>

#include "src/memory/memory.h"
#include "src/stats/counters.h"

namespace latchlab {

/// The counts of blocks, summed over all threads. Exact while no operation runs.
struct ReclaimCounters {
  u64 retired = 0;
  u64 freed = 0;
  u64 pending = 0;   ///< blocks retired and not yet freed
  u64 advances = 0;  ///< steps of the global epoch
  /// Batches that ended with more than kStallBlocks waiting blocks: some thread does not leave its operation.
  u64 stalled = 0;

  static constexpr auto fields() {
    return std::array{
        CounterField{"retired", &ReclaimCounters::retired}, CounterField{"freed", &ReclaimCounters::freed},
        CounterField{"pending", &ReclaimCounters::pending}, CounterField{"advances", &ReclaimCounters::advances},
        CounterField{"stalled", &ReclaimCounters::stalled}};
  }
};

template <class R>
concept Reclaimer = std::constructible_from<R, Memory<typename R::Machine>&> &&
                    std::constructible_from<typename R::ThreadState, R&, Pool<typename R::Machine>&> &&
                    std::move_constructible<typename R::ThreadState> &&
                    requires(R& reclaimer, const R& constant, typename R::ThreadState& thread, void* block) {
                      { R::kName } -> std::convertible_to<std::string_view>;
                      thread.enter();
                      thread.leave();
                      thread.idle();  // between operations: no reclamation need wait for this thread
                      { thread.reserve() } -> std::same_as<bool>;  // between operations
                      thread.collect_all();  // between operations: frees all that no other thread can be reading
                      thread.decide([](auto& decided) { decided.enter(), decided.leave(); });
                      thread.retire(block, u64{});
                      reclaimer.drain();  // frees all garbage; call it while no operation runs
                      { constant.counters() } -> std::same_as<ReclaimCounters>;
                    };

}  // namespace latchlab
