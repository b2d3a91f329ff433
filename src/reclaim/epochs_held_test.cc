// Tests of blocks that are held beyond their grace period.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "src/machine/native.h"
#include "src/memory/pool_lease.h"
#include "src/reclaim/epochs.h"
#include "src/testing/catch.h"
#include "src/testing/death.h"

namespace latchlab {
namespace {

using M = Native;

MemoryConfig memory_of(MemoryConfig::Alloc alloc, Reclaim reclaim = Reclaim::kEpoch) {
  MemoryConfig config;
  config.alloc = alloc;
  config.reclaim = reclaim;
  return config;
}

template <class R>
struct Holder {
  PoolLease<M> pool;
  typename R::ThreadState reclaim;
  Holder(Memory<M>& memory, R& epochs) : pool(memory), reclaim(epochs, *pool) {}
};

/// Holds the blocks whose first word is not 0, and counts how often it is asked.
struct ByFirstWord {
  static inline std::atomic<u64> asked{0};
  static bool held(const Block& block) {
    asked.fetch_add(1, kRelaxed);                     // relaxed: only a count
    return word_of(block.start).load(kAcquire) != 0;  // pairs with release_all
  }
  static std::atomic<u64>& word_of(void* block) { return *static_cast<std::atomic<u64>*>(block); }
};
template <u32 kBatch>
using Holding = Epochs<M, 2, kBatch, 64, ByFirstWord>;
static_assert(Reclaimer<Holding<1>>);

/// Retires `count` blocks of which every `nth` is held, and returns those that are held.
template <class R>
std::vector<void*> retire_held(Holder<R>& member, u32 count, u32 nth) {
  std::vector<void*> held;
  for (u32 i = 0; i < count; ++i) {
    void* const block = member.pool->allocate(64);
    new (block) std::atomic<u64>(i % nth == 0);
    if (i % nth == 0) held.push_back(block);
    REQUIRE(member.reclaim.reserve());
    member.reclaim.retire(block, 64);
  }
  return held;
}
void release_all(const std::vector<void*>& held) {
  for (void* const block : held) ByFirstWord::word_of(block).store(0, kRelease);  // pairs with held
}

TEMPLATE_TEST_CASE_SIG("A held block outlives its grace period, and a collection after its release frees it",
                       "[reclaim]", ((u32 kBatch), kBatch), 1, 3, 64) {
  Memory<M> memory(memory_of(GENERATE(MemoryConfig::Alloc::kMalloc, MemoryConfig::Alloc::kArena)));
  {
    Holding<kBatch> epochs(memory);
    Holder writer(memory, epochs);
    const auto collect = [&](u32 times) {
      for (u32 i = 0; i < times; ++i) writer.reclaim.collect();
    };
    const u32 nth = GENERATE(1, 2, 7);
    std::vector<void*> held = retire_held(writer, 200, nth);
    collect(10);
    CHECK(epochs.counters().pending == held.size());
    for (void* const block : held) CHECK(ByFirstWord::word_of(block).load(kRelaxed) == 1);
    const std::vector<void*> first(held.begin(), held.begin() + 10);
    held.erase(held.begin(), held.begin() + 10);
    std::thread(release_all, first).join();  // any thread may release
    collect(200);
    CHECK(epochs.counters().pending == held.size());
    release_all(held);
    collect(200);
    CHECK(epochs.counters().pending == 0);
    CHECK(epochs.counters().stalled == 0);
  }
  CHECK(memory.bytes().live == 0);
}

TEST_CASE("A collection looks at a bounded number of held blocks, and merges their batches", "[reclaim]") {
  Memory<M> memory(memory_of(MemoryConfig::Alloc::kArena));
  Holding<64> epochs(memory);
  Holder writer(memory, epochs);
  const std::vector<void*> held = retire_held(writer, 64 * 1000, 8);
  for (int i = 0; i < 10; ++i) writer.reclaim.collect();
  CHECK(epochs.counters().pending == 8000);
  CHECK(memory.bytes().live < 8000 * 64 + 8000 / 64 * 1300);  // records of 64 blocks, not of the 8 of a batch
  std::vector<void*> later;
  for (int i = 0; i < 100; ++i) {
    const u64 before = ByFirstWord::asked.load(kRelaxed);
    later.push_back(retire_held(writer, 64, 64).front());
    CHECK(ByFirstWord::asked.load(kRelaxed) - before <= 3 * 64);
  }
  CHECK(epochs.counters().pending >= 8100);
  release_all(held);
  release_all(later);
  for (int i = 0; i < 100; ++i) writer.reclaim.collect();
  CHECK(epochs.counters().pending == 0);
}

TEST_CASE("A thread that exits leaves held blocks to others", "[reclaim]") {
  Memory<M> memory(memory_of(MemoryConfig::Alloc::kArena));
  {
    Holding<4> epochs(memory);
    Holder other(memory, epochs);
    std::vector<void*> held;
    {
      Holder leaver(memory, epochs);
      held = retire_held(leaver, 30, 3);
      for (int i = 0; i < 3; ++i) leaver.reclaim.collect();
    }
    for (int i = 0; i < 3; ++i) other.reclaim.collect();
    CHECK(epochs.counters().pending == 10);
    release_all(held);
    for (int i = 0; i < 3; ++i) other.reclaim.collect();
    CHECK(epochs.counters().pending == 0);
  }
  CHECK(memory.bytes().live == 0);
}

TEST_CASE("drain keeps held blocks of every queue, and frees them after their release", "[reclaim]") {
  const Reclaim reclaim = GENERATE(Reclaim::kEpoch, Reclaim::kLeak);
  Memory<M> memory(memory_of(MemoryConfig::Alloc::kMalloc, reclaim));
  {
    Holding<4> epochs(memory);
    Holder reader(memory, epochs);
    Holder writer(memory, epochs);
    std::vector<void*> held = retire_held(writer, 10, 2);
    for (int i = 0; i < 3; ++i) writer.reclaim.collect();
    reader.reclaim.enter();
    {
      Holder leaver(memory, epochs);
      for (void* const block : retire_held(leaver, 10, 2)) held.push_back(block);
    }
    for (void* const block : retire_held(writer, 10, 2)) held.push_back(block);
    reader.reclaim.leave();
    for (int i = 0; i < 2; ++i) {
      epochs.drain();
      CHECK(epochs.counters().pending == held.size());
    }
    release_all(held);
    epochs.drain();
    CHECK(epochs.counters().pending == 0);
  }
  CHECK(memory.bytes().live == 0);
}

TEST_CASE("The reclaimer must not end before its pins", "[reclaim][no-tsan]") {  // it forks
  const std::string words = testing::last_words([] {
    Memory<M> memory(memory_of(MemoryConfig::Alloc::kArena));
    Holding<4> epochs(memory);
    Holder writer(memory, epochs);
    (void)retire_held(writer, 1, 1);
  });
  CHECK(words.find("a block is still held") != std::string::npos);
}

/// Retires blocks until one is refused, and returns their number.
template <class R>
u64 retire_until_refused(Holder<R>& writer, std::vector<void*>& blocks) {
  const std::size_t before = blocks.size();
  for (; !blocks.empty() && writer.reclaim.reserve(); blocks.pop_back()) writer.reclaim.retire(blocks.back(), 64);
  return before - blocks.size();
}

TEST_CASE("While memory is out, held blocks use up the reserve, and their release gives it back", "[reclaim]") {
  FailurePlan plan;
  MemoryConfig config = memory_of(MemoryConfig::Alloc::kMalloc);
  config.fail = &plan;
  Memory<M> memory(config);
  {
    Holding<4> epochs(memory);
    Holder writer(memory, epochs);
    std::vector<void*> blocks;
    for (u64 i = 0; i < 400; ++i) blocks.push_back(new (writer.pool->allocate(64)) std::atomic<u64>(1));
    const std::vector<void*> all = blocks;
    plan.arm(1, FailurePlan::Then::kForEver);
    const u64 accepted = retire_until_refused(writer, blocks);
    CHECK(accepted >= 1);
    CHECK(accepted < 400);
    release_all(all);
    CHECK(retire_until_refused(writer, blocks) == 400 - accepted);
    plan.disarm();
    for (int i = 0; i < 20; ++i) writer.reclaim.collect();
    CHECK(epochs.counters().freed == 400);
  }
  CHECK(memory.bytes().live == 0);
}

}  // namespace
}  // namespace latchlab
