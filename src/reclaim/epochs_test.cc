#include "src/reclaim/epochs.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "src/base/rng.h"
#include "src/machine/native.h"
#include "src/memory/attempt_blocks.h"
#include "src/memory/pool_lease.h"
#include "src/reclaim/immediate.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using M = Native;
using OneByOne = Epochs<M, 2, 1>;
static_assert(Reclaimer<Epochs<M>> && Reclaimer<OneByOne> && Reclaimer<Immediate<M>>);

MemoryConfig config_of(MemoryConfig::Alloc alloc = MemoryConfig::Alloc::kArena, Reclaim reclaim = Reclaim::kEpoch) {
  MemoryConfig config;
  config.alloc = alloc;
  config.reclaim = reclaim;
  return config;
}
MemoryConfig config_of(Reclaim reclaim) { return config_of(MemoryConfig::Alloc::kArena, reclaim); }

template <class R>
struct Member {
  PoolLease<typename R::Machine> pool;
  typename R::ThreadState reclaim;
  Member(Memory<typename R::Machine>& memory, R& epochs) : pool(memory), reclaim(epochs, *pool) {}
  void retire_one() { reclaim.retire(pool->allocate(64), 64); }
};

TEST_CASE("A block is freed only after every reader that may have seen it has left", "[reclaim]") {
  Memory<M> memory(config_of(GENERATE(Reclaim::kEpoch, Reclaim::kEpochFence)));
  OneByOne epochs(memory);
  Member writer(memory, epochs);
  Member reader(memory, epochs);
  for (int round = 0; round < 10; ++round) {
    const u64 freed = epochs.counters().freed;
    reader.reclaim.enter();
    writer.reclaim.enter();
    writer.retire_one();
    writer.reclaim.leave();
    for (int i = 0; i < 10; ++i) writer.reclaim.collect();
    CHECK(epochs.counters().freed == freed);
    reader.reclaim.leave();
    for (u64 i = 0; i < 2; ++i) writer.reclaim.collect();  // at most two grace periods
    CHECK(epochs.counters().freed == freed + 1);
    CHECK(epochs.counters().pending == 0);
  }
}

TEST_CASE("Under qsbr a block is freed only after every thread has announced that it is between operations",
          "[reclaim]") {
  Memory<M> memory(config_of(Reclaim::kQsbr));
  OneByOne epochs(memory);
  Member writer(memory, epochs);
  Member reader(memory, epochs);
  const auto look = [&](u32 operations) {
    for (u32 i = 0; i < operations; ++i) {
      reader.reclaim.enter();
      reader.reclaim.leave();
    }
  };
  const auto collect = [&] {
    writer.reclaim.idle();
    for (int i = 0; i < 10; ++i) writer.reclaim.collect();
  };
  for (int round = 0; round < 10; ++round) {
    const u64 freed = epochs.counters().freed;
    reader.reclaim.enter();  // the first of 64 operations since its last announcement
    writer.reclaim.enter();
    writer.retire_one();
    writer.reclaim.leave();
    collect();
    CHECK(epochs.counters().freed == freed);
    reader.reclaim.leave();
    look(62);
    collect();
    CHECK(epochs.counters().freed == freed);  // a single leave announces nothing
    for (int i = 0; i < 3; ++i) {
      look(64);
      collect();
    }
    CHECK(epochs.counters().freed == freed + 1);
    look(64 - 62 - 1);
  }
}

TEST_CASE("Under qsbr an idle thread holds up no block, and an operating one does", "[reclaim]") {
  Memory<M> memory(config_of(Reclaim::kQsbr));
  OneByOne epochs(memory);
  Member writer(memory, epochs);
  Member reader(memory, epochs);
  for (int round = 0; round < 10; ++round) {
    reader.reclaim.enter();
    writer.retire_one();
    for (int i = 0; i < 10; ++i) writer.reclaim.collect();
    CHECK(epochs.counters().pending == 1);
    reader.reclaim.leave();
    reader.reclaim.idle();
    for (int i = 0; i < 3; ++i) writer.reclaim.collect();
    CHECK(epochs.counters().pending == 0);
  }
}

