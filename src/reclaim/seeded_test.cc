// Without one step of the epochs a block is freed too early. (The race finder and histories of threads find the steps
// that a schedule of operations reaches; docs/seeded_bugs.md.)
#include "src/machine/native.h"
#include "src/memory/pool_lease.h"
#include "src/reclaim/epochs.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using Flags = reclaim::BugFlags<bool>;

/// Holds all blocks.
struct HoldsAll {
  static inline bool holds = true;
  static bool held(const Block&) { return holds; }
};

template <class Holds>
using SeededEpochs = Epochs<Native, 2, 1, 64, Holds, bool>;

/// A thread of the epochs.
template <class R>
struct Joined {
  PoolLease<Native> pool;
  typename R::ThreadState reclaim;
  Joined(Memory<Native>& memory, R& epochs) : pool(memory), reclaim(epochs, *pool) {}
  void retire_one() { reclaim.retire(pool->allocate(64), 64); }
};

/// Returns the blocks freed of the one that `retire(epochs, memory)` retires while a reader is inside.
template <class Retire>
u64 freed_beside_a_reader(bool& bug, const Retire& retire) {
  Memory<Native> memory(MemoryConfig{});
  using R = SeededEpochs<HoldsNothing>;
  R epochs(memory);
  Joined<R> reader(memory, epochs);
  reader.reclaim.enter();
  bug = true;
  retire(epochs, memory);
  bug = false;
  const u64 freed = epochs.counters().freed;
  reader.reclaim.leave();
  return freed;
}

TEST_CASE("Seeded bugs: a thread that leaves frees its garbage beside a reader", "[reclaim]") {
  const auto leave = [](auto& epochs, Memory<Native>& memory) { Joined(memory, epochs).retire_one(); };
  bool sound = false;
  CHECK(freed_beside_a_reader(sound, leave) == 0);
  CHECK(freed_beside_a_reader(Flags::kFreeOnLeave, leave) == 1);
}

TEST_CASE("Seeded bugs: an epoch that advances without a scan frees a block beside a reader", "[reclaim]") {
  const auto collect = [](auto& epochs, Memory<Native>& memory) {
    Joined writer(memory, epochs);
    writer.retire_one();
    for (int i = 0; i < 3; ++i) writer.reclaim.collect();
  };
  bool sound = false;
  CHECK(freed_beside_a_reader(sound, collect) == 0);
  CHECK(freed_beside_a_reader(Flags::kSkipScan, collect) == 1);
}

TEST_CASE("Seeded bugs: a second look that does not ask frees a block that is held", "[reclaim]") {
  Memory<Native> memory(MemoryConfig{});
  using R = SeededEpochs<HoldsAll>;
  R epochs(memory);
  Joined<R> writer(memory, epochs);
  const auto collect = [&] {
    for (int i = 0; i < 5; ++i) writer.reclaim.collect();
  };
  writer.retire_one();
  collect();
  CHECK(epochs.counters().pending == 1);
  Flags::kTrustSecondLook = true;
  collect();
  Flags::kTrustSecondLook = false;
  CHECK(epochs.counters().pending == 0);
  HoldsAll::holds = false;
}

}  // namespace
}  // namespace latchlab
