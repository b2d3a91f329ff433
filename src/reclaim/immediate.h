#pragma once
// The reclaimer of coarse policies: a retired block is free at once.
//
// This is safe because the operation that unlinked the block excluded all others. An operation that had read a pointer
// to the block has finished or, if it was speculating, was aborted by the unlinking store. A later operation does not
// find the block. Coarse policies do not even call this class: AttemptBlocks::free_retired does the same.
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
    static constexpr void collect_all() {}
    [[nodiscard, gnu::always_inline]] bool reserve() {
      pool_.balance();
      return true;
    }
    template <class Run>
    [[gnu::always_inline]] decltype(auto) decide(const Run& run) {
      return run(*this);
    }
    void retire(void* block, u64 bytes) { pool_.free(block, bytes); }

   private:
    Pool<M>& pool_;
  };

  void drain() {}
  /// Returns zeros: no block ever waits, and nothing is counted.
  ReclaimCounters counters() const { return {}; }
};

}  // namespace latchlab