TEST_CASE("Under leak no block is freed before the end", "[reclaim]") {
  Memory<M> memory(config_of(GENERATE(MemoryConfig::Alloc::kMalloc, MemoryConfig::Alloc::kArena), Reclaim::kLeak));
  {
    Epochs<M, 2, 4> epochs(memory);
    {
      Member writer(memory, epochs);
      for (int i = 0; i < 100; ++i) {
        writer.reclaim.enter();
        writer.retire_one();
        writer.reclaim.leave();
      }
    }
    CHECK(epochs.counters().freed == 0);
    CHECK(epochs.counters().pending == 100);
    CHECK(epochs.counters().stalled == 0);
  }
  CHECK(memory.bytes().live == 0);
}

TEST_CASE("A block waits two epochs, not one", "[reclaim]") {
  // The reader enters in the epoch of the stamp, but before the block is unlinked. So one advance does not wait for it.
  Memory<M> memory(config_of());
  OneByOne epochs(memory);
  Member writer(memory, epochs);
  Member reader(memory, epochs);
  writer.retire_one();
  for (int i = 0; i < 3; ++i) writer.reclaim.collect();
  const ReclaimCounters before = epochs.counters();
  reader.reclaim.enter();
  writer.retire_one();  // stamps, then advances past the reader once
  writer.reclaim.collect();
  CHECK(epochs.counters().advances == before.advances + 1);
  CHECK(epochs.counters().freed == before.freed);
  reader.reclaim.leave();
}

TEST_CASE("Readers that come and go hold up no block", "[reclaim]") {
  Memory<M> memory(config_of());
  OneByOne epochs(memory);
  Member writer(memory, epochs);
  Member reader(memory, epochs);
  for (int i = 0; i < 1000; ++i) {
    reader.reclaim.enter();
    writer.retire_one();
    reader.reclaim.leave();
  }
  CHECK(epochs.counters().pending <= 4);
}

TEST_CASE("Without a grace period a block is freed while a reader may see it", "[reclaim]") {
  Memory<M> memory(config_of());
  Epochs<M, 0, 1> epochs(memory);
  Member writer(memory, epochs);
  Member reader(memory, epochs);
  reader.reclaim.enter();
  writer.retire_one();
  CHECK(epochs.counters().freed == 1);
  reader.reclaim.leave();
}

TEST_CASE("A batch is stamped when it is full, and freed at the latest when the second after it is full", "[reclaim]") {
  Memory<M> memory(config_of());
  Epochs<M, 2, 64> epochs(memory);
  Member writer(memory, epochs);
  for (int i = 0; i < 63; ++i) writer.retire_one();
  CHECK(epochs.counters().advances == 0);
  for (int i = 63; i < 10 * 64; ++i) writer.retire_one();
  const ReclaimCounters counters = epochs.counters();
  CHECK(counters.retired == 640);
  CHECK(counters.freed >= 8 * 64);
  CHECK(counters.advances == 10);
  CHECK(counters.stalled == 0);
}

TEST_CASE("A batch of large blocks is full when it holds a MiB", "[reclaim]") {
  Memory<M> memory(config_of());
  Epochs<M, 2, 64> epochs(memory);
  Member writer(memory, epochs);
  constexpr u64 kBytes = 64 << 10;
  for (u64 i = 0; i < 15; ++i) writer.reclaim.retire(writer.pool->allocate(kBytes), kBytes);
  CHECK(epochs.counters().advances == 0);
  for (u64 i = 15; i < 10 * 16; ++i) writer.reclaim.retire(writer.pool->allocate(kBytes), kBytes);
  CHECK(epochs.counters().advances == 10);
  CHECK(epochs.counters().freed >= 8 * 16);
}

TEST_CASE("When memory is out, an attempt can retire all its large blocks, and the next one frees them", "[reclaim]") {
  FailurePlan plan;
  MemoryConfig config = config_of(GENERATE(MemoryConfig::Alloc::kMalloc, MemoryConfig::Alloc::kArena));
  config.fail = &plan;
  Memory<M> memory(config);
  Epochs<M, 2, 64> epochs(memory);
  Member writer(memory, epochs);
  constexpr u64 kBytes = Epochs<M>::kMostBatchBytes, kBlocks = AttemptBlocks<M>::kMaxBlocks;
  std::vector<void*> blocks;
  for (u64 i = 0; i < 3 * kBlocks; ++i) blocks.push_back(writer.pool->allocate(kBytes));
  plan.arm(1, FailurePlan::Then::kForEver);
  for (u64 attempt = 0; attempt < 3; ++attempt) {
    REQUIRE(writer.reclaim.reserve());
    CHECK(epochs.counters().freed == attempt * kBlocks);
    writer.reclaim.enter();
    for (u64 i = 0; i < kBlocks; ++i) writer.reclaim.retire(blocks[attempt * kBlocks + i], kBytes);
    writer.reclaim.leave();
  }
  plan.disarm();
}

