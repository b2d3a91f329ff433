#include "harness/result/report.h"
#include "harness/trial/latency_account.h"

#include <limits>

#include "harness/loop/latency.h"
#include "harness/result/full_result_test.h"
#include "harness/text/table.h"
#include "src/testing/catch.h"
#include "src/testing/json_schema.h"
#include "src/testing/temporary_file.h"
#include "workloads/phases_file.h"
#include "workloads/wiscer.h"

namespace latchlab {
namespace {

using testing::empty_result;
using testing::full_result;

std::vector<std::string> violations(const Json& document) {
  return testing::schema_violations("harness/result/result.schema.json", document.dump());
}

/// Checks that every null in a document has its reason beside it.
void check_reasons(const Json& document, const std::string& path) {
  for (const auto& [key, value] : document.items()) {
    INFO(path << "/" << key);
    if (value.is_null()) {
      REQUIRE(document.is_object());
      REQUIRE(document.contains(key + "_reason"));
      CHECK_FALSE(document[key + "_reason"].get<std::string>().empty());
    }
    if (value.is_structured()) check_reasons(value, path + "/" + key);
  }
}

TEST_CASE("documents conform to the committed schema", "[report]") {
  for (const RunResult& result : {full_result(), empty_result()}) {
    const Json document = document_of(result);
    CHECK(violations(document) == std::vector<std::string>{});
    check_reasons(document, "");
  }
}

TEST_CASE("the committed schema of results is the one that their structs describe", "[report]") {
  testing::check_committed("harness/result/result.schema.json", result_schema());
}

TEST_CASE("a document that is read and written again is the same", "[report]") {
  for (const RunResult& result : {full_result(), empty_result()}) {
    const Json document = document_of(result);
    RunResult read = result_of(document);
    read.plan = result.plan;
    CHECK(document_of(read) == document);
  }
  Json document = document_of(full_result());
  document.erase("stream");  // as in an older document
  CHECK_FALSE(result_of(document).trial.stream);
  const u64 footprint = *result_of(document).trial.limits.footprint;
  document["limits"]["footprint_bytes"] = static_cast<int>(footprint);  // not parsed, so signed
  document["health"] = nullptr;
  CHECK(result_of(document).trial.limits.footprint.value == footprint);
  CHECK(result_of(document).trial.health.notes.empty());
  document["status"] = "fine";
  CHECK_THROWS_WITH(result_of(document),
                    "status: there is no 'fine'; there are ok, modelled, noisy, degraded, skipped, failed, invalid");
  document["status"] = "ok";
  document["throughput"]["seconds"] = "long";
  CHECK_THROWS_WITH(result_of(document), "throughput: seconds: \"long\" is not a number");
  document["throughput"] = 5;
  CHECK_THROWS_WITH(result_of(document), "throughput: 5 is not an object");
  document.erase("throughput");
  document["config"]["trace"]["checksum"] = "fog";
  CHECK_THROWS_WITH(result_of(document), Catch::EndsWith("checksum: 'fog' is not a hexadecimal number"));
  document["config"]["trace"]["checksum"] = "f0";
  document["placement"]["threads"] = {{{"requested_cpu", -1}}};
  CHECK_THROWS_WITH(result_of(document), "placement: threads: requested_cpu: -1 is not a whole number");
  document["placement"]["threads"] = {{{"requested_cpu", u64{1} << 32}}};
  CHECK_THROWS_WITH(result_of(document), "placement: threads: requested_cpu: 4294967296 is too large");
  document["placement"] = nullptr;
  document["interrupted"] = 1;
  CHECK_THROWS_WITH(result_of(document), "interrupted: 1 is not true or false");
}

TEST_CASE("a reason that is not a text, and a group that is null, are ignored", "[report]") {
  Json document = document_of(full_result());
  document["latency"] = nullptr;
  for (const Json& reason : {Json(), Json(5)}) {
    document["latency_reason"] = reason;
    CHECK(result_of(document).trial.latency.reason == "not measured");
  }
  document["placement"]["memory"] = nullptr;
  CHECK(result_of(document).trial.placement.threads.size() == full_result().trial.placement.threads.size());
}

TEST_CASE("a value that was not measured is null with a reason, never zero", "[report]") {
  const Json document = document_of(empty_result());
  for (const char* at : {"/limits/footprint_bytes",
                         "/limits/chase_ns",
                         "/placement/processors",
                         "/placement/oversubscribed",
                         "/sync/counters",
                         "/sync/aborts",
                         "/sync/abort_statuses",
                         "/sync/fallback_rate",
                         "/sync/reclaim",
                         "/memory/index_live_bytes",
                         "/memory/values_live_bytes",
                         "/memory/values_reserved_bytes",
                         "/health/migrations",
                         "/scheduling/run_delay_ns",
                         "/scheduling/yields",
                         "/config/key_file",
                         "/config/trace",
                         "/config/wiscer",
                         "/config/phases",
                         "/throughput",
                         "/latency",
                         "/offer",
                         "/slo",
                         "/sync/series",
                         "/sync/per_thread",
                         "/limits/transaction_ns",
                         "/pmu",
                         "/virtual_time"}) {
    INFO(at);
    CHECK(document.at(Json::json_pointer(at)).is_null());
    CHECK(document.at(Json::json_pointer(std::string(at) + "_reason")) == "the run was skipped");
  }
  CHECK(document["machine"]["memory_bytes"].is_null());
  CHECK(document["block"].is_null());
  CHECK(document["order"].is_null());
  // A more specific reason is kept.
  TrialResult failed;
  failed.sync.aborts = OrReason<SyncStats::Counts>::missing("the policy has no transactions");
  failed.memory.rss = u64{5};
  nothing_measured(failed, "memory ran out");
  CHECK(failed.sync.aborts.reason == "the policy has no transactions");
  CHECK(*failed.memory.rss == 5);
  CHECK(failed.throughput.reason == "memory ran out");
}

TEST_CASE("a document says which options had no effect on the index, and what its key file holds", "[report]") {
  RunResult result = full_result();
  result.plan.own_memory = "it allocates itself";
  result.plan.no_reclaim = "nothing waits";
  result.plan.no_wait = "it sleeps";
  result.plan.no_distribution = "it takes the records in turn";
  const Json document = document_of(result);
  CHECK(violations(document) == std::vector<std::string>{});
  CHECK(document["config"]["alloc"].is_null());
  CHECK(document["config"]["alloc_reason"] == "it allocates itself");
  CHECK(document["config"]["reclaim"].is_null());
  CHECK(document["config"]["reclaim_reason"] == "nothing waits");
  CHECK(document["config"]["dist"].is_null());
  CHECK(document["config"]["dist_reason"] == "it takes the records in turn");
  CHECK(document["config"]["hugepages"] == "none");
  CHECK(document["config"]["clear_accessed_s"] == 0.1);
  CHECK(document["memory"]["accessed_cleared"] == 2);
  CHECK(document["config"]["key_file"]["repeated"] == 3);
  CHECK(document["config"]["trace"]["checksum"] == "000000000000fade");
  CHECK(document["config"]["trace"]["loaded"] == 2);
  CHECK(document["config"]["wiscer"]["delete"] == .01);
  const Json warm{
      {"name", "warm"}, {"operations", 1024}, {"workload", "lookup"}, {"dist", "zipf:0.99"}, {"churn", "drift:10"}};
  CHECK(document["config"]["phases"][0] == warm);
  CHECK(document["config"]["phases"][1]["dist"].is_null());
  CHECK(document["config"]["phases"][1]["dist_reason"] == "it takes the records in turn");
  CHECK(document["config"]["wiscer"]["shift_every_reason"] == "popularity does not shift");
  CHECK(document["sync"]["reclaim"]["pending"] == 2);
  const std::string block = block_of(result);
  CHECK(block.find("1,005 lines 2 are empty and 3 repeat") != std::string::npos);
  result.trial.key_file = KeyFile{.lines = 1000, .empty = 0, .repeated = 0};
  CHECK(block_of(result).find("lines 0 are empty") == std::string::npos);
}

TEST_CASE("similar numbers are not confused", "[report]") {
  const Json document = document_of(full_result());
  CHECK(document["memory"]["index_live_bytes"] == 43'000);
  CHECK(document["memory"]["index_reserved_bytes"] == 50'000);
  CHECK(document["memory"]["values_live_bytes"] == 72'000);
  CHECK(document["memory"]["values_reserved_bytes"] == 80'000);
  CHECK(document["config"]["value_size"] == 64);
  CHECK_THAT(block_of(full_result()), Catch::Contains("values       64 bytes each   72.0 kB live of 80.0 kB reserved"));
  CHECK_THAT(
      block_of(full_result()),
      Catch::Contains("words        150.0 ns an operation that reads no value, and 2 independent lines of the value "
                      "(10.0 ns each): 80.0 % of the limit"));
  CHECK(document["limits"]["words_ns"] == 150.0);
  CHECK(document["limits"]["value_lines"] == 2);
  CHECK(document["limits"]["value_ratio"] == 1.25);
  CHECK(document["limits"]["chase_ns"] == 80.0);
  CHECK(document["limits"]["independent_ns"] == 10.0);
  CHECK(document["limits"]["transaction_ns"] == 20.0);
  CHECK(document["limits"]["chase_ratio"] == 2.5);
  CHECK(document["limits"]["independent_ratio"] == 20.0);
  CHECK_THAT(block_of(full_result()), Catch::Contains("or 20 independent ones (10.0 ns each)"));
}

TEST_CASE("a document and a block show the counted events, and why the others were not counted", "[report]") {
  RunResult result = full_result();
  PmuResult& pmu = *result.trial.pmu.value;
  pmu.events.push_back(
      {.name = "cycles-t", .family = "tsx", .total = OrReason<PmuTotal>::missing("ENOENT: there is none")});
  Json document = document_of(result)["pmu"];
  CHECK(violations(document_of(result)) == std::vector<std::string>{});
  CHECK(document["events"][0]["count"] == Json{{"here", "perf::CYCLES"},
                                               {"user_only", false},
                                               {"raw", 40},
                                               {"scaled", 100.0},
                                               {"enabled_ns", 10},
                                               {"running_ns", 4},
                                               {"running_share", .4},
                                               {"per_operation", 2e-5}});
  CHECK(document["events"][1]["count"].is_null());
  CHECK(document["events"][1]["count_reason"] == "ENOENT: there is none");
  CHECK(document["derived"]["instructions_per_cycle"] == 2.5);
  CHECK_THAT(block_of(result),
             Catch::Contains("counted      2e-05 cycles an operation   2.50 instructions a cycle   in turns: "
                             "each counted for at least 40.0 % of the time   including waits for arrivals\n"));
  pmu.events[0].total.value->per_operation = 12'345.5;
  CHECK_THAT(block_of(result), Catch::Contains("counted      12,346 cycles an operation"));
  pmu.events.erase(pmu.events.begin());
  // A null must have its reason.
  document = document_of(result);
  document["pmu"]["events"][0].erase("count_reason");
  CHECK(violations(document) != std::vector<std::string>{});
}

TEST_CASE("a document and a block show the offered load of an open loop", "[report]") {
  RunResult result = full_result();
  const Json document = document_of(result);
  CHECK(document["config"]["rate_reason"] == "--slo looks for it");
  CHECK(document["config"]["slo"] == "p99:3ms");
  CHECK(document["slo"]["answer"] == "found");
  CHECK(document["slo"]["tries"][0]["response_ns"] == 2'500'000);
  CHECK(document["slo"]["tries"][0]["offered"] == 5.1e6);
  CHECK(document["slo"]["tries"][0]["served"] == 5.09e6);
  CHECK(document["offer"] == Json{{"per_second", 5.2e6},
                                  {"arrivals", 5'100'000},
                                  {"largest_lag_ns", 3'000'000},
                                  {"lag_at_end_ns", 0},
                                  {"late", false}});
  const std::string block = block_of(result);
  CHECK_THAT(block, Catch::Contains("5.20 M arrivals/s   largest lag 3.0 ms, at the end none"));
  CHECK_THAT(block,
             Catch::Contains(
                 "p99 at most 3ms up to 5.20 M operations/s, found in try 1; a closed loop does 9.00 M operations/s"));
  CHECK_THAT(block, Catch::Contains("max 2.5 ms   from arrival to end"));
  CHECK_THAT(block, !Catch::Contains("of processor time each"));
  CHECK_THAT(RunTable({}).row(result), Catch::Contains("ok, p99:3ms up to 5.20 M/s, response p50 400 ns"));
  result.trial.slo.value->tries[0].response_ns = OrReason<u64>::missing("no call was timed");
  result.trial.slo.value->tries[0].offered = OrReason<double>::missing("there were too many to count");
  const Json untimed = document_of(result);
  CHECK(untimed["slo"]["tries"][0]["response_ns_reason"] == "no call was timed");
  CHECK(untimed["slo"]["tries"][0]["offered_reason"] == "there were too many to count");
  CHECK(testing::schema_violations("harness/result/result.schema.json", untimed.dump()) == std::vector<std::string>{});
  CHECK_THAT(block, Catch::Contains("   including waits for arrivals\n"));
  result.trial.offer.value->arrivals = OrReason<u64>::missing("there were too many to count");
  result.trial.latency = OrReason<Latency>::missing(kUntimed);
  const Json uncounted = document_of(result);
  CHECK(uncounted["offer"]["arrivals_reason"] == "there were too many to count");
  CHECK(testing::schema_violations("harness/result/result.schema.json", uncounted.dump()) ==
        std::vector<std::string>{});
  CHECK_THAT(block_of(result),
             Catch::Contains("response     -: --latency=off: no call was timed, so there are no response times\n"));
  result.trial.offer = OrReason<OfferedLoad>::missing("a closed loop");
  CHECK_THAT(block_of(result), !Catch::Contains("waits for arrivals"));
  CHECK_THAT(block_of(result), Catch::Contains("ns of processor time each"));
  result.plan.config.slo.reset();
  result.plan.config.rate = Rate::parse("poisson:5.2M");
  CHECK(document_of(result)["config"]["rate"] == "poisson:5200000");
}

TEST_CASE("a document and a block show the times of calls", "[report]") {
  RunResult result = full_result();
  const Json latency = document_of(result)["latency"];
  CHECK(latency["per_key_ns"] == 210.25);
  CHECK(latency["share_of_time"] == .04);
  CHECK(latency["all"]["percentiles"][1] == Json{{"percent", 99.9}, {"ns", 12'345}});
  CHECK(latency["per_operation"]["read"]["fallbacks"] == 7);
  CHECK(latency["per_operation"]["read"]["aborts"]["conflict"] == 3);
  CHECK(latency["fell_back"]["count"] == 5000);
  CHECK(latency["all"]["histogram"][0] == Json{400, 4000});
  CHECK(latency["response"]["count"] == 5000);
  CHECK(latency["per_operation"]["read"]["response"]["max_ns"] == 2'500'000);
  CHECK_THAT(block_of(result),
             Catch::Contains("p50 400 ns   p99.9 12.3 us   max 2.5 ms   of 5,000 timed batches of 2"));
  CHECK_THAT(block_of(result), Catch::Contains("fell back  p50"));
  result.trial.latency = OrReason<Latency>::missing("--latency=off");
  CHECK(document_of(result)["latency"].is_null());
  CHECK_THAT(block_of(result), !Catch::Contains("p50"));
  CHECK(document_of(full_result())["sync"]["series"]["aborts"] == Json{.1, .2});
  CHECK(document_of(full_result())["sync"]["per_thread"][0]["conflict"] == 30);
}

TEST_CASE("a document says why the time per key is missing if calls differ in their number of keys", "[report]") {
  RunResult result = full_result();
  result.trial.latency.value->per_key_ns = OrReason<double>::missing("they do");
  Json document = document_of(result);
  CHECK(document["latency"]["per_key_ns_reason"] == "they do");
  CHECK(violations(document) == std::vector<std::string>{});
  document["latency"].erase("per_key_ns_reason");
  CHECK(violations(document) != std::vector<std::string>{});
}

TEST_CASE("a document says that the phases of a file are rows only in a closed loop", "[report]") {
  RunResult result = full_result();
  result.plan.config.workload = Spec::parse("phases:x");
  result.plan.config.slo.reset();
  CHECK(document_of(result)["config"]["rows_reason"] == "each phase of the file is a row");
  result.plan.config.rate = Rate::parse("1M");
  CHECK(document_of(result)["config"]["rows_reason"] == "phases of the file are rows in a closed loop only");
}

TEST_CASE("the schema refuses documents that do not conform", "[report]") {
  const Json good = document_of(full_result());
  const auto violations_after = [&](auto&& change) {
    Json document = good;
    change(document);
    return violations(document).size();
  };
  CHECK(violations_after([](Json&) {}) == 0);
  CHECK(violations_after([](Json& d) { d.erase("status"); }) > 0);
  CHECK(violations_after([](Json& d) { d["status"] = "fine"; }) > 0);
  CHECK(violations_after([](Json& d) { d["extra"] = 1; }) > 0);
  CHECK(violations_after([](Json& d) { d["machine"]["extra"] = 1; }) > 0);
  CHECK(violations_after([](Json& d) { d["schema_version"] = 1; }) > 0);
  CHECK(violations_after([](Json& d) { d["memory"]["rss_bytes"] = nullptr; }) > 0);  // a null without a reason
  CHECK(violations_after([](Json& d) { d["memory"]["rss_bytes"] = "many"; }) > 0);
  CHECK(violations_after([](Json& d) { d["throughput"]["series"][0] = -1; }) > 0);
  CHECK(violations_after([](Json& d) { d["config"]["negative"] = 1.5; }) > 0);
  CHECK(violations_after([](Json& d) { d["pmu"]["derived"]["cycles_per_day"] = 1.5; }) > 0);
  CHECK(violations_after([](Json& d) { d["pmu"]["derived"].clear(); }) == 0);
  CHECK(violations_after([](Json& d) { d["sync"]["reclaim"].erase("stalled"); }) > 0);
}

TEST_CASE("a number that is not finite is null with a reason", "[report]") {
  RunResult result = full_result();
  result.trial.limits.chase_ratio = std::numeric_limits<double>::infinity();
  const Json document = document_of(result);
  CHECK(document["limits"]["chase_ratio"].is_null());
  CHECK(document["limits"]["chase_ratio_reason"] == "not a finite number");
}

TEST_CASE("runs have different ids, and replicates the same point hash", "[report]") {
  RunResult a = full_result();
  RunResult b = full_result();
  CHECK(a.run_id != b.run_id);
  CHECK(a.point_hash == b.point_hash);
  b.plan.config.replicate = 7;
  b.plan.config.block = 7;
  CHECK(point_hash(b.plan) == a.point_hash);
  b.plan.config.seed = 2;
  CHECK(point_hash(b.plan) != a.point_hash);
}

}  // namespace
}  // namespace latchlab
