// Tests that every policy keeps operations apart, on native threads and on the emulated machine, and of the special
// properties of the small policies. rtm, hle, adaptive and hybrid have tests of their own.
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "indexes/example/sorted_list.h"
#include "src/base/error.h"
#include "src/machine/emulated.h"
#include "src/machine/native.h"
#include "src/machine/simulated.h"
#include "src/testing/catch.h"
#include "sync/adaptive.h"
#include "sync/atomic.h"
#include "sync/bravo.h"
#include "sync/cna.h"
#include "sync/combine.h"
#include "sync/concepts.h"
#include "sync/ffwd.h"
#include "sync/gcr.h"
#include "sync/hapax.h"
#include "sync/hle.h"
#include "sync/hybrid.h"
#include "sync/mcs.h"
#include "sync/mutex.h"
#include "sync/none.h"
#include "sync/olc.h"
#include "sync/own.h"
#include "sync/policy_testing.h"
#include "sync/reciprocating.h"
#include "sync/rowex.h"
#include "sync/rtm.h"
#include "sync/rwspin.h"
#include "sync/seq.h"
#include "sync/shared_mutex.h"
#include "sync/spin.h"
#include "sync/striped.h"
#include "sync/tbb_rw.h"
#include "sync/tbb_spec.h"
#include "sync/tbb_spec_rw.h"
#include "sync/ticket.h"

namespace latchlab {
namespace {

template <class M>
constexpr bool kRunsOn =
    Policy<None<M>> && Policy<OneAtomic<M>> && Policy<Mutex<M>> && Policy<Spin<M>> && Policy<Ticket<M>> &&
    Policy<Mcs<M>> && Policy<Cna<M>> && Policy<Reciprocating<M>> && Policy<Hapax<M>> && Policy<Gcr<M>> &&
    Policy<Bravo<M>> && Policy<Combine<M>> && Policy<Ffwd<M>> && Policy<RwSpin<M>> && Policy<SharedMutex<M>> &&
    Policy<Rtm<M>> && Policy<Olc<M>> && Policy<Rowex<M>> && Policy<Striped<M>> && Policy<Seq<M>>;
static_assert(kRunsOn<Native> && kRunsOn<Emulated> && kRunsOn<Simulated>);
static_assert(Policy<TbbRw<Native>> && Policy<TbbSpec<Native>> && Policy<TbbSpecRw<Native>>);

// oneTBB's locks are made of the processor's words, not of cells.
template <class M>
constexpr bool kHasTbbRw = requires { typename TbbRw<M>; };
static_assert(kHasTbbRw<Native> && !kHasTbbRw<Emulated> && !kHasTbbRw<Simulated>);

// An index that lacks an operation is refused by the compiler where it is joined to a policy.
template <class Body>
struct WithoutErase : Body {
  void erase_in() = delete;
};
template <class Body>
struct WithoutScan : Body {
  static constexpr bool kOrdered = true;
};
using List = SortedList<CoarseLayout<Native>, U64Key>;
static_assert(IndexBody<List, DirectTx<Native>>);
static_assert(!IndexBody<WithoutErase<List>, DirectTx<Native>>);
static_assert(!IndexBody<WithoutScan<List>, DirectTx<Native>>);

// The list does not promise kLatchFreeReaders, so policies with such readers refuse it.
struct Bearing : List {
  static constexpr bool kLatchFreeReaders = true;
};
struct NotBearing : List {
  static constexpr bool kLatchFreeReaders = false;
};
static_assert(Admits<List, Olc<Native>> && Admits<List, Striped<Native>> && !Admits<List, Rowex<Native>>);
static_assert(Admits<Bearing, Rowex<Native>> && !Admits<NotBearing, Rowex<Native>>);
static_assert(Admits<Bearing, Adaptive<Native>> && !Admits<NotBearing, Adaptive<Native>>);

using testing::House;
using testing::Twins;

constexpr u32 kThreads = 4;
constexpr u32 kYieldEvery = 61;  // operations
constexpr u32 kWrites = 10000;   // writes of each thread, and as many reads
// The writes under a lock that serves in an order of its own: if threads share processors, every operation waits for a
// context switch.
constexpr u32 kFairWrites = 300;

template <class P>
struct Hammered {
  typename Twins<typename P::Layout>::Both end;
  u64 torn_reads = 0;
  u64 repeated_values = 0;  // the result of a write must grow from call to call of one thread
  std::vector<typename P::Counters> counters;
};

template <class P>
Hammered<P> hammer(std::string_view spec, u32 writes) {
  House<P> house(spec);
  Twins<typename P::Layout> twins;
  std::atomic<u64> torn{0}, repeated{0};
  std::atomic<u32> ready{0};
  Hammered<P> result;
  result.counters.resize(kThreads);
  std::vector<std::thread> threads;
  for (u32 t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      typename House<P>::ThreadState me(house);
      ready.fetch_add(1);
      while (ready.load() < kThreads) std::this_thread::yield();
      // Yields now and then to a thread that waits for this one. That aborts a hardware transaction.
      auto yield_at_times = [operations = u32{0}]() mutable {
        if (++operations % kYieldEvery == 0) std::this_thread::yield();
      };
      u64 next = 0;
      for (u32 i = 0; i < writes; ++i) {
        const u64 before = house.policy.write(me, [&](auto& tx) { return twins.add_in(tx, yield_at_times); });
        if (before < next) repeated.fetch_add(1);
        next = before + 1;
        const auto both = house.policy.read(me, [&](auto& tx) { return twins.read_in(tx, yield_at_times); });
        if (both.first != both.second || both.first < next) torn.fetch_add(1);
      }
      result.counters[t] = me.counters;
    });
  }
  for (std::thread& thread : threads) thread.join();
  result.end = twins.now();
  result.torn_reads = torn;
  result.repeated_values = repeated;
  return result;
}

