#pragma once
// The costs of events in virtual time. They decide which fiber runs next: the one with the earliest clock.
//
// The race finder's strategies draw costs at random, from an event alone. A model of a processor computes them from
// more: the bytes, their block, the transaction. Only a modelled world (ModelledWorld) calls those hooks.
#include <algorithm>
#include <span>

#include "src/base/rng.h"
#include "src/base/types.h"

namespace latchlab {

struct PagePlacement;

enum class Event : u8 {
  kLoad,
  kStore,
  kReadModifyWrite,
  kBegin,
  kCommit,
  kAbort,
  kMemory,
  kPause,
  kYield,
  kPrefetch,
  kFence
};

struct FiberStep {
  u32 fiber;
  Event event;
  u32 line;   // the line accessed; meaningless for an event that is not an access
  u64 clock;  // the fiber's clock in ticks, before the step
};

/// A load, a store, a read-modify-write or a prefetch, as a model sees it.
struct FiberReference {
  FiberStep step;
  u64 address;  // in the addresses of the modelled memory, which are the same in every run
  u32 bytes;    // at least 1; they may cross into another line
  u64 block;    // the address of their block's first byte
  bool in_transaction;
};

/// A transaction that the modelled processor has ended by itself.
struct EndedTransaction {
  u32 fiber;
  u32 status;
};

/// An entry into the kernel that a program asks for, as opposed to faults.
enum class KernelCall : u8 { kMap, kProtect };

/// The costs of one schedule, in ticks of the world's clock (nanoseconds, or sixteenths of them on a modelled machine).
/// All answers must be functions of the constructor's arguments and the steps so far.
class Costs {
 public:
  virtual ~Costs() = default;
  /// Returns the clock at which a fiber starts.
  virtual u64 start(u32 fiber) = 0;
  /// Returns the ticks that the step takes; it takes effect at its beginning.
  virtual u64 cost(const FiberStep& step) = 0;
  /// Returns the time at which a fiber that has waited since `asleep` notices a store made at `stored`.
  virtual u64 wake(u32 fiber, u64 asleep, u64 stored) = 0;
  /// Returns the NUMA node of a fiber. The race finder has two nodes, with every other fiber on each.
  virtual u32 node(u32 fiber) { return fiber % 2; }

  // The hooks of a modelled world.

  /// Returns the ticks that the reference takes.
  virtual u64 reference(const FiberReference& reference) { return cost(reference.step); }
  /// Returns the ticks of an operation's instructions besides its references.
  virtual u64 begin_operation(u32 /*fiber*/, u64 /*clock*/) { return 0; }
  /// Returns the ticks of a call of the kernel.
  virtual u64 trap(u32 /*fiber*/, KernelCall, u64 /*clock*/) { return 0; }
  /// Returns the transactions that the last call of cost(), reference() or trap() ended. The world undoes them. If the
  /// fiber's own is among them, its step has not taken place.
  virtual std::span<const EndedTransaction> ended() { return {}; }
  /// Tells that an access ends the transaction of another fiber, which undone() names next. `bytes`: the size of the
  /// block that the access is to; 0 outside of all blocks.
  virtual void conflict(u32 /*loser*/, u32 /*fiber*/, u64 /*address*/, u64 /*bytes*/) {}
  /// Tells that a fiber's transaction has been undone, at this time. Its step kAbort follows.
  virtual void undone(u32 /*fiber*/, u32 /*status*/, u64 /*clock*/) {}
  /// Tells that addresses are usable, as untouched pages that are huge or small, and where the program wants them.
  virtual void mapped(u64 /*address*/, u64 /*bytes*/, bool /*huge*/, const PagePlacement&) {}
  /// Tells that addresses are gone.
  virtual void unmapped(u64 /*address*/, u64 /*bytes*/) {}
  /// Tells that a fiber has allocated a block; fiber 0 stands for code outside virtual time too.
  virtual void allocated(u32 /*fiber*/, u64 /*address*/, u64 /*bytes*/) {}
  /// Tells that a fiber frees a block.
  virtual void freed(u32 /*fiber*/, u64 /*address*/, u64 /*bytes*/) {}
};

/// The strategies' only source of random numbers.
class Chance {
 public:
  explicit Chance(u64 seed) : state_(seed * 0xda942042e4dd58b5u + 0x2545f4914f6cdd1du) {}
  u64 draw() { return splitmix64(state_); }
  u64 below(u64 bound) { return (draw() >> 32) * bound >> 32; }  // bound < 2^32
  bool one_in(u64 n) { return below(n) == 0; }

