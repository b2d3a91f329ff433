#include "harness/limits.h"

#include "src/testing/catch.h"

namespace latchlab {
namespace {

constexpr u64 kMiB = u64{1} << 20;

TEST_CASE("the buffer stands for the index, within what fits") {
  CHECK(limits_footprint(0, 1024 * kMiB) == kMiB);
  CHECK(limits_footprint(100 * kMiB, 1024 * kMiB) == 100 * kMiB);
  CHECK(limits_footprint(1000 * kMiB, 1024 * kMiB) == 512 * kMiB);
  CHECK(limits_footprint(100'000 * kMiB, 100'000 * kMiB) == 4096 * kMiB);
  CHECK(limits_footprint(10 * kMiB, 0) == kMiB);
  CHECK(limits_footprint(kMiB + 1, 1024 * kMiB) % 64 == 0);
}

TEST_CASE("limits are measured by one thread and by several") {
  for (const u32 threads : {1U, 3U}) {
    LimitsPlan plan;
    plan.footprint = 8 * kMiB;
    plan.cpus.assign(threads, 0);
    plan.pin = false;
    plan.time_ns = 10'000'000;
    Limits limits = measure_limits(plan);
    REQUIRE(limits.chase_ns);
    REQUIRE(limits.independent_ns);
    CHECK(*limits.chase_ns > 0);
    CHECK(*limits.independent_ns > 0);
    CHECK_FALSE(limits.chase_ratio);
    set_limit_ratios(limits, *limits.chase_ns * 3);
    CHECK(*limits.chase_ratio == Approx(3));
    CHECK(*limits.independent_ratio == Approx(3 * *limits.chase_ns / *limits.independent_ns));
  }
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