template <class P>
Hammered<P> check_exclusion(std::string_view spec = P::kName, u32 writes = kWrites) {
  INFO(P::kName << " on " << P::Machine::kName);
  auto result = hammer<P>(spec, writes);
  CHECK(result.end.first == kThreads * writes);
  CHECK(result.end.second == kThreads * writes);
  CHECK(result.torn_reads == 0);
  CHECK(result.repeated_values == 0);
  return result;
}

template <class M>
void check_exclusion_on() {
  check_exclusion<Mutex<M>>();
  check_exclusion<Spin<M>>();
  check_exclusion<Ticket<M>>("ticket", kFairWrites);
  check_exclusion<Mcs<M>>("mcs", kFairWrites);
  check_exclusion<Cna<M>>("cna", kFairWrites);
  check_exclusion<Reciprocating<M>>("reciprocating", kFairWrites);
  check_exclusion<Hapax<M>>("hapax", kFairWrites);
  check_exclusion<Gcr<M>>("gcr:1", kFairWrites);
  check_exclusion<Gcr<M>>("gcr:2", kFairWrites);
  check_exclusion<Combine<M>>("combine", kFairWrites);
  check_exclusion<Ffwd<M>>("ffwd", kFairWrites);
  check_exclusion<RwSpin<M>>();
  check_exclusion<SharedMutex<M>>();
  check_exclusion<Bravo<M>>();
}

TEST_CASE("Locks keep the operations of four threads apart") {
  check_exclusion_on<Native>();
  check_exclusion_on<Emulated>();
  check_exclusion<TbbRw<Native>>();
}

template <class P>
void check_elision(std::string_view spec) {
  for (const auto& counters : check_exclusion<P>(spec).counters) {
    CHECK(counters.inconsistency() == "");
    CHECK(counters.ops == 2 * kWrites);
  }
}

