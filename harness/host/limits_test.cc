#include "harness/host/limits.h"
#include "harness/trial/account.h"

#include <utility>
#include <vector>

#include "harness/host/virtual_team_testing.h"
#include "src/arch/features.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

constexpr u64 kMiB = u64{1} << 20;

TEST_CASE("the buffer has the size of the index, cut to what fits") {
  CHECK(limits_footprint(0, 1024 * kMiB) == kMiB);
  CHECK(limits_footprint(100 * kMiB, 1024 * kMiB) == 100 * kMiB);
  CHECK(limits_footprint(1000 * kMiB, 1024 * kMiB) == 512 * kMiB);
  CHECK(limits_footprint(100'000 * kMiB, 100'000 * kMiB) == 4096 * kMiB);
  CHECK(limits_footprint(10 * kMiB, 0) == kMiB);
  CHECK(limits_footprint(kMiB + 1, 1024 * kMiB) % 64 == 0);
}

TEST_CASE("limits are measured by one thread and by several", "[realtime]") {
  // In 120 ms the kinds of line take turns.
  for (const auto& [threads, ms] : {std::pair{1u, 10u}, {3u, 10u}, {2u, 120u}}) {
    LimitsPlan plan;
    plan.footprint = 8 * kMiB;
    plan.cpus.assign(threads, 0);
    plan.pin = false;
    plan.time_ns = ms * u64{1'000'000};
    Limits limits = measure_limits(plan);
    REQUIRE(limits.chase_ns);
    REQUIRE(limits.independent_ns);
    CHECK(*limits.chase_ns > 0);
    CHECK(*limits.chase_ns < 1e6);
    CHECK(*limits.cycle_ns > 0);
    CHECK(*limits.cycle_ns < 50);  // a processor of 20 MHz
    CHECK(*limits.independent_ns > 0);
    CHECK(*limits.independent_ns < 1e6);
    CHECK_FALSE(limits.chase_ratio);
    CHECK_FALSE(limits.independent_ratio);
    if (Native::transactions_work()) {
      REQUIRE(limits.transaction_ns);
      CHECK(*limits.transaction_ns > 0);
    } else {
      CHECK_FALSE(limits.transaction_ns);
      CHECK(limits.transaction_ns.reason == why_no_rtm());
    }
  }
}

TEST_CASE("the ratios are of an operation's time on all its processors") {
  Limits limits;
  limits.chase_ns = 80.0;
  limits.independent_ns = 10.0;
  limits.loop_ns = 2.0;
  limits.words_ns = 30.0;
  limits.value_lines = u64{2};
  Throughput throughput;
  throughput.operations = 1000;
  throughput.seconds = 200e-6;
  limits = with_limit_ratios(limits, throughput, 1);
  CHECK(*limits.chase_ratio == Approx(2.5));
  CHECK(*limits.independent_ratio == Approx(20));
  CHECK(*limits.loop_share == Approx(.01));
  CHECK(*limits.value_ratio == Approx(4));
  limits = with_limit_ratios(limits, throughput, 4);
  CHECK(*limits.chase_ratio == Approx(10));
  CHECK(*limits.independent_ratio == Approx(80));
  CHECK(*limits.loop_share == Approx(.0025));

  const Limits none = with_limit_ratios(no_limits("why"), throughput, 1);
  CHECK_FALSE(none.chase_ratio);
  CHECK_FALSE(none.independent_ratio);
  CHECK_FALSE(none.loop_share);
}

TEST_CASE("the best of several batches counts, however short the time") {
  testing::VirtualTeam team;
  u64 batches = 0;
  // The first batch is disturbed.
  const double best =
      best_batch_ns(team.clock(), 0, [&] { team.outside() += ++batches == 1 ? 20'000'000 : 1000 + batches; });
  CHECK(batches == kMinBatches);
  CHECK(best == 1002 + 20);  // the second batch and a reading of the clock
}

TEST_CASE("a buffer for which there is no memory leaves the limits missing, with the reason") {
  LimitsPlan plan;
  plan.footprint = u64{1} << 60;
  plan.cpus = {0};
  const Limits limits = measure_limits(plan);
  CHECK_FALSE(limits.chase_ns);
  CHECK(limits.chase_ns.reason == "no memory for the buffer");
  CHECK_FALSE(limits.independent_ratio);
}

}  // namespace
}  // namespace latchlab
