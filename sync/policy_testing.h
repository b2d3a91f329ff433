#pragma once
// The common part of the tests of policies: a thread as policies see it, and the smallest index that can be torn.
#include <atomic>
#include <string_view>
#include <thread>
#include <vector>

#include "src/base/spec.h"
#include "src/machine/emulated.h"
#include "src/memory/memory.h"
#include "src/memory/pool_lease.h"
#include "sync/concepts.h"
#include "sync/attempt.h"

namespace latchlab::testing {

/// One policy with the memory and the reclaimer that Synchronized would give it.
template <class P>
struct House {
  using M = typename P::Machine;

  explicit House(std::string_view spec, const MemoryConfig& config = {})
      : policy(P::Options::parse(Spec::parse(spec))), memory(config), reclaimer(memory) {}

  struct ThreadState {
    explicit ThreadState(House& house) : pool(house.memory), reclaim(house.reclaimer, *pool) {}
    PoolLease<M> pool;
    typename P::Counters counters;
    typename P::Reclaimer::ThreadState reclaim;
    [[no_unique_address]] typename LearnedOf<P>::Type learned;
  };

  P policy;
  Memory<M> memory;
  typename P::Reclaimer reclaimer;
};

/// A node so large that a few of them exceed the bytes that a pool has ready for one attempt.
struct Large {
  u64 words[512];
};

/// An operation that makes more blocks than its pool has ready, so that a transaction runs dry.
template <class Tx>
Attempt<int> make_large_nodes(Tx& tx) {
  for (int n = 0; n < 12; ++n) {
    if (tx.template make<Large>() == nullptr) return kNoMemory;
  }
  return 0;
}
inline constexpr u64 kLargeNodesBytes = 12 * sizeof(Large);

/// The default for the middle of an operation: it does nothing.
struct Nothing {
  void operator()() const {}
};

/// Two numbers that every operation leaves equal. A reader that sees them differ has seen half an operation. An
/// operation lingers between the two, long enough for another processor to interfere, and then calls `middle`.
template <class Layout>
class Twins {
 public:
  struct Both {
    u64 first, second;
  };

  template <class Tx, class Middle = Nothing>
  Attempt<Both> read_in(Tx& tx, Middle&& middle = {}) {
    auto node = tx.enter(&node_);
    const u64 first = node->first.load();
    linger();
    middle();
    return tx.confirm(Both{first, node->second.load()}, node);
  }

  /// Adds one to both numbers and returns the number before.
  template <class Tx, class Middle = Nothing>
  Attempt<u64> add_in(Tx& tx, Middle&& middle = {}) {
    auto node = tx.enter(&node_);
    if (!tx.upgrade(node)) return kRestart;
    const u64 before = node->first.load();
    node->first.store(before + 1);
    linger();
    middle();
    node->second.store(node->second.load() + 1);
    return before;
  }

  /// Returns both numbers; call it only between operations.
  Both now() const { return {node_.first.load(), node_.second.load()}; }

 private:
  static void linger() {
    // The fence keeps the compiler from dropping the loop; it pairs with nothing.
    for (int i = 0; i < 30; ++i) std::atomic_signal_fence(kSeqCst);
  }

  struct Node {
    [[no_unique_address]] typename Layout::Latch latch;
    typename Layout::template Cell<u64> first, second;
  };
  Node node_;
};

/// The emulated machine with a count of waits and exchanges. Tests use them to see, without a clock, that the other
/// thread has reached the lock.
struct Watched : Emulated {
  static inline std::atomic<u32> waits{0}, exchanges{0};
  // Both counts are relaxed: they order nothing.
  template <class A, class Done>
  static auto wait_until(const A& atomic, Done&& done) {
    if (!done(atomic.load(kRelaxed))) waits.fetch_add(1, kRelaxed);
    return Emulated::wait_until(atomic, done);
  }
  template <class T>
  struct Atomic : Emulated::Atomic<T> {
    using Emulated::Atomic<T>::Atomic;
    T exchange(T value, std::memory_order order) {
      exchanges.fetch_add(1, kRelaxed);
      return Emulated::Atomic<T>::exchange(value, order);
    }
  };
};

template <class Counters>
struct Beside {
  Counters counters, of_holder;
  bool done_while_held = false;
};

/// Runs one operation beside a thread that falls back and holds the lock until the operation either waits for the lock
/// or is done. P runs on Watched.
template <class P>
Beside<typename P::Counters> run_beside_a_held_lock(std::string_view spec) {
  House<P> house(spec);
  Twins<typename P::Layout> twins;
  typename House<P>::ThreadState holder(house);
  Beside<typename P::Counters> result;
  std::atomic<bool> done{false};
  Watched::waits = Watched::exchanges = 0;
  std::thread other;
  {
    const AbortInjection::Script conflicts(1000, PlannedAbort{.status = kAbortConflict});
    const auto injected = Emulated::inject(AbortInjection::script(conflicts));
    house.policy.write(holder, [&](auto& tx) {
      other = std::thread([&] {
        typename House<P>::ThreadState me(house);
        house.policy.write(me, [&](auto& tx2) { return twins.add_in(tx2); });
        result.counters = me.counters;
        done = true;
      });
      while (Watched::waits == 0 && !done) std::this_thread::yield();
      result.done_while_held = done;
      return twins.add_in(tx);
    });
  }
  other.join();
  result.of_holder = holder.counters;
  return result;
}

/// A thread that notes the sizes that its pool was asked to have ready, before and between attempts.
struct NotingPool : PoolLease<Emulated> {
  using PoolLease<Emulated>::PoolLease;
  std::vector<u64> asked;
  NotingPool* operator->() { return this; }
  [[nodiscard]] bool top_up(u64 extra = 0) {
    asked.push_back(extra);
    return (**this).top_up(extra);
  }
};
template <class Counters>
struct NotingThread {
  NotingPool pool;
  Counters counters;
};

}  // namespace latchlab::testing