TEST_CASE("An elided lock keeps the operations of four threads apart") {
  for (const auto* spec : {"rtm:20", "rtm:0,respec=0", "rtm:1,wait=0,busy_counts=0", "rtm:3,obey_retry=1"}) {
    check_elision<Rtm<Native>>(spec);
    check_elision<Rtm<Emulated>>(spec);
  }
  for (const auto* spec : {"hle", "hle:native", "hle:emulated"}) {
    check_elision<Hle<Native>>(spec);
    check_elision<Hle<Emulated>>(spec);
  }
  check_elision<Adaptive<Native>>("adaptive");
  check_elision<Adaptive<Emulated>>("adaptive");
}

// ThreadSanitizer does not see these locks, because they are in oneTBB's library.
TEST_CASE("A lock that oneTBB elides keeps the operations of four threads apart", "[no-tsan]") {
  check_elision<TbbSpec<Native>>("tbb-spec");
  check_elision<TbbSpecRw<Native>>("tbb-spec-rw");
}

TEST_CASE("Optimistic lock coupling keeps the operations of four threads apart") {
  check_exclusion<Olc<Native>>();
  check_exclusion<Olc<Emulated>>();
}

TEST_CASE("Changes by transaction and under latches keep the operations of four threads apart") {
  for (const auto* spec : {"hybrid", "hybrid:0", "hybrid:3,suspend=1"}) {
    for (const auto& counters : check_exclusion<Hybrid<Native>>(spec).counters) CHECK(counters.inconsistency() == "");
    for (const auto& counters : check_exclusion<Hybrid<Emulated>>(spec).counters) CHECK(counters.inconsistency() == "");
  }
}

TEST_CASE("Versions outside the nodes keep the operations of four threads apart") {
  for (const auto* spec : {"striped", "striped:1", "striped:7"}) {
    check_exclusion<Striped<Native>>(spec);
    check_exclusion<Striped<Emulated>>(spec);
  }
  check_exclusion<Seq<Native>>();
  check_exclusion<Seq<Emulated>>();
}

template <class Layout>
struct OneOfMany {
  [[no_unique_address]] typename Layout::Latch latch;
  typename Layout::template Cell<u64> number;
};

TEST_CASE("Under seq a change anywhere makes every reader restart") {
  using P = Seq<Native>;
  House<P> house("seq");
  typename House<P>::ThreadState reader(house), writer(house);
  std::vector<OneOfMany<P::Layout>> nodes(17);
  for (u64 i = 1; i < nodes.size(); ++i) {
    bool changed = false;
    house.policy.read(reader, [&](auto& tx) -> Attempt<u64> {
      const auto here = tx.enter(&nodes[0]);
      if (!std::exchange(changed, true)) {
        house.policy.write(writer, [&](auto& other) -> Attempt<int> {
          const auto there = other.enter(&nodes[i]);
          if (!other.upgrade(there)) return kRestart;
          there->number.store(i);
          return 0;
        });
      }
      return tx.confirm(here->number.load(), here);
    });
    CHECK(reader.counters.read_restarts == i);
  }
}

TEST_CASE("Readers of rowex may see half an operation and do not restart, and writers exclude each other") {
  const auto result = hammer<Rowex<Native>>("rowex", kWrites);
  CHECK(result.end.first == kThreads * kWrites);
  CHECK(result.end.second == kThreads * kWrites);
  CHECK(result.repeated_values == 0);
  for (const auto& counters : result.counters) CHECK(counters.read_restarts == 0);
}

template <class P>
void check_one_writer() {
  House<P> house(P::kName);
  Twins<typename P::Layout> twins;
  typename House<P>::ThreadState me(house);
  for (u64 i = 0; i < 100; ++i) {
    CHECK(house.policy.write(me, [&](auto& tx) { return twins.add_in(tx); }) == i);
    CHECK(house.policy.read(me, [&](auto& tx) { return twins.read_in(tx); }).second == i + 1);
  }
}

// The native machine with a count of additions to atomic cells.
struct Counting : Native {
  static inline u64 additions = 0;
  template <class T>
  struct Atomic : Native::Atomic<T> {
    using Native::Atomic<T>::Atomic;
    T fetch_add(T value, std::memory_order order) {
      ++additions;
      return Native::Atomic<T>::fetch_add(value, order);
    }
  };
};

