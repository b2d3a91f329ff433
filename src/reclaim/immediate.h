#pragma once
// The reclaimer of coarse policies: a retired block is free at once.
//
// Safe because of when it is called. The operation that unlinked the block has excluded all others, so whoever had read
// a pointer to it has finished, or, speculating, was aborted by the unlinking store; and whoever comes later does not
// find it. Coarse policies do not even ask: they call AttemptBlocks::free_retired, which is the same.
#include "src/reclaim/reclaimer.h"

namespace latchlab {

template <class M>
class Immediate {
 public:
  static constexpr std::string_view kName = "immediate";
  using Machine = M;

  explicit Immediate(Memory<M>&) {}

  class ThreadState {
   public:
    ThreadState(Immediate&, Pool<M>& pool) : pool_(pool) {}
    void enter() {}
    void leave() {}
    void idle() {}
    [[nodiscard]] static constexpr bool reserve() { return true; }
    template <class Run>
    [[gnu::always_inline]] decltype(auto) decide(const Run& run) {
      return run(*this);
    }
    void retire(void* block, u64 bytes) { pool_.free(block, bytes); }

   private:
    Pool<M>& pool_;
  };

  void drain() {}
  /// All zero: nothing ever waits, and nothing is counted.
  ReclaimCounters counters() const { return {}; }
};

}  // namespace latchlab
