// Rows of the measured phase: they add up to it, end where they should, and say what they cannot.
#include <fstream>
#include <string>

#include "harness/rows.h"
#include "harness/toy_index.h"
#include "harness/trial_testing.h"
#include "src/testing/catch.h"
#include "src/testing/temporary_file.h"

namespace latchlab {
namespace {

using testing::run_of;
using testing::small;
using toy::Toy;

constexpr u64 kRound = 8192;   // operations of a thread, at most

Config counted(std::string_view workload, u64 ops) {
  Config config = small(workload);
  config.warmup_ns = 0;
  config.time_ns = 0;
  config.ops = ops;
  return config;
}

TEST_CASE("rows are of so many operations each and add up to the measured phase") {
  for (const u32 threads : {1u, 2u}) {
    CAPTURE(threads);
    Config config = counted("lookup", 200'000);
    config.threads = threads;
    config.rows = 30'000;
    const TrialResult result = run_of<Toy<u64>>(config);
    CAPTURE(result.reason, result.rows.reason);
    REQUIRE(result.throughput);
    if (*result.placement.oversubscribed) {
      CHECK(result.rows.reason == "threads that share processors have no rounds to cut between");
      continue;
    }
    REQUIRE(result.rows);
    u64 operations = 0;
    double seconds = 0;
    for (const Rows::Row& row : result.rows->rows) {
      CHECK(row.name.empty());
      CHECK(row.nodes_per_fetch.reason == "the index does not count the nodes that a lookup visits");
      if (&row != &result.rows->rows.back()) CHECK(row.operations >= 30'000);
      CHECK(row.operations < 30'000 + threads * kRound);
      CHECK(row.seconds > 0);
      operations += row.operations;
      seconds += row.seconds;
    }
    CHECK(operations == 200'000);
    CHECK(seconds == Approx(result.throughput->seconds));
  }
}

TEST_CASE("each phase of a file is a row with its name and its operations") {
  const TemporaryFile file("warm 60k lookup zipf:0.99\n# none\nshift 80k mix:read=90,insert=5,erase=5\n\nlast 50k ycsb-a\n");
  Config config = counted("phases:" + file.path(), 190'464);
  config.threads = 1;
  const TrialResult result = run_of<Toy<u64>>(config);
  CAPTURE(result.reason, result.rows.reason);
  REQUIRE(result.status == Status::kOk);
  REQUIRE(result.rows);
  const auto& rows = result.rows->rows;
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].name == "warm");
  CHECK(rows[1].name == "shift");
  CHECK(rows[2].name == "last");
  CHECK(rows[0].operations >= 60'160);
  CHECK(rows[0].operations < 60'160 + kRound);
  CHECK(rows[0].operations + rows[1].operations >= 140'288);
  CHECK(rows[0].operations + rows[1].operations < 140'288 + kRound);
  CHECK(rows[0].operations + rows[1].operations + rows[2].operations == 190'464);
  REQUIRE(result.validation.passed);
  CHECK(*result.validation.passed);
}

/// Every key is one node away.
struct Near : Toy<u64> {
  using Toy<u64>::Toy;
  u64 visits(Thread&, u64) { return 1; }
};

TEST_CASE("a row whose last operations look nothing up says so of them, not of the workload") {
  const TemporaryFile file("first 20k lookup\nsecond 20k mix:update=100\n");
  Config config = counted("phases:" + file.path(), 40'000);
  config.threads = 1;
  const TrialResult result = run_of<Near>(config);
  REQUIRE(result.rows);
  REQUIRE(result.rows->rows.size() == 2);
  CHECK_THAT(result.rows->rows[1].nodes_per_fetch.reason, Catch::StartsWith("none of the ") && Catch::EndsWith(" operations looked at is a lookup"));
}

TEST_CASE("where there are no rows the reason is said") {
  Config config = counted("lookup", 20'000);
  CHECK(run_of<Toy<u64>>(config).rows.reason == "rows are asked for with --rows");
  config.rows = 5'000;
  config.latency_every = 1;
  config.rate = Rate::parse("fixed:10M");
  CHECK(run_of<Toy<u64>>(config).rows.reason == "an open loop has no rounds to cut between");
}

TEST_CASE("a result's rows are printed in Wiscer's columns, with a dash for what was not measured") {
  const auto printed = [](const std::string& rows) {
    const TemporaryFile file(R"({"schema_version": 7, "run_id": "x", "started": "2026-01-01T00:00:00Z", "throughput": {}, "sync": {}, "rows": )" + rows + "}");
    return rows_text(file.path());
  };
  CHECK(printed(R"([{"operations": 3000, "seconds": 0.5, "nodes_per_fetch": 1.25, "events": {"core.instructions": 42, )"
                R"("cache.cache-misses": 7, "cache.L1-dcache-load-misses": 9}}, )"
                R"({"operations": 1000, "seconds": 0.5, "nodes_per_fetch": null, "events": {}}])") ==
        "Throughput | Retd. Instructions | L3 Misses | L2 Misses | L1 Misses | Displacement\n"
        "6000 | 42 | 7 | - | 9 | 1.2500\n"
        "2000 | - | - | - | - | -\n");
  CHECK_THROWS_AS(printed(R"(null, "rows_reason": "rows are asked for with --rows")"), InputError);
}

}  // namespace
}  // namespace latchlab