TEST_CASE("Under none and atomic one thread may write, and atomic adds once per operation") {
  check_one_writer<None<Native>>();
  check_one_writer<None<Emulated>>();
  check_one_writer<OneAtomic<Native>>();
  check_one_writer<OneAtomic<Emulated>>();
  check_one_writer<None<Counting>>();
  CHECK(Counting::additions == 0);
  check_one_writer<OneAtomic<Counting>>();
  CHECK(Counting::additions == 200);  // a hundred writes and a hundred reads
  static_assert(!None<Native>::kManyWriters && !OneAtomic<Native>::kManyWriters);
}

// Under such policies, threads that load the index hand the lock on after each chunk (harness/trial/run_trial.cc).
TEST_CASE("Policies of one lock say that writers take turns, and those that elide or latch nodes do not") {
  static_assert(Mutex<Native>::kWritersTakeTurns && Spin<Native>::kWritersTakeTurns &&
                Ticket<Native>::kWritersTakeTurns);
  static_assert(Mcs<Native>::kWritersTakeTurns && Cna<Native>::kWritersTakeTurns &&
                Reciprocating<Native>::kWritersTakeTurns && Hapax<Native>::kWritersTakeTurns &&
                Gcr<Native>::kWritersTakeTurns && Bravo<Native>::kWritersTakeTurns &&
                Combine<Native>::kWritersTakeTurns && RwSpin<Native>::kWritersTakeTurns &&
                SharedMutex<Native>::kWritersTakeTurns);
  static_assert(TbbRw<Native>::kWritersTakeTurns);
  static_assert(!Rtm<Native>::kWritersTakeTurns && !Hle<Native>::kWritersTakeTurns &&
                !Adaptive<Native>::kWritersTakeTurns);
  static_assert(!Olc<Native>::kWritersTakeTurns && !Rowex<Native>::kWritersTakeTurns &&
                !Hybrid<Native>::kWritersTakeTurns);
  SUCCEED("the compiler checks it");
}

// Checks that two readers are inside together: if the second waited for the first, this would never end.
template <class P>
void check_readers_share() {
  House<P> house(P::kName);
  typename House<P>::ThreadState outer(house);
  bool met = false;
  house.policy.read(outer, [&](auto&) -> Attempt<int> {
    std::thread([&] {
      typename House<P>::ThreadState inner(house);
      house.policy.read(inner, [&](auto&) -> Attempt<int> {
        met = true;
        return 0;
      });
    }).join();
    return 0;
  });
  CHECK(met);
}

// Holds the lock by `hold` and lets another thread try `enter`. Returns true if that thread came in meanwhile.
template <class P, class Hold, class Enter>
bool comes_in_beside(Hold&& hold, Enter&& enter) {
  House<P> house(P::kName);
  typename House<P>::ThreadState outer(house);
  std::atomic<bool> inside{false}, tried{false};
  bool seen = false;
  std::thread other;
  hold(house.policy, outer, [&](auto&) -> Attempt<int> {
    other = std::thread([&] {
      typename House<P>::ThreadState me(house);
      tried = true;
      enter(house.policy, me, [&](auto&) -> Attempt<int> {
        inside = true;
        return 0;
      });
    });
    while (!tried) std::this_thread::yield();
    for (int i = 0; i < 200; ++i) std::this_thread::yield();
    seen = inside;
    return 0;
  });
  other.join();
  CHECK(inside);
  return seen;
}

constexpr auto kReads = [](auto& policy, auto& me, auto&& body) { policy.read(me, body); };
constexpr auto kChanges = [](auto& policy, auto& me, auto&& body) { policy.write(me, body); };