TEST_CASE("Another thread adopts the garbage of a thread that exits", "[reclaim]") {
  Memory<M> memory(config_of());
  Epochs<M> epochs(memory);
  Member reader(memory, epochs);
  Member other(memory, epochs);
  reader.reclaim.enter();
  {
    Member leaver(memory, epochs);
    for (int i = 0; i < 100; ++i) leaver.retire_one();
  }
  CHECK(epochs.counters().pending == 100);
  reader.reclaim.leave();
  for (int i = 0; i < 3; ++i) other.reclaim.collect();
  CHECK(epochs.counters().pending == 0);
}

TEST_CASE("A thread that exits while no other is inside leaves no garbage", "[reclaim]") {
  Memory<M> memory(config_of(GENERATE(MemoryConfig::Alloc::kMalloc, MemoryConfig::Alloc::kArenaTouch)));
  Epochs<M> epochs(memory);
  {
    Member leaver(memory, epochs);
    for (int i = 0; i < 100; ++i) leaver.retire_one();
  }
  CHECK(epochs.counters().pending == 0);
  CHECK(memory.bytes().live == 0);
}

TEST_CASE("drain frees open batches, waiting batches and those of exited threads", "[reclaim]") {
  const auto alloc = GENERATE(MemoryConfig::Alloc::kMalloc, MemoryConfig::Alloc::kArenaTouch);
  Memory<M> memory(config_of(alloc));
  Epochs<M> epochs(memory);
  Member reader(memory, epochs);
  Member writer(memory, epochs);
  for (int round = 0; round < 3; ++round) {
    reader.reclaim.enter();
    {
      Member leaver(memory, epochs);
      for (int i = 0; i < 100; ++i) leaver.retire_one();
    }
    for (int i = 0; i < 100; ++i) writer.retire_one();
    reader.reclaim.leave();
    CHECK(epochs.counters().pending == 200);
    epochs.drain();
    CHECK(epochs.counters().pending == 0);
    CHECK(memory.bytes().live == 0);
  }
}

TEST_CASE("The end of the reclaimer frees all garbage, also the blocks of malloc", "[reclaim]") {
  Memory<M> memory(config_of(MemoryConfig::Alloc::kMalloc));
  std::optional<Epochs<M>> epochs(std::in_place, memory);
  // A thread that stays inside for ever, like a killed one: the destructor that would clean up never runs.
  alignas(Member<Epochs<M>>) unsigned char killed[sizeof(Member<Epochs<M>>)];
  (new (killed) Member<Epochs<M>>(memory, *epochs))->reclaim.enter();
  {
    Member leaver(memory, *epochs);
    for (int i = 0; i < 100; ++i) leaver.retire_one();
  }
  CHECK(epochs->counters().pending == 100);
  CHECK(memory.bytes().live != 0);
  epochs.reset();
  CHECK(memory.bytes().live == 0);
}

TEST_CASE("A thread that does not leave is counted as a stall, and blocks no other thread", "[reclaim]") {
  Memory<M> memory(config_of());
  Epochs<M> epochs(memory);
  Member reader(memory, epochs);
  Member writer(memory, epochs);
  reader.reclaim.enter();
  for (u64 i = 0; i < 2 * Epochs<M>::kStallBlocks; ++i) writer.retire_one();
  CHECK(epochs.counters().stalled >= 63);
  reader.reclaim.leave();
  for (int i = 0; i < 3; ++i) writer.reclaim.collect();
  CHECK(epochs.counters().pending == 0);
  const u64 stalled = epochs.counters().stalled;
  for (int i = 0; i < 1000; ++i) writer.retire_one();
  CHECK(epochs.counters().stalled == stalled);
}

TEST_CASE("Retiring succeeds whichever allocation fails", "[reclaim]") {
  FailurePlan plan;
  MemoryConfig config = config_of(GENERATE(MemoryConfig::Alloc::kMalloc, MemoryConfig::Alloc::kArena));
  config.fail = &plan;
  const bool inside = GENERATE(false, true);
  for (const auto then : {FailurePlan::Then::kOnce, FailurePlan::Then::kForEver}) {
    bool met = true;
    for (u64 n = 1; met; ++n) {
      Memory<M> memory(config);
      {
        Epochs<M, 2, 4> epochs(memory);
        Member writer(memory, epochs);
        std::vector<void*> blocks;
        for (int i = 0; i < 40; ++i) blocks.push_back(writer.pool->allocate(64));
        plan.arm(n, then);
        for (void* const block : blocks) {
          REQUIRE(writer.reclaim.reserve());
          if (inside) writer.reclaim.enter();
          writer.reclaim.retire(block, 64);
          if (inside) writer.reclaim.leave();
        }
        met = plan.seen() >= n;
        plan.disarm();
        CHECK(epochs.counters().retired == 40);
        epochs.drain();
        CHECK(epochs.counters().freed == 40);
        CHECK(memory.bytes().live == 0);
      }
      REQUIRE(n < 100);
    }
  }
}

