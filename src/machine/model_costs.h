#pragma once
// The costs of a modelled processor (src/model/model.h), as a modelled world asks for them.
//
// Fibers 0 to T - 1 are the first T threads of the processor. Fiber T is no thread of it: it watches the others, and
// takes no time. Those behind it are servers (simulated_world.h), each the next thread, as far as the model has any.
// While it loads, no time passes either: a loader runs until it waits, and the model learns which thread has written
// which page.
//
// A structure whose line conflicted is the size of a block, or a line outside of all blocks (structure_of_line).
//
// The model has no values for pauses and yields, which take what is written below, nor for the instructions of an
// allocation: the memory knows them (ModelledMemory::ns_of_call).
#include <span>
#include <vector>

#include "src/machine/simulated_costs.h"
#include "src/model/model.h"

namespace latchlab {

class ModelCosts final : public Costs {
 public:
  static constexpr u64 kPauseTicks = 4 * model::kTicksPerNs;    // about ten cycles
  static constexpr u64 kYieldTicks = 500 * model::kTicksPerNs;  // a system call that switches to no other thread

  /// For fibers 0 to `threads` - 1 and `servers` more; all are the threads of `processor`, which must outlive this.
  ModelCosts(model::Model& processor, u32 threads, u32 servers = 0)
      : model_(processor), threads_(threads), servers_(servers) {}

  /// Returns the structure of a conflict in a line outside of all blocks; that of a block is its size.
  static constexpr u64 structure_of_line(u64 line) { return line | kLine; }
  static constexpr u64 kLine = u64{1} << 63;

  /// Sets the clock at which the fibers of the next run start, in ticks.
  void start_at(u64 clock) { start_ = clock; }
  /// Makes references free of charge, as loading is, or ends that.
  void load(bool loading) { loading_ = loading; }

  u64 start(u32) override { return start_; }
  u64 cost(const FiberStep& step) override;
  u64 reference(const FiberReference& reference) override;
  u64 wake(u32 fiber, u64 asleep, u64 stored) override;
  u32 node(u32 fiber) override;
  u64 begin_operation(u32 fiber, u64 clock) override;
  u64 trap(u32 fiber, KernelCall call, u64 clock) override;
  std::span<const EndedTransaction> ended() override { return ended_; }
  void conflict(u32 loser, u32 fiber, u64 address, u64 bytes) override;
  void undone(u32 fiber, u32 status, u64 clock) override;
  void mapped(u64 address, u64 bytes, bool huge, const PagePlacement& placement) override;
  void unmapped(u64 address, u64 bytes) override { model_.unmapped(address, bytes); }

 private:
  static constexpr u32 kNoThread = ~0u;
  /// Returns the thread of the processor that a fiber is.
  u32 thread_of(u32 fiber) const {
    if (fiber < threads_) return fiber;
    return fiber > threads_ && fiber <= threads_ + servers_ ? fiber - 1 : kNoThread;
  }
  u32 fiber_of(u32 thread) const { return thread < threads_ ? thread : thread + 1; }
  bool takes_time(u32 fiber) const { return !loading_ && thread_of(fiber) != kNoThread; }
  u64 note_ended(model::Ticks ticks);

  model::Model& model_;
  const u32 threads_, servers_;
  bool loading_ = false;
  u64 start_ = 0;
  std::vector<EndedTransaction> ended_;
};

}  // namespace latchlab
