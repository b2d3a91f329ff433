// Rows of the measured phase: they add up to it, end at the right operation, and say why something is missing.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "harness/commands/rows_table.h"
#include "harness/loop/toy_index_testing.h"
#include "harness/trial/phases.h"
#include "harness/trial/rows.h"
#include "harness/trial/trial_testing.h"
#include "src/testing/catch.h"
#include "src/testing/temporary_file.h"

namespace latchlab {
namespace {

using testing::run_of;
using testing::small;
using toy::Toy;

constexpr u64 kRound = 8192;  // the most operations of a thread

Config counted(std::string_view workload, u64 ops) {
  Config config = small(workload);
  config.warmup_ns = 0;
  config.time_ns = 0;
  config.ops = ops;
  return config;
}

TEST_CASE("rows have N operations each and add up to the measured phase") {
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
    for (const ResultRow& row : *result.rows) {
      CHECK(row.phase.empty());
      CHECK(row.nodes_per_fetch.reason == "the index does not count the nodes that a lookup visits");
      if (&row != &result.rows->back()) CHECK(row.operations >= 30'000);
      CHECK(row.operations < 30'000 + threads * kRound);
      CHECK(row.seconds > 0);
      operations += row.operations;
      seconds += row.seconds;
    }
    CHECK(operations == 200'000);
    CHECK(seconds == Approx(result.throughput->seconds));
  }
}

constexpr const char* kPhases =
    "warm 60k lookup zipf:0.99\n# none\nshift 80k mix:read=90,insert=5,erase=5\n\nshort 256 lookup\nlast 50k ycsb-a\n";

TEST_CASE("each phase of a file is a row with its name and exactly its operations, for any number of threads") {
  const TemporaryFile file(kPhases);
  for (const u32 threads : {1u, 2u, 5u, 16u}) {
    CAPTURE(threads);
    Config config = counted("phases:" + file.path(), 190'720);
    config.threads = threads;
    // More threads than processors have no rounds.
    if (threads == 16) config.pin = Pin{.kind = Pin::Kind::kList, .numbers = {this_cpu().value_or(0)}, .text = "one"};
    const TrialResult result = run_of<Toy<u64>>(config);
    CAPTURE(result.reason, result.rows.reason);
    REQUIRE(result.status == Status::kOk);
    CHECK(result.throughput->ended_by == Ending::kWorkload);
    REQUIRE(result.rows);
    std::vector<std::pair<std::string, u64>> rows;
    double seconds = 0;
    for (const ResultRow& row : *result.rows) {
      rows.emplace_back(row.phase, row.operations);
      CHECK(row.seconds > 0);
      seconds += row.seconds;
    }
    CHECK(rows == std::vector<std::pair<std::string, u64>>{
                      {"warm", 60'160}, {"shift", 80'128}, {"short", 256}, {"last", 50'176}});
    CHECK(seconds == Approx(result.throughput->seconds));
    REQUIRE(result.validation.passed);
    CHECK(*result.validation.passed);
  }
}

TEST_CASE("a note says which phases have more operations than their file asks for") {
  const auto notes = [](const char* text) {
    const TemporaryFile file(text);
    return run_of<Toy<u64>>(counted("phases:" + file.path(), 0)).health.notes;
  };
  const std::string longer = "phases are whole blocks of 256 operations: a has 1024 for 1000, c has 256 for 1";
  CHECK(std::ranges::count(notes("a 1000 lookup\nb 512 lookup\nc 1 lookup\n"), longer) == 1);
  for (const std::string& note : notes("a 1024 lookup\nb 512 lookup\n")) CHECK_THAT(note, !Catch::Contains("blocks"));
}

TEST_CASE("a run that ends within a phase has a row for that phase") {
  const TemporaryFile file(kPhases);
  const auto names = [](const TrialResult& result) {
    std::string all;
    for (const ResultRow& row : *result.rows) all += fmt::format("{}={} ", row.phase, row.operations);
    return all;
  };
  Config config = counted("phases:" + file.path(), 100'000);
  TrialResult result = run_of<Toy<u64>>(config);
  CHECK(names(result) == "warm=60160 shift=39840 ");
  CHECK(result.throughput->ended_by == Ending::kOperations);
  CHECK(std::ranges::count(result.health.notes, "the run stopped in phase 2 of 4, shift") == 1);

  config.ops = 60'160;  // no empty row
  result = run_of<Toy<u64>>(config);
  CHECK(names(result) == "warm=60160 ");
  CHECK(std::ranges::count(result.health.notes, "the run stopped in phase 1 of 4, warm") == 1);

  const TemporaryFile longer("a 256 lookup\nb 1G lookup\n");
  config = counted("phases:" + longer.path(), 0);
  config.time_ns = 20'000'000;
  result = run_of<Toy<u64>>(config);
  REQUIRE(result.throughput);
  REQUIRE(result.throughput->operations > 256);
  CHECK(names(result) == fmt::format("a=256 b={} ", result.throughput->operations - 256));
  CHECK(result.throughput->ended_by == Ending::kTime);
  CHECK(std::ranges::count(result.health.notes, "the run stopped in phase 2 of 2, b") == 1);
}

TEST_CASE("rows of N operations replace those of phases") {
  const TemporaryFile file(kPhases);
  Config config = counted("phases:" + file.path(), 190'720);
  config.threads = 1;
  config.rows = 100'000;
  const TrialResult result = run_of<Toy<u64>>(config);
  REQUIRE(result.rows);
  REQUIRE(result.rows->size() == 2);
  CHECK((*result.rows)[0].phase.empty());
  CHECK((*result.rows)[0].operations >= 100'000);
}

TEST_CASE("the queue of a thread that claimed nothing has no requests that were run") {
  RequestQueue requests;
  requests.only().resize(8);  // as loading does
  CHECK(requests.ran().count == 0);

  Config config = counted("lookup", kSliceRequests);  // one thread does all of them
  config.rows = 1'000;
  const TrialResult result = run_of<Toy<u64>>(config);
  if (*result.placement.oversubscribed) return;
  REQUIRE(result.rows);
  REQUIRE(result.rows->size() == 1);
  CHECK((*result.rows)[0].operations == kSliceRequests);
}

/// An index in which every key is one node away.
struct Near : Toy<u64> {
  using Toy<u64>::Toy;
  u64 visits(ThreadState&, u64) { return 1; }
};

TEST_CASE("a row without lookups among its last operations says so of these, not of the workload") {
  const TemporaryFile file("first 20k lookup\nsecond 20k mix:update=100\n");
  Config config = counted("phases:" + file.path(), 40'000);
  config.threads = 1;
  const TrialResult result = run_of<Near>(config);
  REQUIRE(result.rows);
  REQUIRE(result.rows->size() == 2);
  CHECK_THAT((*result.rows)[1].nodes_per_fetch.reason,
             Catch::StartsWith("none of the ") && Catch::EndsWith(" operations that were examined is a lookup"));
}

TEST_CASE("a row's nodes are those of its own operations, whichever thread did them") {
  std::string phases;
  for (int i = 0; i < 20; ++i)
    phases += fmt::format("look{} 8k lookup\nwrite{} 256 mix:update=100\n", i, i);  // one thread does all 256
  const TemporaryFile file(phases);
  Config config = counted("phases:" + file.path(), 0);
  config.threads = 4;
  const TrialResult result = run_of<Near>(config);
  REQUIRE(result.rows);
  REQUIRE(result.rows->size() == 40);
  for (const ResultRow& row : *result.rows) {
    CAPTURE(row.phase);
    if (row.phase.starts_with("look")) {
      CHECK(row.nodes_per_fetch);
    } else {
      CHECK(row.nodes_per_fetch.reason == "none of the 256 operations that were examined is a lookup");
    }
  }
}

TEST_CASE("missing rows have a reason") {
  Config config = counted("lookup", 20'000);
  CHECK(run_of<Toy<u64>>(config).rows.reason == "rows are asked for with --rows");
  config.rows = 5'000;
  config.latency_every = 1;
  config.rate = Rate::parse("fixed:10M");
  CHECK(run_of<Toy<u64>>(config).rows.reason == "an open loop has no rounds to cut between");
}

/// Returns the text printed for a result with these rows, and `rest` behind them.
std::string printed(const std::string& rows, const std::string& rest = "") {
  const TemporaryFile file(R"({"schema_version": 8, "throughput": {}, "sync": {}, "rows": )" + rows + rest + "}");
  return rows_text(file.path());
}

constexpr const char* kColumns = "Throughput | Retd. Instructions | L3 Misses | L2 Misses | L1 Misses | Displacement";

TEST_CASE("a result's rows are printed in Wiscer's columns, with a dash and a reason below for missing numbers") {
  CHECK(printed(R"([{"operations": 3000, "seconds": 0.5, "nodes_per_fetch": 1.25, "events": {"core.instructions": 42, )"
                R"("cache.cache-misses": 7, "l2.L2-misses": 8, "cache.L1-dcache-load-misses": 9}}])") ==
        fmt::format("{}\n6000 | 42 | 7 | 8 | 9 | 1.2500\n", kColumns));
  CHECK(
      printed(
          R"([{"operations": 3000, "seconds": 0.5, "nodes_per_fetch": 1.25, "events": {"core.instructions": 42}}, )"
          R"({"operations": 1000, "seconds": 0.5, "nodes_per_fetch": null, "nodes_per_fetch_reason": "none is a lookup", )"
          R"("events": {"core.instructions": 41}}])") ==
      fmt::format("{}\n6000 | 42 | - | - | - | 1.2500\n2000 | 41 | - | - | - | -\n\n"
                  "L3 Misses, L2 Misses, L1 Misses: not asked for; --pmu=core,cache,l2 counts all columns\n"
                  "Displacement: none is a lookup\n",
                  kColumns));
  CHECK(printed(R"([{"phase": "warm", "operations": 3000, "seconds": 0.5, "nodes_per_fetch": 1.25, "events": {}}, )"
                R"({"phase": null, "operations": 1, "seconds": 1, "nodes_per_fetch": null, "events": {}}])",
                R"(, "pmu": null, "pmu_reason": "--pmu=off")") ==
        fmt::format("{} | Phase\n6000 | - | - | - | - | 1.2500 | warm\n1 | - | - | - | - | - | -\n\n"
                    "Retd. Instructions, L3 Misses, L2 Misses, L1 Misses: --pmu=off\n"
                    "Displacement: the result does not say why\n",
                    kColumns));
  CHECK_THROWS_WITH(printed(R"(null, "rows_reason": "rows are asked for with --rows")"),
                    Catch::EndsWith(" has no rows: rows are asked for with --rows"));
}

TEST_CASE("misses of the second level are in their column under any of their names, or missing with their reason") {
  const auto row = [](const char* event) {
    return fmt::format(R"([{{"operations": 1, "seconds": 1, "nodes_per_fetch": 1, "events": {{"core.instructions": 1, )"
                       R"("cache.cache-misses": 2, "cache.L1-dcache-load-misses": 4{}}}}}])",
                       event);
  };
  for (const char* name : {"l2.L2-misses", "named.L2_RQSTS:MISS", "named.L2_CACHE_MISS:ALL"}) {
    CHECK(printed(row(fmt::format(R"(, "{}": 3)", name).c_str())) ==
          fmt::format("{}\n1 | 1 | 2 | 3 | 4 | 1.0000\n", kColumns));
  }
  const auto without = [&](const char* count) {
    return printed(
        row(""),
        fmt::format(R"(, "pmu": {{"events": [{{"name": "L2-misses", "family": "l2", "count": {}}}]}})", count));
  };
  const std::string dash = fmt::format("{}\n1 | 1 | 2 | - | 4 | 1.0000\n\nL2 Misses: ", kColumns);
  CHECK(without(R"(null, "count_reason": "ENOENT: no such counter here")") == dash + "ENOENT: no such counter here\n");
  CHECK(without(R"({"raw": 5})") == dash + "not counted in every row\n");
}

TEST_CASE("a malformed result is refused, not printed") {
  for (const char* rows :
       {"null", "7", "{}", "[7]", "[null]", "[[]]", R"([{"operations": 3}])", R"([{"seconds": 3}])",
        R"([{"operations": "3", "seconds": 1}])", R"([{"operations": 3, "seconds": 0}])", R"("rows")"}) {
    CAPTURE(rows);
    const TemporaryFile file(
        fmt::format(R"({{"throughput": {{}}, "sync": {{}}, "rows_reason": 3, "rows": {}}})", rows));
    CHECK_THROWS_AS(rows_text(file.path()), InputError);
  }
  const TemporaryFile none(R"({"throughput": {}, "sync": {}})");
  CHECK_THROWS_AS(rows_text(none.path()), InputError);
  const TemporaryFile bare(
      R"({"throughput": {}, "sync": {}, "rows": [{"operations": 3, "seconds": 1, "events": 7, "phase": 7}]})");
  CHECK_THAT(rows_text(bare.path()), Catch::Contains("\n3 | - | - | - | - | - | 7\n\nRetd. Instructions, "));
  for (const char* pmu : {"7", "[]", R"({"events": 7})", R"({"events": [7, null, {}]})"}) {
    CHECK_THAT(printed(R"([{"operations": 3, "seconds": 1}])", fmt::format(R"(, "pmu": {})", pmu)),
               Catch::Contains("not asked for"));
  }
}

}  // namespace
}  // namespace latchlab