/// The native machine, on which waiting is an error. It counts the scans of all threads that reach their fence.
struct Impatient : Native {
  static inline u64 fences = 0;
  static void full_fence() {
    ++fences;
    Native::full_fence();
  }
  static void heavy_fence() {
    ++fences;
    Native::heavy_fence();
  }
  template <class A, class Done>
  static u64 wait_until(const A&, Done&&) {
    throw std::runtime_error("a thread waits");
  }
};

/// The place where a thread stays while memory is out.
enum class Quiet { kGone, kBetweenOperations, kInside };

/// Runs operations that retire `each` blocks, until one is refused or `most` blocks are retired. Returns their number.
template <class Writer>
u64 retire_until_refused(Writer& writer, std::vector<void*>& blocks, u64 each, u64 most) {
  const std::size_t before = blocks.size(), least = before - std::min<std::size_t>(before, most);
  while (blocks.size() > least && writer.reclaim.reserve()) {
    writer.reclaim.enter();
    for (u64 i = 0; i < each; ++i) {
      writer.reclaim.retire(blocks.back(), 64);
      blocks.pop_back();
    }
    writer.reclaim.leave();
  }
  return before - blocks.size();
}

TEMPLATE_TEST_CASE_SIG("When memory is out, a thread that does not leave gets operations refused, and none waits",
                       "[reclaim]", ((u32 kBatch), kBatch), 1, 3, 64) {
  using R = Epochs<Impatient, 2, kBatch>;
  const Reclaim reclaim = GENERATE(Reclaim::kEpoch, Reclaim::kEpochFence, Reclaim::kQsbr, Reclaim::kLeak);
  const Quiet quiet = GENERATE(Quiet::kGone, Quiet::kBetweenOperations, Quiet::kInside);
  const bool writer_ends = GENERATE(false, true);
  constexpr u64 kMost = 960;
  const u64 each = GENERATE(1, 16);  // blocks of one operation; 16 is the most that an attempt may retire
  CAPTURE(word(reclaim), static_cast<int>(quiet), writer_ends, each);
  FailurePlan plan;
  MemoryConfig config = config_of(GENERATE(MemoryConfig::Alloc::kMalloc, MemoryConfig::Alloc::kArena), reclaim);
  config.fail = &plan;
  Memory<Impatient> memory(config);
  {
    R epochs(memory);
    Member other(memory, epochs);
    auto reader = std::make_unique<Member<R>>(memory, epochs);
    auto writer = std::make_unique<Member<R>>(memory, epochs);
    std::vector<void*> blocks;
    for (u64 i = 0; i < 2 * kMost; ++i) blocks.push_back(writer->pool->allocate(64));
    reader->reclaim.enter();
    if (quiet != Quiet::kInside) reader->reclaim.leave();
    if (quiet == Quiet::kGone) reader.reset();
    const bool held = reclaim == Reclaim::kLeak || quiet == Quiet::kInside ||
                      (reclaim == Reclaim::kQsbr && quiet == Quiet::kBetweenOperations);

    plan.arm(1, FailurePlan::Then::kForEver);
    const u64 accepted = retire_until_refused(*writer, blocks, each, kMost);
    CHECK(epochs.counters().retired == accepted);
    CHECK(accepted >= each);
    CHECK((accepted < kMost) == held);
    if (held) {
      CHECK(epochs.counters().freed == 0);
      for (int i = 0; i < 100; ++i) {
        const u64 before = Impatient::fences;
        CHECK_FALSE(writer->reclaim.reserve());
        CHECK(Impatient::fences - before <= 3);
      }
    }
    CHECK(other.reclaim.reserve());  // each thread has a reserve of its own
    if (writer_ends) {               // leaves its garbage to other threads and its slot to the next one
      writer.reset();
      writer = std::make_unique<Member<R>>(memory, epochs);
    }

    if (quiet == Quiet::kInside) reader->reclaim.leave();
    if (reader != nullptr) reader->reclaim.idle();
    if (reclaim != Reclaim::kLeak) {
      other.reclaim.collect();
      CHECK(retire_until_refused(*writer, blocks, each, kMost) == kMost);  // memory is still out
      for (Member<R>* const member : {&other, writer.get()}) {
        member->reclaim.idle();
        for (int i = 0; i < 3; ++i) member->reclaim.collect();
      }
      CHECK(epochs.counters().pending == 0);
    }
    plan.disarm();
    (void)retire_until_refused(*writer, blocks, each, 2 * kMost);
    CHECK(blocks.empty());  // memory is back
    epochs.drain();
    CHECK(epochs.counters().pending == 0);
  }
  CHECK(memory.bytes().live == 0);
}

