#pragma once
// What every coarse policy has and does alike: the types that it is made of, and the cleaning up behind an operation.
//
// The body runs and the cleaning up follows apart from it, because the first happens under the lock (or inside a
// hardware transaction) and the second must not: linking and freeing blocks there would lengthen what everybody waits
// for, and an exception would leave it locked.
#include <new>
#include <stdexcept>
#include <utility>

#include "src/reclaim/immediate.h"
#include "src/stats/counters.h"
#include "sync/attempt.h"
#include "sync/direct_tx.h"
#include "sync/layout.h"
#include "sync/no_options.h"
#include "sync/promises.h"

namespace latchlab {

/// The types of a coarse policy, which derives from this. One with options or counters names its own instead.
template <class M, class Bugs = NoBugs>
struct CoarsePolicy : Promises {
  using Machine = M;
  using Layout = CoarseLayout<M, Bugs>;
  using Tx = DirectTx<M>;
  using Reclaimer = Immediate<M>;
  using Options = NoOptions;
  using Counters = NoCounters;
  static constexpr bool kExcludes = true;
};

/// Ends an operation after its lock was released: the value of its attempt. What it retired is freed at once:
/// whoever was reading it has finished, and whoever comes now does not find it. Throws std::bad_alloc when
/// memory was out; the index is as it was.
template <class M, class T>
[[gnu::always_inline]] inline T finish_writing(DirectTx<M>& tx, Attempt<T>& attempt) {
  AttemptBlocks<M>& blocks = tx.blocks();
  if (!attempt) [[unlikely]] {
    blocks.abandon();
    if (attempt.failure() == kNoMemory) throw std::bad_alloc();
    // No verb of DirectTx fails, so there is nothing that a second run could find better.
    throw std::logic_error("a body asked for a restart although a coarse policy excludes everybody");
  }
  blocks.keep();
  blocks.free_retired();
  return std::move(*attempt);
}

/// The same for an operation that only read: it has made nothing and retired nothing, so there is nothing to clean up.
/// A lookup keeps the instructions of one that was written by hand (indexes/codegen_test.cc).
template <class T>
[[gnu::always_inline]] inline T finish_reading(Attempt<T>& attempt) {
  if (!attempt) [[unlikely]]
    throw std::logic_error("a reading body failed although a coarse policy excludes everybody");
  return std::move(*attempt);
}

}  // namespace latchlab