 private:
  u64 state_;
};

/// Uniform costs with rare long stalls. Fibers interleave at almost every access, and sometimes one sleeps through
/// whole operations of the others, as a descheduled thread does. Each schedule draws how rare stalls are and whether
/// fibers are equally fast, because different races need different mixtures.
class RandomCosts final : public Costs {
 public:
  explicit RandomCosts(u64 seed)
      : chance_(seed), stall_one_in_(u64{16} << 2 * chance_.below(4)), uneven_(chance_.one_in(2)) {
    for (u32& speed : shift_) speed = uneven_ ? static_cast<u32>(chance_.below(5)) : 0;
  }
  u64 start(u32 fiber) override { return chance_.below(uneven_ ? 20000 : 2000) + fiber; }
  u64 cost(const FiberStep& step) override {
    const u64 short_one = 1 + chance_.below(kShort << shift_[step.fiber]);
    if (step.event == Event::kYield) return short_one + kShort;
    return chance_.one_in(stall_one_in_) ? short_one + chance_.below(kStall) : short_one;
  }
  u64 wake(u32, u64 asleep, u64 stored) override { return std::max(asleep, stored) + chance_.below(kShort); }

 private:
  static constexpr u64 kShort = 1000;
  static constexpr u64 kStall = 40000;
  Chance chance_;
  const u64 stall_one_in_;
  const bool uneven_;
  u32 shift_[64]{};
};

/// Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte: "A Randomized Scheduler with
/// Probabilistic Guarantees of Finding Bugs", ASPLOS 2010). Fibers have priorities, and the runnable fiber with the
/// highest one runs. At a few random steps the running fiber drops below all others. A bug that needs d ordered events
/// is found with probability at least 1/(n k^(d-1)) for n fibers and k steps. That holds however unlikely uniform costs
/// make it.
///
/// A priority is a band of virtual time. Bands are wider than a schedule is long, so the clocks of two bands never
/// meet. The length of a schedule is unknown before it has run, so the horizon of the change points is drawn too. A
/// fiber that pauses, yields or runs alone for very long drops as well: the fiber that it waits for may have a lower
/// priority.
class PriorityCosts final : public Costs {
 public:
  PriorityCosts(u64 seed, u32 fibers) : chance_(seed), lowest_(fibers) {
    for (u32 i = 0; i < fibers; ++i) band_[i] = i;
    for (u32 i = fibers; i > 1; --i) std::swap(band_[i - 1], band_[chance_.below(i)]);
    const u64 horizon = u64{32} << chance_.below(7);
    changes_ = 1 + static_cast<u32>(chance_.below(kChanges));
    for (u32 i = 0; i < changes_; ++i) change_[i] = 1 + chance_.below(horizon);
  }
  u64 start(u32 fiber) override { return band_[fiber] * kBand; }
  u64 cost(const FiberStep& step) override {
    ++steps_;
    alone_ = step.fiber == last_ ? alone_ + 1 : 0;
    last_ = step.fiber;
    const bool change = std::find(change_, change_ + changes_, steps_) != change_ + changes_;
    if (!change && step.event != Event::kPause && step.event != Event::kYield && alone_ < kPatience) return 1;
    alone_ = 0;
    return ++lowest_ * kBand - step.clock;
  }
  u64 wake(u32, u64 asleep, u64) override { return asleep; }  // keeps the fiber's priority

 private:
  static constexpr u64 kBand = u64{1} << 32;
  static constexpr u32 kChanges = 4;
  static constexpr u64 kPatience = 2000;
  Chance chance_;
  u64 lowest_;
  u64 steps_ = 0;
  u64 alone_ = 0;
  u32 last_ = ~0u;
  u32 changes_ = 0;
  u64 change_[kChanges]{};
  u64 band_[64]{};
};

}  // namespace latchlab
