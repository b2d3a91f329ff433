#pragma once
// The common part of coarse policies: their types, and the clean-up after an operation.
//
// The body runs under the lock (or inside a hardware transaction), and the clean-up runs after it. Linking and freeing
// blocks under the lock would make all other threads wait longer, and an exception would leave the lock held.
#include <new>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "src/reclaim/immediate.h"
#include "src/stats/counters.h"
#include "sync/attempt.h"
#include "sync/direct_tx.h"
#include "sync/layout.h"
#include "sync/no_options.h"
#include "sync/promises.h"

namespace latchlab {

/// The types of a coarse policy, which derives from this. A policy with options or counters declares its own instead.
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

/// Ends an operation after its lock was released, and returns the value of its attempt. Frees the retired blocks at
/// once: operations that were reading them have finished, and later ones do not find them. Throws std::bad_alloc if
/// memory was out; then the index is unchanged.
template <class M, class T>
[[gnu::always_inline]] inline T finish_writing(DirectTx<M>& tx, Attempt<T>& attempt) {
  AttemptBlocks<M>& blocks = tx.blocks();
  if (!attempt) [[unlikely]] {
    blocks.abandon();
    if (attempt.failure() == kNoMemory) throw std::bad_alloc();
    // No verb of DirectTx fails, so a second run would return kRestart again.
    throw std::logic_error("a body asked for a restart although a coarse policy excludes all other operations");
  }
  blocks.keep();
  blocks.free_retired();
  return std::move(*attempt);
}

/// Ends an operation that only read: it made and retired no block, so there is no clean-up. A lookup keeps the
/// instructions of a hand-written one (indexes/codegen_test.cc).
template <class T>
[[gnu::always_inline]] inline T finish_reading(Attempt<T>& attempt) {
  if (!attempt) [[unlikely]]
    throw std::logic_error("a reading body failed although a coarse policy excludes all other operations");
  return std::move(*attempt);
}

/// A coarse policy whose operations may run in another thread. `Derived` has run(me, operation), which returns when the
/// operation has run.
template <class Derived, class M>
struct RunsElsewhere : CoarsePolicy<M> {
  template <class Me, class Body>
  auto read(Me& me, Body&& body) {
    DirectTx<M> tx(*me.pool);
    auto attempt = attempt_of(me, tx, body);
    return finish_reading(attempt);
  }
  template <class Me, class Body>
  auto write(Me& me, Body&& body) {
    DirectTx<M> tx(*me.pool);
    auto attempt = attempt_of(me, tx, body);
    return finish_writing(tx, attempt);
  }

 private:
  template <class Me, class Body>
  auto attempt_of(Me& me, DirectTx<M>& tx, Body& body) {
    std::optional<decltype(body(tx))> attempt;
    auto& policy = static_cast<Derived&>(*this);
    // A body that is small and trivial is copied, so that its fields come with the operation.
    if constexpr (std::is_invocable_v<const Body&, DirectTx<M>&>) {
      policy.run(me, [body, at = &tx, &attempt] { attempt.emplace(body(*at)); });
    } else {
      policy.run(me, [&] { attempt.emplace(body(tx)); });
    }
    return std::move(*attempt);
  }
};

}  // namespace latchlab