TEST_CASE("The next thread reuses a slot, and a ThreadState can be moved", "[reclaim]") {
  Memory<M> memory(config_of());
  Epochs<M> epochs(memory);
  for (int i = 0; i < 100; ++i) {
    PoolLease<M> pool(memory);
    Epochs<M>::ThreadState first(epochs, *pool);
    Epochs<M>::ThreadState second(std::move(first));
    second.enter();
    second.retire(pool->allocate(64), 64);
    second.leave();
  }
  CHECK(epochs.counters().retired == 100);
  CHECK(epochs.counters().freed == 100);
}

// A node that carries its number in two fields. If a block is freed too early, the free list's link overwrites its
// first word, or it becomes another node while a reader looks.
struct Node {
  std::atomic<u64> mark;
  std::atomic<u64> id;
  explicit Node(u64 number) : mark(~number), id(number) {}
};

u64 hammer(Reclaim reclaim, u64 seed, u32 threads, u32 operations) {
  constexpr u32 kCells = 16;
  Memory<M> memory(config_of(GENERATE(MemoryConfig::Alloc::kMalloc, MemoryConfig::Alloc::kArenaTouch), reclaim));
  u64 wrong = 0;
  {
    Epochs<M, 2, 8> epochs(memory);
    std::atomic<Node*> cells[kCells]{};
    std::atomic<u64> errors{0};
    auto work = [&](u32 me) {
      for (u32 part = 0; part < 4; ++part) {  // threads come and go
        Member member(memory, epochs);
        for (u32 i = 0; i < operations / 4; ++i) {
          const u64 random = draw(seed, me * 4 + part, i);
          std::atomic<Node*>& cell = cells[random % kCells];
          member.reclaim.enter();
          if (random >> 8 & 1) {
            AttemptBlocks<M> blocks(*member.pool);
            Node* const node = new (blocks.make(sizeof(Node))) Node(random);
            // Pairs with itself and with the load below: a thread that finds a node sees its initialised words.
            Node* const old = cell.exchange(node, kAcqRel);
            blocks.keep();
            if (old != nullptr) blocks.retire(old, sizeof(Node));
            blocks.hand_retired_to(member.reclaim);
          } else if (const Node* const node = cell.load(kAcquire)) {  // pairs with the exchange
            const u64 id = node->id.load(kRelaxed);
            for (int look = 0; look < 20; ++look) {
              if (node->mark.load(kRelaxed) != ~id || node->id.load(kRelaxed) != id) errors.fetch_add(1, kRelaxed);
            }
            if ((random >> 9) % 64 == 0) M::yield();  // some readers stay long
          }
          member.reclaim.leave();
        }
      }
    };
    std::vector<std::thread> running;
    for (u32 t = 0; t < threads; ++t) running.emplace_back(work, t);
    for (std::thread& thread : running) thread.join();
    CHECK((epochs.counters().freed > 0) == (reclaim != Reclaim::kLeak));
    for (std::atomic<Node*>& cell : cells) {
      Pool<M>& pool = memory.join();
      if (Node* const node = cell.load(kRelaxed)) pool.free(node, sizeof(Node));
      memory.leave(pool);
    }
    wrong = errors.load(kRelaxed);
  }
  CHECK(memory.bytes().live == 0);
  return wrong;
}

TEST_CASE("No reader sees a freed block", "[reclaim]") {
  const Reclaim reclaim = GENERATE(Reclaim::kEpoch, Reclaim::kEpochFence, Reclaim::kQsbr, Reclaim::kLeak);
  INFO(word(reclaim));
  CHECK(hammer(reclaim, test_seed(), 4, 40000) == 0);
}

}  // namespace
}  // namespace latchlab
