#include "harness/config/expected_time.h"

#include <memory>
#include <vector>

#include "harness/host/modelled_machine.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

Plan lasting(u64 time_ns, u64 records) {
  Plan run;
  run.config.time_ns = time_ns;
  run.config.warmup_ns = 500'000'000;
  run.config.records = records;
  return run;
}

TEST_CASE("the expected time of a run is that of its preparation, warm-up and measured phase") {
  const ExpectedTime timed = expected_time(lasting(3'000'000'000, 2'000'000));
  CHECK(timed.seconds == Approx(5.5));
  CHECK(timed.is_whole);
  const ExpectedTime counted = expected_time(lasting(0, 2'000'000));  // it ends after operations
  CHECK(counted.seconds == Approx(2.5));
  CHECK_FALSE(counted.is_whole);
  Plan searching = lasting(1'000'000'000, 0);
  searching.config.slo = Slo::parse("p99:50us");
  CHECK_FALSE(expected_time(searching).is_whole);
  Plan modelled = lasting(10'000'000, 2'800'000);
  modelled.warmup_operations = 200'000;
  modelled.model = modelled_machine(Spec::parse("epyc"));
  CHECK(expected_time(modelled).seconds == Approx(10));
  CHECK_FALSE(expected_time(modelled).is_whole);
  Plan skipped = lasting(0, 2'000'000);
  skipped.skip = "two writers";
  CHECK(expected_time(skipped).seconds == 0);
  CHECK(expected_time(skipped).is_whole);
}

TEST_CASE("the time left is in proportion to the expected times, as the runs so far took them") {
  std::vector<Plan> runs{lasting(500'000'000, 0), lasting(1'500'000'000, 0), lasting(500'000'000, 3'000'000)};
  TimeLeft left(runs);
  CHECK_FALSE(left.seconds());
  left.done(runs[0], 2);  // expected: 1 s
  CHECK(left.seconds().value() == Approx(2 * (2 + 4)));
  left.done(runs[1], 7);  // expected: 2 s
  CHECK(left.seconds().value() == Approx(3 * 4));
  left.done(runs[2], 18);
  CHECK(left.seconds().value() == Approx(0).margin(1e-9));
}

TEST_CASE("runs count alike for the time left if the time of one is not known") {
  std::vector<Plan> runs{lasting(500'000'000, 0), lasting(0, 90'000'000), lasting(7'500'000'000, 0), lasting(1, 1)};
  runs[3].skip = "two writers";
  TimeLeft left(runs);
  left.done(runs[3], 0);  // a skipped run is no part of the rest
  CHECK_FALSE(left.seconds());
  left.done(runs[2], 5);
  CHECK(left.seconds().value() == Approx(10));
}

}  // namespace
}  // namespace latchlab