template <class P>
void check_writers_exclude() {
  INFO(P::kName);
  CHECK_FALSE(comes_in_beside<P>(kChanges, kReads));
  CHECK_FALSE(comes_in_beside<P>(kChanges, kChanges));
  CHECK_FALSE(comes_in_beside<P>(kReads, kChanges));
}

TEST_CASE("Readers of reader-writer locks share the lock, and writers exclude all others") {
  check_readers_share<RwSpin<Native>>();
  check_readers_share<RwSpin<Emulated>>();
  check_readers_share<SharedMutex<Native>>();
  check_readers_share<SharedMutex<Emulated>>();
  check_readers_share<Bravo<Native>>();
  check_readers_share<Bravo<Emulated>>();
  check_readers_share<TbbRw<Native>>();
  check_readers_share<TbbSpecRw<Native>>();
  check_writers_exclude<RwSpin<Native>>();
  check_writers_exclude<SharedMutex<Native>>();
  check_writers_exclude<Bravo<Native>>();
  check_writers_exclude<TbbRw<Native>>();
  check_writers_exclude<TbbSpecRw<Native>>();
}

template <class P>
void check_readers_exclude() {
  INFO(P::kName);
  check_writers_exclude<P>();
  CHECK_FALSE(comes_in_beside<P>(kReads, kReads));
}

TEST_CASE("Under the other locks readers exclude each other too") {
  check_readers_exclude<Mutex<Native>>();
  check_readers_exclude<Spin<Native>>();
  check_readers_exclude<Ticket<Native>>();
  check_readers_exclude<Mcs<Native>>();
  check_readers_exclude<Cna<Native>>();
  check_readers_exclude<Reciprocating<Native>>();
  check_readers_exclude<Hapax<Native>>();
  check_readers_exclude<Gcr<Native>>();
  check_readers_exclude<Combine<Native>>();
  check_readers_exclude<Ffwd<Native>>();
  check_readers_exclude<TbbSpec<Native>>();
}

template <class P>
void check_writer_gets_in() {
  // Each of two readers stays until the other one has come, unless the writer keeps it out. Without the pending bit
  // there would always be a reader inside, and the writer would wait for ever.
  House<P> house(P::kName);
  std::atomic<bool> written{false};
  std::atomic<u32> entered[2] = {0, 0};
  std::vector<std::thread> readers;
  for (u32 r = 0; r < 2; ++r) {
    readers.emplace_back([&, r] {
      typename House<P>::ThreadState me(house);
      while (!written) {
        house.policy.read(me, [&](auto&) -> Attempt<int> {
          const u32 theirs = entered[1 - r];
          ++entered[r];
          // This is long enough for the other reader to come.
          for (int i = 0; i < 2000 && entered[1 - r] == theirs && !written; ++i) std::this_thread::yield();
          return 0;
        });
      }
    });
  }
  while (entered[0] < 3 || entered[1] < 3) std::this_thread::yield();
  typename House<P>::ThreadState me(house);
  house.policy.write(me, [&](auto&) -> Attempt<int> { return 0; });
  written = true;
  for (std::thread& reader : readers) reader.join();
  SUCCEED();
}

TEST_CASE("A writer of rwspin, bravo or tbb-rw gets in although there is always a reader that wants the lock") {
  check_writer_gets_in<RwSpin<Native>>();
  check_writer_gets_in<Bravo<Native>>();
  check_writer_gets_in<TbbRw<Native>>();
}

// A node without a purpose but its size.
struct Block {
  u64 words[8];
};

template <class P>
void check_out_of_memory() {
  INFO(P::kName << " on " << P::Machine::kName);
  FailurePlan plan;
  MemoryConfig config;
  config.fail = &plan;
  House<P> house(P::kName, config);
  typename House<P>::ThreadState me(house);
  const auto make = [](auto& tx) -> Attempt<bool> {
    if (tx.template make<Block>() == nullptr) return kNoMemory;
    return true;
  };
  plan.arm(1, FailurePlan::Then::kForEver);
  CHECK_THROWS_AS(house.policy.write(me, make), std::bad_alloc);
  plan.disarm();
  // The lock is free again, and the thread goes on.
  std::thread([&] {
    typename House<P>::ThreadState other(house);
    house.policy.read(other, [](auto&) -> Attempt<int> { return 0; });
  }).join();
  CHECK(house.memory.bytes().live == 0);
  CHECK(house.policy.write(me, make));
  CHECK(house.memory.bytes().live == sizeof(Block));
}

