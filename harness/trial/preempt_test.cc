// Interrupted runs (--preempt): what the result says of them, and that they find what other runs do not.
#include <optional>
#include <string>
#include <string_view>

#include "harness/loop/toy_index_testing.h"
#include "harness/trial/trial_testing.h"
#include "src/base/rng.h"
#include "src/machine/preemption.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using testing::run_of;
using testing::run_on_threads;
using testing::small;
using toy::Mistake;
using toy::Plant;
using toy::Toy;

/// A short run on few keys, in which all calls are recorded, checked and interrupted.
Config preempted(std::string_view workload) {
  Config config = small(workload);
  config.records = 4;
  config.warmup_ns = 0;
  config.time_ns = 0;
  config.ops = 20'000;
  config.validate = Validate::kHistory;
  config.history = Recording{.file = "", .keys = {.one_in = 1}, .calls = 0};
  config.preempt = true;
  return config;
}

TEST_CASE("preemptions come inside recorded calls, and the result says that it measures nothing", "[no-tsan]") {
  for (const char* workload : {"mix:read=50,update=50", "mix:rmw=50,upsert=50", "mix:multi_get=50,modify=50"}) {
    CAPTURE(workload);
    Config config = preempted(workload);
    config.ops = 5'000;
    const TrialResult result = run_on_threads<Toy<u64>>(config);
    INFO(result.reason);
    CHECK(result.status == Status::kDegraded);
    CHECK_THAT(result.reason, Catch::Contains("--preempt interrupted threads ") &&
                                  Catch::Contains("the throughput is that of a test and measures nothing"));
    REQUIRE(result.history);
    CHECK(result.history->linearizable.value == true);
    CHECK(*result.history->preemptions_inside > 0);
    CHECK(*result.history->preemptions >= *result.history->preemptions_inside);
    CHECK(result.throughput->operations == 5'000);
  }
}

TEST_CASE("only recorded calls are interrupted, and only with --preempt", "[no-tsan]") {
  Config config = preempted("mix:read=50,update=50");
  config.history->calls = 2;  // one for each thread: the records take them
  const TrialResult full = run_on_threads<Toy<u64>>(config);
  REQUIRE(full.history);
  CHECK(*full.history->preemptions <= 2 * config.records);
  config.history->calls = 0;
  config.preempt = false;
  const TrialResult without = run_on_threads<Toy<u64>>(config);
  CHECK_THAT(without.reason, !Catch::Contains("--preempt"));
  REQUIRE(without.history);
  CHECK_FALSE(without.history->preemptions);
  CHECK(without.history->preemptions_inside.reason == "calls are interrupted with --preempt");
}

TEST_CASE("a run whose threads cannot be interrupted says why") {
  const TrialResult result = run_of<Toy<u64>>(preempted("mix:read=50,update=50"));
  CHECK(result.status == Status::kDegraded);
  CHECK(result.reason == "--preempt interrupts no thread: virtual time has no signals");
  REQUIRE(result.history);
  CHECK(result.history->linearizable.value == true);
  CHECK_FALSE(result.history->preemptions);
  if (const std::string why = Preemption::why_none(); !why.empty()) {
    const TrialResult on_threads = run_on_threads<Toy<u64>>(preempted("lookup"));
    CHECK(on_threads.history->preemptions.reason == why);
  }
}

/// Returns the number of calls that runs with different seeds record until one is invalid; nothing if they are too
/// many.
std::optional<u64> calls_until_invalid(Config config, u64 most) {
  for (u64 recorded = 0; recorded < most;) {
    config.seed = draw(test_seed(), 0, recorded);
    const TrialResult result = run_on_threads<Toy<u64>>(config);
    if (!result.history) return std::nullopt;
    recorded += result.history->calls;
    if (result.status != Status::kInvalid) continue;
    CHECK_THAT(result.reason, Catch::Contains("are not linearizable; key "));
    return recorded;
  }
  return std::nullopt;
}

TEST_CASE("a version that is too short shows in a few interrupted calls", "[no-tsan]") {
  // A thread must be interrupted between its two steps, and meanwhile the other one do eight calls, or a multiple.
  constexpr u64 kMost = 400'000;
  const Plant plant(Mistake::kShortVersion);
  CHECK(calls_until_invalid(preempted("mix:modify=100"), kMost));
}

}  // namespace
}  // namespace latchlab
