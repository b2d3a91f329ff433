// Facts that an index reports, and how they reach the result: rates, bytes, nodes a lookup, learning, limitations.
#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <type_traits>

#include "harness/loop/toy_index_testing.h"
#include "harness/loop/trial.h"
#include "harness/trial/trial_testing.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using testing::plan_of;
using testing::run_of;
using testing::small;
using toy::Toy;

struct Restarted {
  u64 ops = 0;
  u64 restarts = 0;
  static constexpr auto fields() {
    return std::array{CounterField{"ops", &Restarted::ops}, CounterField{"restarts", &Restarted::restarts}};
  }
};

/// An index that counts like a scan: three operations of the policy for one of the workload, and one restart.
struct InThree : Toy<u64> {
  using Toy<u64>::Toy;
  struct ThreadState : Toy<u64>::ThreadState {
    Restarted counters;
  };
  ThreadState join() { return {}; }
  std::optional<u64> find(ThreadState& me, u64 key) {
    me.counters.ops += 3;
    ++me.counters.restarts;
    return Toy<u64>::find(me, key);
  }
};

TEST_CASE("rates are shares of the operations that the policy counted") {
  const TrialResult result = run_of<InThree>(small("lookup"));
  REQUIRE(result.sync.restart_rate);
  CHECK(*result.sync.restart_rate == Approx(1.0 / 3));
}

struct Forgetful : Toy<u64> {
  using Toy<u64>::Toy;
  struct Body {
    static constexpr bool kKeeps = false;
  };
};

TEST_CASE("an index that keeps nothing has no bytes, no keys and no limit") {
  const TrialResult result = run_of<Forgetful>(small("lookup"));
  REQUIRE(result.status == Status::kOk);
  CHECK(result.throughput);
  const auto check = [](const auto& measured) {
    CHECK_FALSE(measured);
    CHECK(measured.reason == "this index keeps nothing");
  };
  check(result.memory.index_live);
  check(result.memory.index_reserved);
  check(result.memory.keys);
  check(result.memory.bytes_per_key);
  check(result.limits.footprint);
  check(result.limits.chase_ns);
  check(result.limits.chase_ratio);
  check(result.limits.independent_ratio);
  check(result.validation.passed);
  check(result.validation.found_keys);
}

/// An index whose even keys are one node away and whose odd keys are three.
struct Visited : Toy<u64> {
  using Toy<u64>::Toy;
  u64 visits(ThreadState&, u64 key) { return key % 2 == 0 ? 1 : 3; }
};

TEST_CASE("nodes a lookup are counted for the workload's lookups, or missing with a reason") {
  const auto nodes = []<class Index>(std::type_identity<Index>, const std::string& workload) {
    return run_of<Index>(small(workload)).nodes_per_fetch;
  };
  const auto visited = std::type_identity<Visited>();
  const auto fetched = nodes(visited, "lookup");
  REQUIRE(fetched);
  CHECK(*fetched == Approx(2).margin(.2));  // keys are random
  CHECK(*nodes(visited, "mix:read=50,update=50") == Approx(2).margin(.2));
  CHECK(*nodes(visited, "mix:read=50,insert=25,erase=25") == Approx(2).margin(.2));
  CHECK(nodes(visited, "insert").reason == "the workload looks nothing up");
  CHECK(nodes(visited, "mix:update=100").reason == "the workload looks nothing up");
  CHECK(nodes(std::type_identity<Toy<u64>>(), "lookup").reason ==
        "the index does not count the nodes that a lookup visits");
}

TEST_CASE("the fingerprint depends on the operations only, not on the threads that did them") {
  const auto print = [](const std::string& workload, u32 threads, u64 seed) {
    Config config = small(workload);
    config.threads = threads;
    config.seed = seed;
    const TrialResult result = run_of<Toy<u64>>(config);
    REQUIRE(result.stream);
    return *result.stream;
  };
  const StreamPrint one = print("mix:read=50,update=50", 1, 1);
  CHECK(one.operations == 1'000'000);
  CHECK(print("mix:read=50,update=50", 2, 1).fingerprint == one.fingerprint);
  CHECK(print("mix:read=50,update=50", 1, 2).fingerprint != one.fingerprint);
  CHECK(print("mix:read=51,update=49", 1, 1).fingerprint != one.fingerprint);
  const u64 records = small("insert").records;
  CHECK(print("insert", 1, 1).operations == records);
}

/// An index that counts the lookups that it may learn from, and the others.
struct Learning : Toy<u64> {
  using Toy<u64>::Toy;
  struct Watch {
    void sleep() { asleep = true; }
    bool asleep = false;
  };
  struct ThreadState : Toy<u64>::ThreadState {
    Watch watch;
  };
  static constexpr bool kLearns = true;
  static inline std::atomic<u64> seen, unseen;

  ThreadState join() { return {}; }
  std::optional<u64> find(ThreadState& me, u64 key) {
    (me.watch.asleep ? unseen : seen).fetch_add(1);
    return Toy<u64>::find(me, key);
  }
};

TEST_CASE("an index learns from the workload's lookups, and from no checks") {
  Learning::seen = Learning::unseen = 0;
  const Config config = small("lookup");
  const TrialResult result = run_of<Learning>(config);
  REQUIRE(result.status == Status::kOk);
  CHECK(Learning::unseen == config.records);  // each record is checked after loading
  CHECK(Learning::seen >= result.throughput->operations);
}

TEST_CASE("a run that cannot do what the index's options and --mem ask for is measured and degraded") {
  Plan plan = plan_of(small("lookup"));
  plan.index_degraded = "no such instructions";
  plan.mem_degraded = plan.not_placed = "no such nodes";
  const TrialResult result = run_of<Toy<u64>>(plan);
  CHECK(result.status == Status::kDegraded);
  CHECK(result.reason == "no such instructions; no such nodes");
  CHECK(result.placement.mem_by.reason == "no such nodes");
  CHECK(result.throughput);
}

}  // namespace
}  // namespace latchlab