TEST_CASE("Running out of memory throws and leaves the lock free") {
  check_out_of_memory<None<Native>>();
  check_out_of_memory<OneAtomic<Native>>();
  check_out_of_memory<Mutex<Native>>();
  check_out_of_memory<Spin<Native>>();
  check_out_of_memory<Ticket<Native>>();
  check_out_of_memory<Mcs<Native>>();
  check_out_of_memory<Cna<Native>>();
  check_out_of_memory<Reciprocating<Native>>();
  check_out_of_memory<Hapax<Native>>();
  check_out_of_memory<Gcr<Native>>();
  check_out_of_memory<Combine<Native>>();
  check_out_of_memory<Ffwd<Native>>();
  check_out_of_memory<RwSpin<Native>>();
  check_out_of_memory<SharedMutex<Native>>();
  check_out_of_memory<Bravo<Native>>();
  check_out_of_memory<TbbRw<Native>>();
  check_out_of_memory<TbbSpec<Native>>();
  check_out_of_memory<TbbSpecRw<Native>>();
  check_out_of_memory<Rtm<Native>>();
  check_out_of_memory<Rtm<Emulated>>();
  check_out_of_memory<Adaptive<Native>>();
  check_out_of_memory<Adaptive<Emulated>>();
  check_out_of_memory<Olc<Native>>();
  check_out_of_memory<Rowex<Native>>();
  check_out_of_memory<Striped<Native>>();
  check_out_of_memory<Seq<Native>>();
}

template <class P>
void check_retired_is_freed() {
  INFO(P::kName);
  House<P> house(P::kName);
  typename House<P>::ThreadState me(house);
  Block* block = nullptr;
  house.policy.write(me, [&](auto& tx) -> Attempt<int> {
    block = tx.template make<Block>();
    return 0;
  });
  CHECK(house.memory.bytes().live == sizeof(Block));
  house.policy.write(me, [&](auto& tx) -> Attempt<int> {
    tx.retire(block, sizeof(Block));
    return 0;
  });
  CHECK(house.memory.bytes().live == 0);
}

TEST_CASE("Under a coarse policy a retired block is free after the operation") {
  check_retired_is_freed<None<Native>>();
  check_retired_is_freed<Spin<Native>>();
  check_retired_is_freed<RwSpin<Emulated>>();
  check_retired_is_freed<TbbSpec<Native>>();
  check_retired_is_freed<Rtm<Emulated>>();
}

template <class P>
void check_restarts() {
  INFO(P::kName);
  House<P> house(P::kName);
  typename House<P>::ThreadState me(house);
  int runs = 0;
  const auto body = [&](auto& tx) -> Attempt<int> {
    if (tx.template make<Block>() == nullptr) return kNoMemory;
    if (++runs % 40 != 0) return kRestart;
    return runs;
  };
  CHECK(house.policy.write(me, body) == 40);
  CHECK(house.policy.read(me, body) == 80);
  CHECK(me.counters.write_restarts == 39);
  CHECK(me.counters.read_restarts == 39);
  CHECK(house.memory.bytes().live == 2 * sizeof(Block));
}

TEST_CASE("A restart of an optimistic operation is counted and returns the blocks that it made") {
  check_restarts<Olc<Native>>();
  check_restarts<Rowex<Native>>();
  check_restarts<Striped<Native>>();
  check_restarts<Seq<Native>>();
}

TEST_CASE("A body that restarts under a coarse policy is a logic error") {
  House<Spin<Native>> house("spin");
  House<Spin<Native>>::ThreadState me(house);
  CHECK_THROWS_AS(house.policy.write(me, [](auto&) -> Attempt<int> { return kRestart; }), std::logic_error);
}

