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

TEST_CASE("A block outlives every reader that may have seen it", "[reclaim]") {
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

TEST_CASE("Under qsbr a block outlives every reader that has not said that it is between operations", "[reclaim]") {
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
    reader.reclaim.enter();  // the first of 64 operations since it has said so
    writer.reclaim.enter();
    writer.retire_one();
    writer.reclaim.leave();
    collect();
    CHECK(epochs.counters().freed == freed);
    reader.reclaim.leave();
    look(62);
    collect();
    CHECK(epochs.counters().freed == freed);  // a leave alone says nothing
    for (int i = 0; i < 3; ++i) {
      look(64);
      collect();
    }
    CHECK(epochs.counters().freed == freed + 1);
    look(64 - 62 - 1);
  }
}

TEST_CASE("Under qsbr a thread that goes idle holds nothing up, and one that comes back does", "[reclaim]") {
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

TEST_CASE("Under leak nothing is freed before the end", "[reclaim]") {
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
  // The reader enters after the retirement's epoch has begun but before the block is unlinked: one advance passes it.
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

TEST_CASE("Readers that come and go hold nothing up", "[reclaim]") {
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

TEST_CASE("Without a grace period the reader loses its block", "[reclaim]") {
  Memory<M> memory(config_of());
  Epochs<M, 0, 1> epochs(memory);
  Member writer(memory, epochs);
  Member reader(memory, epochs);
  reader.reclaim.enter();
  writer.retire_one();
  CHECK(epochs.counters().freed == 1);
  reader.reclaim.leave();
}

TEST_CASE("Batches are stamped when they are full and freed by the third", "[reclaim]") {
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

TEST_CASE("Garbage of a thread that exits is adopted", "[reclaim]") {
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

TEST_CASE("A thread that exits alone leaves nothing behind", "[reclaim]") {
  Memory<M> memory(config_of(GENERATE(MemoryConfig::Alloc::kMalloc, MemoryConfig::Alloc::kArenaTouch)));
  Epochs<M> epochs(memory);
  {
    Member leaver(memory, epochs);
    for (int i = 0; i < 100; ++i) leaver.retire_one();
  }
  CHECK(epochs.counters().pending == 0);
  CHECK(memory.bytes().live == 0);
}

TEST_CASE("drain frees what is open, waiting, and left behind", "[reclaim]") {
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

TEST_CASE("The end of the reclaimer frees what is left, malloc's blocks too", "[reclaim]") {
  Memory<M> memory(config_of(MemoryConfig::Alloc::kMalloc));
  std::optional<Epochs<M>> epochs(std::in_place, memory);
  // A thread that is inside for ever, as one that was killed: its destructor, which would clean up, never runs.
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

TEST_CASE("A thread that never leaves is noticed, and blocks nobody", "[reclaim]") {
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

TEST_CASE("Retirement survives the end of memory at every allocation", "[reclaim]") {
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

/// The processor, on which nothing may wait; looks at all threads that end with a fence are counted.
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
    throw std::runtime_error("something waits");
  }
};

/// Where a thread stays while memory is out.
enum class Quiet { kGone, kBetweenOperations, kInside };

/// Operations that retire `each` block, up to `most` blocks; returns how many these were.
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

TEMPLATE_TEST_CASE_SIG("Where memory is out, a quiet thread makes retirement fail before it begins, and it never waits",
                       "[reclaim]", ((u32 kBatch), kBatch), 1, 3, 64) {
  using R = Epochs<Impatient, 2, kBatch>;
  const Reclaim reclaim = GENERATE(Reclaim::kEpoch, Reclaim::kEpochFence, Reclaim::kQsbr, Reclaim::kLeak);
  const Quiet quiet = GENERATE(Quiet::kGone, Quiet::kBetweenOperations, Quiet::kInside);
  const bool writer_ends = GENERATE(false, true);
  constexpr u64 kMost = 960;
  const u64 each = GENERATE(1, 16);  // what one attempt may retire, at most
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
    if (writer_ends) {               // its garbage is left to others, its slot to the next one
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

TEST_CASE("A slot is used again by the next thread, and Threads can be moved", "[reclaim]") {
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

// Nodes say who they are in two fields. A block that is freed too early loses its first word to the free list's link,
// or becomes another node while it is being read.
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
            // Pairs with itself and with the load below: whoever finds a node finds its words.
            Node* const old = cell.exchange(node, kAcqRel);
            blocks.keep();
            if (old != nullptr) blocks.retire(old, sizeof(Node));
            blocks.hand_retired_to(member.reclaim);
          } else if (const Node* const node = cell.load(kAcquire)) {  // pairs with the exchange
            const u64 id = node->id.load(kRelaxed);
            for (int look = 0; look < 20; ++look) {
              if (node->mark.load(kRelaxed) != ~id || node->id.load(kRelaxed) != id) errors.fetch_add(1, kRelaxed);
            }
            if ((random >> 9) % 64 == 0) M::yield();  // readers that stay long
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

TEST_CASE("No reader ever sees a freed block", "[reclaim]") {
  const Reclaim reclaim = GENERATE(Reclaim::kEpoch, Reclaim::kEpochFence, Reclaim::kQsbr, Reclaim::kLeak);
  INFO(word(reclaim));
  CHECK(hammer(reclaim, test_seed(), 4, 40000) == 0);
}

}  // namespace
}  // namespace latchlab
