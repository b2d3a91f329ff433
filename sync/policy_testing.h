#pragma once
// What the tests of policies share: a thread as policies see it, and the smallest index that can be torn.
#include <atomic>
#include <thread>

#include "src/base/spec.h"
#include "src/memory/memory.h"
#include "src/memory/thread_context.h"
#include "sync/attempt.h"

namespace latchlab::testing {

/// One policy with the memory and the reclaimer that Synchronized would give it.
template <class P>
struct House {
  using M = typename P::Machine;

  explicit House(std::string_view spec, const MemoryConfig& config = {})
      : policy(P::Options::parse(Spec::parse(spec))), memory(config), reclaimer(memory) {}

  struct Thread {
    explicit Thread(House& house) : context(house.memory), reclaim(house.reclaimer, context) {}
    ThreadContext<M> context;
    typename P::Counters counters;
    typename P::Reclaimer::Thread reclaim;
  };

  P policy;
  Memory<M> memory;
  typename P::Reclaimer reclaimer;
};

/// Two numbers that every operation leaves equal. Who sees them differ has seen half an operation.
template <class Layout>
class Twins {
 public:
  struct Both {
    u64 first, second;
  };

  /// Every so many operations one gives the processor away in its middle; 0: none does. No hardware
  /// transaction survives that.
  explicit Twins(u32 yield_every = 0) : yield_every_(yield_every) {}

  template <class Tx>
  Attempt<Both> read_in(Tx& tx) {
    auto node = tx.enter(&node_);
    const u64 first = node->first.load();
    linger();
    return tx.confirm(Both{first, node->second.load()}, node);
  }

  /// The number before.
  template <class Tx>
  Attempt<u64> add_in(Tx& tx) {
    auto node = tx.enter(&node_);
    if (!tx.upgrade(node)) return kRestart;
    const u64 before = node->first.load();
    node->first.store(before + 1);
    linger();
    node->second.store(node->second.load() + 1);
    return before;
  }

  /// Between operations.
  Both now() const { return {node_.first.load(), node_.second.load()}; }

 private:
  // In the middle of an operation: long enough for another processor to come by, and now and then for a
  // thread that waits for this one.
  void linger() const {
    // The fence is for the compiler, which would drop an empty loop; it pairs with nothing.
    for (int i = 0; i < 30; ++i) std::atomic_signal_fence(kSeqCst);
    static thread_local u32 lingered = 0;
    if (yield_every_ != 0 && ++lingered % yield_every_ == 0) std::this_thread::yield();
  }

  struct Node {
    [[no_unique_address]] typename Layout::Latch latch;
    typename Layout::template Cell<u64> first, second;
  };
  Node node_;
  const u32 yield_every_;
};

}  // namespace latchlab::testing
