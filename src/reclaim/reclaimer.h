#pragma once
// When may memory that was unlinked be used again? A Reclaimer answers; policies name theirs.
//
//     Immediate   at once: the policy excludes everybody who could still be reading         coarse policies
//     Epochs      when all who were inside an operation at the time have left it            optimistic ones
//
// One reclaimer per index, one ThreadState object per thread and index. An operation is bracketed by enter and leave;
// what it reads in between stays readable. After its commit it hands over what it unlinked:
//
//     if (!me.reclaim.reserve()) memory is out: nothing has been changed
//     me.reclaim.enter();
//     ... run the body, commit: what it retired can no longer be found from the root ...
//     blocks.keep();
//     blocks.hand_retired_to(me.reclaim);   // as many as one attempt can retire: there is room
//     me.reclaim.leave();
//
// A retired block must be recorded somewhere. After the commit it is too late to find no memory for that, so an
// operation that may retire asks before it begins. One that was refused may ask again at any time.
//
// A thread that stops operating for a while says idle, or what others retire may have to wait for it.
//
// retire must come AFTER the unlinking store: a block announced earlier could still be found by readers of a later
// epoch than the one it waits for. It may come late, and outside of enter and leave.
//
// A ThreadState keeps its thread's pool, so it ends before that thread's PoolLease; the Memory outlives the reclaimer.
#include <array>
#include <concepts>
#include <string_view>

#include "src/memory/memory.h"
#include "src/stats/counters.h"

namespace latchlab {

/// Blocks, summed over all threads. Exact when no operation is running.
struct ReclaimCounters {
  u64 retired = 0;
  u64 freed = 0;
  u64 pending = 0;   ///< retired, not yet freed
  u64 advances = 0;  ///< of the global epoch
  /// Batches that ended with more garbage than kStallBlocks: some thread does not leave its operation.
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
                      thread.idle();  // between operations: nothing is to wait for the next one
                      { thread.reserve() } -> std::same_as<bool>;  // between operations too
                      thread.decide([](auto& decided) { decided.enter(), decided.leave(); });
                      thread.retire(block, u64{});
                      reclaimer.drain();  // frees all garbage; while no operation runs
                      { constant.counters() } -> std::same_as<ReclaimCounters>;
                    };

}  // namespace latchlab
