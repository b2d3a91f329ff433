// The loop of a run is measured beside it, with an index that does nothing.
#include <optional>
#include <string>

#include "harness/loop/toy_index_testing.h"
#include "harness/trial/trial_testing.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using testing::phases_of;
using testing::plan_of;
using testing::small;
using testing::VirtualTeam;
using toy::Toy;

constexpr u64 kNothingNs = 7;  // virtual time of an operation that does nothing

/// An index in the place of null, which counts its operations.
struct Nothing : Toy<u64> {
  using Toy<u64>::Toy;
  struct Body {
    static constexpr bool kKeeps = false;
  };
  static inline u64 operations = 0;
  static bool done() {
    ++operations;
    VirtualTeam::spend(kNothingNs);
    return true;
  }
  std::optional<u64> find(ThreadState&, u64) { return done(), std::nullopt; }
  bool insert(ThreadState&, u64, u64) { return done(); }
  bool update(ThreadState&, u64, u64) { return done(); }
  /// Answers as null does: with a value that is none of the key's.
  Modified modify(ThreadState&, u64, const auto&) { return done(), Modified{.before = 0, .after = 0}; }
};

Plan one_thread(Config config) {
  config.threads = 1;
  return plan_of(config);
}

/// Runs a toy, with Nothing to measure the loop.
TrialResult run_with_nothing(const Plan& plan) {
  const Topology topology = Topology::discover();
  VirtualTeam team;
  TrialOf<Toy<u64>> trial(plan);
  TrialOf<Nothing> null(plan_of_loop(plan));
  Nothing::operations = 0;
  return document(plan, topology,
                  run_trial(trial, plan, topology, team, *make_progress(ProgressMode::kNone), nullptr, &null));
}

double operation_ns(const TrialResult& result) {
  return result.throughput->seconds * 1e9 / static_cast<double>(result.throughput->operations);
}

TEST_CASE("the loop of a run is measured beside it, by as many operations as a thread holds, five times") {
  for (const char* workload : {"lookup", "mix:read=50,update=50", "mix:read=50,modify=50"}) {
    CAPTURE(workload);
    const TrialResult result = run_with_nothing(one_thread(small(workload)));
    REQUIRE(result.status == Status::kOk);
    CHECK(Nothing::operations == 5 * kRoundRequests);
    REQUIRE(result.limits.loop_ns);
    CHECK(*result.limits.loop_ns == Approx(kNothingNs).epsilon(.01));
    REQUIRE(result.limits.loop_share);
    CHECK(*result.limits.loop_share == Approx(*result.limits.loop_ns / operation_ns(result)));
    CHECK(result.validation.passed.value == true);
    CHECK(phases_of(result).back() == "limits");
  }
}

TEST_CASE("the loop that is measured times as many calls as the run") {
  Config config = small("lookup");
  config.latency_every = 1;
  const TrialResult result = run_with_nothing(one_thread(config));
  REQUIRE(result.limits.loop_ns);
  CHECK(*result.limits.loop_ns == Approx(kNothingNs + 2 * 20).epsilon(.01));  // two readings of the virtual clock
}

TEST_CASE("the loop is measured with no more operations than the workload has") {
  const TrialResult result = run_with_nothing(one_thread(small("insert")));
  REQUIRE(result.status == Status::kOk);
  CHECK(Nothing::operations == 20'000);
  CHECK(result.limits.loop_ns);
}

TEST_CASE("a loop that cannot be measured has a reason in place of a number") {
  const TrialResult without = testing::run_of<Toy<u64>>(small("lookup"));
  CHECK_FALSE(without.limits.loop_ns);
  CHECK(without.limits.loop_ns.reason == "this build lacks the pair null:none");
  CHECK_FALSE(without.limits.loop_share);

  Config open = small("lookup");
  open.rate = Rate::parse("20k");
  const TrialResult due = run_with_nothing(one_thread(open));
  CHECK_FALSE(due.limits.loop_ns);
  CHECK(due.limits.loop_ns.reason == "an open loop runs each operation when it is due");
  CHECK_FALSE(due.limits.loop_share);
  CHECK(Nothing::operations == 0);

  Config sized = small("lookup");
  sized.value_size = 136;
  const TrialResult values = run_with_nothing(one_thread(sized));
  CHECK_FALSE(values.limits.loop_ns);
  CHECK(values.limits.loop_ns.reason == "the loop calls sized values, which the null index has not");
  CHECK(Nothing::operations == 0);
}

}  // namespace
}  // namespace latchlab