template <class P>
void check_takes_no_options() {
  INFO(P::kName);
  const std::string name(P::kName);
  CHECK(P::Options::parse(Spec::parse(name)).resolved().empty());
  CHECK_THROWS_AS(P::Options::parse(Spec::parse(name + ":5")), InputError);
  CHECK_THROWS_AS(P::Options::parse(Spec::parse(name + ":wait=1")), InputError);
}

TEST_CASE("oneTBB's elided locks say why they run under their locks, and count commits and fallbacks") {
  CpuFlags listed;
  listed.rtm = true;
  CHECK_FALSE(why_no_tbb_elision(std::nullopt, listed));
  CHECK(why_no_tbb_elision("they abort", listed) == "they abort");
  CHECK(why_no_tbb_elision("they abort", {}) == "they abort");
  CHECK(why_no_tbb_elision(std::nullopt, {})->find("CPUID") != std::string::npos);

  constexpr u64 kOperations = 10000;
  House<TbbSpec<Native>> house("tbb-spec");
  House<TbbSpec<Native>>::ThreadState me(house);
  Twins<TbbSpec<Native>::Layout> twins;
  for (u64 i = 0; i < kOperations; ++i) house.policy.write(me, [&](auto& tx) { return twins.add_in(tx); });
  CHECK(twins.now().second == kOperations);
  CHECK(me.counters.inconsistency() == "");
  if (TbbSpec<Native>::degraded({})) {
    CHECK(me.counters.fallbacks == kOperations);
    WARN("skipped: " << *TbbSpec<Native>::degraded({}));
    return;
  }
  CHECK(me.counters.commits * 100 >= kOperations * 99);
}

TEST_CASE("Policies without options refuse them") {
  check_takes_no_options<None<Native>>();
  check_takes_no_options<OneAtomic<Native>>();
  check_takes_no_options<Mutex<Native>>();
  check_takes_no_options<Spin<Native>>();
  check_takes_no_options<Ticket<Native>>();
  check_takes_no_options<Mcs<Native>>();
  check_takes_no_options<Cna<Native>>();
  check_takes_no_options<Reciprocating<Native>>();
  check_takes_no_options<Hapax<Native>>();
  check_takes_no_options<Combine<Native>>();
  check_takes_no_options<Ffwd<Native>>();
  check_takes_no_options<RwSpin<Native>>();
  check_takes_no_options<SharedMutex<Native>>();
  check_takes_no_options<Bravo<Native>>();
  check_takes_no_options<TbbRw<Native>>();
  check_takes_no_options<TbbSpec<Native>>();
  check_takes_no_options<TbbSpecRw<Native>>();
  check_takes_no_options<Olc<Native>>();
  check_takes_no_options<Rowex<Native>>();
  check_takes_no_options<Seq<Native>>();
  check_takes_no_options<Own>();
}

TEST_CASE("striped takes a number of stripes in its range, and names the range in a refusal") {
  const auto stripes = [](std::string_view spec) { return StripedOptions::parse(Spec::parse(spec)).resolved(); };
  using Resolved = std::vector<std::pair<std::string, std::string>>;
  CHECK(stripes("striped") == Resolved{{"stripes", "1024"}});
  CHECK(stripes("striped:1") == Resolved{{"stripes", "1"}});
  CHECK(stripes("striped:1048576") == Resolved{{"stripes", "1048576"}});
  CHECK(!StripedOptions::about("stripes").empty());
  for (const auto* number : {"0", "1048577", "-1", "some"}) {
    CHECK_THROWS_WITH(
        stripes("striped:" + std::string(number)),
        Catch::StartsWith("policy striped: '" + std::string(number) + "' must be a whole number from 1 to 1048576"));
  }
  CHECK_THROWS_AS(stripes("striped:64,wait=1"), InputError);
}

}  // namespace
}  // namespace latchlab
