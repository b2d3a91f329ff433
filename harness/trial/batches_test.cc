// Batches in a run: what the index is asked to prefetch, for which operation, and how long before it.
#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <span>

#include "harness/loop/toy_index_testing.h"
#include "harness/trial/trial_testing.h"
#include "src/base/batching.h"
#include "src/testing/catch.h"
#include "sync/attempt.h"

namespace latchlab {
namespace {

using testing::run_of;
using testing::small;
using toy::Toy;

/// Counts of operations by what was prefetched for them.
struct Prefetched {
  std::atomic<u64> in_time{0};   ///< both lines, at least a batch before
  std::atomic<u64> late{0};      ///< both lines, but later
  std::atomic<u64> never{0};     ///< not both lines, or for another kind of operation
  std::atomic<u64> not_used{0};  ///< by the end of the run

  void clear() { in_time = late = never = not_used = 0; }
} prefetched;

/// A toy that knows for which keys it was asked to prefetch.
template <bool kFurther>
class Prefetching : public Toy<u64> {
 public:
  class ThreadState : public Toy<u64>::ThreadState {
   public:
    ~ThreadState() { prefetched.not_used += coming_.size(); }
    void first(u64 key, Hint hint) { coming_.insert({key, {hint, done_, !kFurther}}); }
    void further(u64 key) {
      for (auto [at, end] = coming_.equal_range(key); at != end; ++at) at->second.further = true;
    }
    void operation(u64 key, Hint hint) {
      ++done_;
      const auto at = coming_.find(key);
      if (at == coming_.end() || !at->second.further || at->second.hint != hint) {
        ++prefetched.never;
      } else {
        ++(done_ - at->second.since > 16 ? prefetched.in_time : prefetched.late);
      }
      if (at != coming_.end()) coming_.erase(at);
    }

   private:
    struct Coming {
      Hint hint;
      u64 since;  // operations done before the prefetch
      bool further;
    };
    std::multimap<u64, Coming> coming_;
    u64 done_ = 0;
  };

  using Toy<u64>::Toy;
  ThreadState join() { return {}; }
  void prefetch(ThreadState& me, std::span<const u64> keys, std::span<const Hint> hints) {
    for (std::size_t i = 0; i < keys.size(); ++i) me.first(keys[i], hints[i]);
  }
  void prefetch(ThreadState& me, std::span<const u64> keys, Hint hint) {
    for (const u64 key : keys) me.first(key, hint);
  }
  void prefetch_further(ThreadState& me, std::span<const u64> keys)
    requires(kFurther)
  {
    for (const u64 key : keys) me.further(key);
  }
  std::optional<u64> find(ThreadState& me, u64 key) {
    me.operation(key, Hint::kFind);
    return Toy<u64>::find(me, key);
  }
  bool insert(ThreadState& me, u64 key, u64 value) {
    me.operation(key, Hint::kInsert);
    return Toy<u64>::insert(me, key, value);
  }
  bool update(ThreadState& me, u64 key, u64 value) {
    me.operation(key, Hint::kChange);
    return Toy<u64>::update(me, key, value);
  }
  bool upsert(ThreadState& me, u64 key, u64 value) {
    me.operation(key, Hint::kInsert);
    return Toy<u64>::upsert(me, key, value);
  }
  bool erase(ThreadState& me, u64 key) {
    me.operation(key, Hint::kChange);
    return Toy<u64>::erase(me, key);
  }
  Modified modify(ThreadState& me, u64 key, const auto& f) {
    me.operation(key, Hint::kChange);
    return Toy<u64>::modify(me, key, f);
  }
};

Config batched(const char* workload, BatchOrder order) {
  Config config = small(workload);
  config.batch = {.keys = 16, .order = order};
  config.ops = 100'000;
  config.warmup_ns = 0;
  config.time_ns = 0;
  return config;
}

template <class Index>
void check_rolling(const char* workload) {
  INFO(workload);
  prefetched.clear();
  const Config config = batched(workload, BatchOrder::kRolling);
  const TrialResult result = run_of<Index>(config);
  REQUIRE(result.status == Status::kOk);
  CHECK(result.throughput->operations == (workload == std::string("insert") ? config.records : config.ops));
  CHECK(prefetched.never == 0);
  // Only the first batches of a round, or of a chunk of loading, have nobody to prefetch for them early.
  CHECK(prefetched.in_time > 20 * prefetched.late);
  CHECK(prefetched.in_time > 100 * prefetched.not_used);  // a round that ends early prefetches again for its rest
}

TEST_CASE("rolling batches prefetch for every operation, a batch before it", "[batch]") {
  for (const char* workload :
       {"lookup", "mix:insert=100", "mix:update=100", "mix:erase=10,insert=90", "mix:read=50,update=30,upsert=20",
        "mix:modify=100", "mix:read=50,modify=50", "insert"}) {
    check_rolling<Prefetching<false>>(workload);
    check_rolling<Prefetching<true>>(workload);
  }
}

TEST_CASE("a batch of several kinds of operations prefetches for all of them, then runs them", "[batch]") {
  prefetched.clear();
  const Config config = batched("mix:read=50,update=50", BatchOrder::kSideBySide);
  const TrialResult result = run_of<Prefetching<true>>(config);
  REQUIRE(result.status == Status::kOk);
  CHECK(result.throughput->operations == config.ops);
  CHECK(prefetched.late >= config.ops);
  CHECK(prefetched.in_time == 0);
  CHECK(prefetched.not_used == 0);
}

TEST_CASE("a timed rolling batch is timed from its first prefetch to its last answer", "[batch]") {
  for (const u32 keys : {16u, 64u}) {
    Config config = batched("lookup", BatchOrder::kRolling);
    config.batch.keys = keys;
    config.latency_every = 1;
    const TrialResult result = run_of<Prefetching<false>>(config);
    REQUIRE(result.latency);
    // Nearly all batches are timed, each together with the one before it.
    CHECK(static_cast<double>(result.latency->all.count) == Approx(config.ops / (2. * keys)).epsilon(.1));
    CHECK(result.latency->all.mean_ns == Approx(2. * keys * toy::kOperationNs).epsilon(.1));
    const auto says_all = [](const std::string& note) {
      return note.find(" 100.0 % of the operations") != std::string::npos;
    };
    CHECK(std::ranges::any_of(result.health.notes, says_all));
  }
}

TEST_CASE("an automatic batch is tried both ways", "[batch]") {
  prefetched.clear();
  const Config config = batched("mix:read=50,update=50", BatchOrder::kAuto);
  const TrialResult result = run_of<Prefetching<false>>(config);
  REQUIRE(result.status == Status::kOk);
  CHECK(result.throughput->operations == config.ops);
  CHECK(prefetched.never > 0);
  CHECK(prefetched.in_time > 0);
}

}  // namespace
}  // namespace latchlab
