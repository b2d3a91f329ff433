#include "harness/report.h"

#include <filesystem>
#include <fstream>
#include <limits>

#include <unistd.h>

#include "harness/progress.h"
#include "harness/table.h"
#include "src/testing/catch.h"
#include "workloads/wiscer.h"
#include "src/testing/json_schema.h"

namespace latchlab {
namespace {

std::vector<std::string> violations(const Json& document) {
  return testing::schema_violations("harness/result.schema.json", document.dump());
}

/// A result in which everything was measured.
RunResult full_result() {
  RunResult r;
  r.command = {"harness", "--index=art"};
  r.config.records = 1000;
  r.config.value_size = 64;
  r.config.payloads = 1000;
  r.config.latency_every = 100;
  r.config.clear_accessed_ns = 100'000'000;
  r.config.slo = Slo::parse("p99:3ms");
  r.config.batch.keys = 2;
  r.config.block = r.config.order = 0;
  r.config.time_ns = 1'000'000'000;
  r.build = {.commit = "abc",
             .dirty = true,
             .compiler = "GNU 12",
             .flags = "-O2",
             .type = "Release",
             .libraries = {{"fmt", "9.1"}}};
  MachineInfo& m = r.machine;
  m.hostname = std::string("here");
  m.kernel = std::string("Linux 6");
  m.memory_bytes = u64{1} << 30;
  m.model = std::string("a processor");
  m.microcode = std::string("0x1");
  m.caches = {{.level = 1, .type = "data", .bytes = 49152, .shared_by = 2}};
  m.mitigations = std::vector<std::pair<std::string, std::string>>{{"meltdown", "Not affected"}};
  m.governor = std::string("performance");
  m.thp = std::string("madvise");
  m.numa_balancing = false;
  m.damon = false;
  m.virtual_machine = true;
  m.rtm.probe = "works";
  m.heavy_fence = "membarrier";
  TrialResult& t = r.trial;
  t.placement = {.requested = "compact",
                 .mem = "bind:0",
                 .mem_by = std::string("chunks"),
                 .page_nodes = PageNodes{.pages = 12, .shares = {{.node = 0, .share = 1}}},
                 .threads = {{.requested_cpu = 0, .observed_cpu = 0u, .socket = 0u, .node = 0u, .cluster = 0u, .core = 0u}},
                 .processors = 1,
                 .oversubscribed = false};
  t.phases = {{.name = "load", .seconds = 1, .operations = 1000, .per_second = 1000.0}};
  Throughput throughput;
  throughput.operations = 5'000'000;
  throughput.seconds = 1;
  throughput.timed_share = 0.9;
  throughput.per_second = 5e6;
  throughput.per_operation = {
      {.name = "read", .count = 5'000'000, .succeeded = 5'000'000, .per_second = 5e6}};
  throughput.interval_ns = 100'000'000;
  throughput.series = {5e6, 5.1e6};
  throughput.per_thread = {5e6};
  throughput.jain = 1.0;
  throughput.generator_ns = 3.0;
  t.throughput = throughput;
  const LatencySummary summary{.count = 5000, .mean_ns = 420.5, .min_ns = 200, .max_ns = 2'500'000,
                               .percentiles = {{50, 400}, {99.9, 12'345}}, .histogram = {{400, 4000}, {12'345, 1000}}};
  const std::vector<NamedCount> aborted{{.name = "conflict", .count = 3}};
  t.latency = Latency{.clock_ns = 20,
                      .all = summary,
                      .response = summary,
                      .operations = {{.name = "read", .summary = summary, .response = summary, .fallbacks = u64{7}, .aborts = aborted}},
                      .fell_back = summary};
  t.offer = Offer{.per_second = 5.2e6, .lag = {.largest = 3'000'000, .at_end = 0}};
  t.slo = SloSearch{.answer = RateSearch::Answer::kFound,
                    .closed_per_second = 9e6,
                    .tries = {{.per_second = 5'200'000, .done_per_second = 5e6, .response_ns = u64{2'500'000}, .late = false, .kept = true}}};
  t.sync.options = {{"restarts", "20"}};
  t.sync.counters = std::vector<NamedCount>{{.name = "ops", .count = 5}};
  t.sync.aborts = std::vector<NamedCount>{{.name = "conflict", .count = 30}, {.name = "zero", .count = 10}};
  t.sync.abort_statuses = std::vector<NamedCount>{{.name = "retry+conflict", .count = 30}, {.name = "zero", .count = 10}};
  t.sync.fallback_rate = 0.0001;
  t.sync.restart_rate = 0.5;
  t.sync.series = std::vector<SyncStats::Series>{{.name = "aborts", .rates = {.1, .2}}};
  t.sync.per_thread = std::vector<SyncStats::Counts>{{{.name = "ops", .count = 5}, {.name = "conflict", .count = 30}}};
  t.sync.reclaim = std::vector<NamedCount>{
      {.name = "retired", .count = 9}, {.name = "freed", .count = 7}, {.name = "pending", .count = 2},
      {.name = "advances", .count = 3}, {.name = "stalled", .count = 0}};
  const PmuTotal cycles{
      .here = "perf::CYCLES", .raw = 40, .scaled = 100, .enabled_ns = 10, .running_ns = 4, .per_operation = 2e-5};
  t.pmu = PmuResult{.events = {{.name = "cycles", .family = "core", .total = cycles}},
                    .derived = {{"instructions_per_cycle", 2.5}, {"package_joules", 6}}};
  t.nodes_per_fetch = 1.477;
  t.stream = StreamPrint{.operations = 1000, .fingerprint = 0xfeed};
  t.key_file = KeyFile{.lines = 1005, .empty = 2, .repeated = 3};
  t.trace = TraceAbout{.checksum = 0xfade, .operations = 5, .keys = 3, .loaded = 2, .has_times = true};
  t.wiscer = WiscerFile::read("steady-state");
  t.memory = {.malloc = Measured<MallocServer>::missing("nodes are not from malloc"),
              .index_live = u64{43'000},
              .index_reserved = u64{50'000},
              .payload = u64{64'000},
              .keys = u64{1000},
              .keys_at_start = u64{1000},
              .bytes_per_key = 43.0,
              .page_bytes = u64{4096},
              .huge_share = 0.0,
              .rss = u64{1} << 20,
              .minor_faults = u64{3},
              .major_faults = u64{0},
              .accessed_cleared = u64{2}};
  t.limits = {.footprint = 43'000,
              .page_bytes = u64{4096},
              .cycle_ns = .5,
              .chase_ns = 80.0,
              .independent_ns = 10.0,
              .transaction_ns = 20.0,
              .chase_ratio = 2.5,
              .independent_ratio = 20.0};
  t.health = {.voluntary_switches = u64{1},
              .involuntary_switches = u64{2},
              .migrations = u64{0},
              .steal_share = 0.0,
              .load_before = 0.1,
              .notes = {"DAMON is running"}};
  t.validation = {.mode = Validate::kTally,
                  .passed = true,
                  .expected_keys = u64{1000},
                  .found_keys = u64{1000},
                  .detail = ""};
  identify(r);
  return r;
}

/// A result in which nothing was.
RunResult empty_result() {
  RunResult r;
  identify(r);
  r.machine.rtm.probe = "absent";
  r.machine.heavy_fence = "none";
  r.trial.status = Status::kSkipped;
  r.trial.reason = "two writers";
  nothing_measured(r.trial, "the run was skipped");
  return r;
}

/// Every null in a document must have its reason beside it.
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

/// A folder that is gone at the end.
struct Folder {
  std::string path = "/tmp/latchlab_report_test_" + std::to_string(getpid());
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

TEST_CASE("documents conform to the committed schema", "[report]") {
  for (const RunResult& result : {full_result(), empty_result()}) {
    const Json document = document_of(result);
    CHECK(violations(document) == std::vector<std::string>{});
    check_reasons(document, "");
  }
}

TEST_CASE("what was not measured is null with a reason, never zero", "[report]") {
  const Json document = document_of(empty_result());
  for (const char* at :
       {"/limits/footprint_bytes", "/limits/chase_ns", "/placement/processors", "/placement/oversubscribed",
        "/sync/counters", "/sync/aborts", "/sync/abort_statuses", "/sync/fallback_rate", "/sync/reclaim",
        "/memory/index_live_bytes",
        "/memory/payload_bytes",
        "/health/migrations", "/config/key_file", "/config/trace", "/config/wiscer", "/throughput", "/latency", "/offer", "/slo", "/sync/series", "/sync/per_thread",
        "/limits/transaction_ns", "/pmu"}) {
    INFO(at);
    CHECK(document.at(Json::json_pointer(at)).is_null());
    CHECK(document.at(Json::json_pointer(std::string(at) + "_reason")) == "the run was skipped");
  }
  CHECK(document["machine"]["memory_bytes"].is_null());
  CHECK(document["block"].is_null());
  CHECK(document["order"].is_null());
  // A reason that is known is kept.
  TrialResult failed;
  failed.sync.aborts = Measured<SyncStats::Counts>::missing("the policy has no transactions");
  failed.memory.rss = u64{5};
  nothing_measured(failed, "memory ran out");
  CHECK(failed.sync.aborts.reason == "the policy has no transactions");
  CHECK(*failed.memory.rss == 5);
  CHECK(failed.throughput.reason == "memory ran out");
}

TEST_CASE("a document says which options did not reach the index and what its key file holds", "[report]") {
  RunResult result = full_result();
  result.config.own_memory = "it allocates itself";
  result.config.no_reclaim = "nothing waits";
  result.config.no_distribution = "it takes the records in turn";
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
  CHECK(document["config"]["wiscer"]["shift_every_reason"] == "popularity does not shift");
  CHECK(document["sync"]["reclaim"]["pending"] == 2);
  const std::string block = block_of(result);
  CHECK(block.find("1,005 lines 2 are empty and 3 repeat") != std::string::npos);
  result.trial.key_file = KeyFile{.lines = 1000, .empty = 0, .repeated = 0};
  CHECK(block_of(result).find("lines 0 are empty") == std::string::npos);
}

TEST_CASE("numbers that are alike stand under their own names", "[report]") {
  const Json document = document_of(full_result());
  CHECK(document["memory"]["index_live_bytes"] == 43'000);
  CHECK(document["memory"]["index_reserved_bytes"] == 50'000);
  CHECK(document["memory"]["payload_bytes"] == 64'000);
  CHECK(document["config"]["value_size"] == 64);
  CHECK_THAT(block_of(full_result()), Catch::Contains("payloads     1,000 of 64 bytes   64.0 kB apart from the index"));
  CHECK(document["limits"]["chase_ns"] == 80.0);
  CHECK(document["limits"]["independent_ns"] == 10.0);
  CHECK(document["limits"]["transaction_ns"] == 20.0);
  CHECK(document["limits"]["chase_ratio"] == 2.5);
  CHECK(document["limits"]["independent_ratio"] == 20.0);
  CHECK_THAT(block_of(full_result()), Catch::Contains("or 20 independent ones (10.0 ns)"));
}

TEST_CASE("a document says what was counted and why the rest was not, and people see it", "[report]") {
  RunResult result = full_result();
  PmuResult& pmu = *result.trial.pmu.value;
  pmu.events.push_back({.name = "cycles-t", .family = "tsx", .total = Measured<PmuTotal>::missing("ENOENT: there is none")});
  Json document = document_of(result)["pmu"];
  CHECK(violations(document_of(result)) == std::vector<std::string>{});
  CHECK(document["events"][0]["count"] == Json{{"here", "perf::CYCLES"}, {"user_only", false}, {"raw", 40}, {"scaled", 100.0},
                                               {"enabled_ns", 10}, {"running_ns", 4}, {"running_share", .4},
                                               {"per_operation", 2e-5}});
  CHECK(document["events"][1]["count"].is_null());
  CHECK(document["events"][1]["count_reason"] == "ENOENT: there is none");
  CHECK(document["derived"]["instructions_per_cycle"] == 2.5);
  CHECK_THAT(block_of(result), Catch::Contains("counted      2e-05 cycles an operation   2.50 instructions a cycle   in turns: "
                                               "counted 40.0 % of the time or more   with the waiting for operations\n"));
  pmu.events[0].total.value->per_operation = 12'345.5;
  CHECK_THAT(block_of(result), Catch::Contains("counted      12,346 cycles an operation"));
  // Where there are no counters only who has asked for some is told.
  pmu.events.erase(pmu.events.begin());
  CHECK_THAT(block_of(result), !Catch::Contains("counted "));
  result.config.pmu = "tsx";
  CHECK_THAT(block_of(result), Catch::Contains("counted      -: cycles-t: ENOENT: there is none\n"));
  // A null must have its reason.
  document = document_of(result);
  document["pmu"]["events"][0].erase("count_reason");
  CHECK(violations(document) != std::vector<std::string>{});
}

TEST_CASE("a document says what came in an open loop, and people see it", "[report]") {
  RunResult result = full_result();
  const Json document = document_of(result);
  CHECK(document["config"]["rate_reason"] == "--slo looks for it");
  CHECK(document["config"]["slo"] == "p99:3ms");
  CHECK(document["slo"]["answer"] == "found");
  CHECK(document["slo"]["tries"][0]["response_ns"] == 2'500'000);
  CHECK(document["offer"] == Json{{"per_second", 5.2e6}, {"largest_lag_ns", 3'000'000}, {"lag_at_end_ns", 0}});
  const std::string block = block_of(result);
  CHECK_THAT(block, Catch::Contains("5.20 M operations/s came   one began 3.0 ms late, at the end none"));
  CHECK_THAT(block, Catch::Contains("p99 of at most 3ms up to 5.20 M operations/s, of 1 tries; a closed loop does 9.00 M operations/s"));
  CHECK_THAT(block, Catch::Contains("max 2.5 ms   from when they were due"));
  CHECK_THAT(block, !Catch::Contains("of a processor each"));
  CHECK_THAT(RunTable({}).row(result), Catch::Contains("ok, response p50 400 ns"));
  result.trial.slo.value->answer = RateSearch::Answer::kAllKeep;
  CHECK_THAT(block_of(result), Catch::Contains("p99 of at most 3ms even at that rate: a closed loop does 9.00 M"));
  result.trial.slo.value->answer = RateSearch::Answer::kNoneKeeps;
  CHECK_THAT(block_of(result), Catch::Contains("no rate has p99 of at most 3ms, not even 5.20 M a second"));
  result.trial.slo.value->answer = RateSearch::Answer::kUnfinished;
  CHECK_THAT(block_of(result), Catch::Contains("p99 of at most 3ms: the search ended at 5.20 M a second, its try 1; a closed loop"));
  result.trial.slo.value->tries[0].response_ns = Measured<u64>::missing("no call was timed");
  const Json untimed = document_of(result);
  CHECK(untimed["slo"]["tries"][0]["response_ns_reason"] == "no call was timed");
  CHECK(testing::schema_violations("harness/result.schema.json", untimed.dump()) == std::vector<std::string>{});
  CHECK_THAT(block, Catch::Contains("   with the waiting for operations\n"));
  result.trial.offer = Measured<Offer>::missing("a closed loop");
  CHECK_THAT(block_of(result), !Catch::Contains("with the waiting"));
  CHECK_THAT(block_of(result), Catch::Contains("ns of a processor each"));
  result.config.slo.reset();
  result.config.rate = Rate::parse("poisson:5.2M");
  CHECK(document_of(result)["config"]["rate"] == "poisson:5200000");
}

TEST_CASE("a document says how long calls took, and people see it", "[report]") {
  RunResult result = full_result();
  const Json latency = document_of(result)["latency"];
  CHECK(latency["per_key_ns"] == 210.25);
  CHECK(latency["all"]["percentiles"][1] == Json{{"percent", 99.9}, {"ns", 12'345}});
  CHECK(latency["per_operation"]["read"]["fallbacks"] == 7);
  CHECK(latency["per_operation"]["read"]["aborts"]["conflict"] == 3);
  CHECK(latency["fell_back"]["count"] == 5000);
  CHECK(latency["all"]["histogram"][0] == Json{400, 4000});
  CHECK(latency["response"]["count"] == 5000);
  CHECK(latency["per_operation"]["read"]["response"]["max_ns"] == 2'500'000);
  CHECK_THAT(block_of(result), Catch::Contains("p50 400 ns   p99.9 12.3 us   max 2.5 ms   of 5,000 timed batches of 2"));
  CHECK_THAT(block_of(result), Catch::Contains("fell back  p50"));
  result.trial.latency = Measured<Latency>::missing("nobody asked");
  CHECK(document_of(result)["latency"].is_null());
  CHECK_THAT(block_of(result), !Catch::Contains("p50"));
  CHECK(document_of(full_result())["sync"]["series"]["aborts"] == Json{.1, .2});
  CHECK(document_of(full_result())["sync"]["per_thread"][0]["conflict"] == 30);
}

TEST_CASE("the schema refuses what does not conform", "[report]") {
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
  CHECK(violations_after([](Json& d) { d["memory"]["rss_bytes"] = nullptr; }) >
        0);  // a null without a reason
  CHECK(violations_after([](Json& d) { d["memory"]["rss_bytes"] = "many"; }) > 0);
  CHECK(violations_after([](Json& d) { d["throughput"]["series"][0] = -1; }) > 0);
  CHECK(violations_after([](Json& d) { d["config"]["negative"] = 1.5; }) > 0);
}

TEST_CASE("a number that is not finite is missing, not null alone", "[report]") {
  RunResult result = full_result();
  result.trial.limits.chase_ratio = std::numeric_limits<double>::infinity();
  const Json document = document_of(result);
  CHECK(document["limits"]["chase_ratio"].is_null());
  CHECK(document["limits"]["chase_ratio_reason"] == "not a finite number");
}

TEST_CASE("identity: runs differ, replicates share their point", "[report]") {
  RunResult a = full_result();
  RunResult b = full_result();
  CHECK(a.run_id != b.run_id);
  CHECK(a.point_hash == b.point_hash);
  b.config.replicate = 7;
  b.config.block = 7;
  CHECK(point_hash(b.config) == a.point_hash);
  b.config.seed = 2;
  CHECK(point_hash(b.config) != a.point_hash);
}

TEST_CASE("a document is written whole or not at all", "[report]") {
  const Folder folder;
  write_atomically(folder.path, "a.json", "{}");
  std::ifstream file(folder.path + "/a.json");
  std::string line;
  std::getline(file, line);
  CHECK(line == "{}");

  // A folder in the place of the target makes the rename fail after everything was written.
  std::filesystem::create_directories(folder.path + "/b.json/inside");
  CHECK_THROWS_AS(write_atomically(folder.path, "b.json", "{}"), OutputError);
  CHECK_THROWS_AS(write_atomically(folder.path + "/missing", "c.json", "{}"), OutputError);
  std::size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path)) ++entries;
  CHECK(entries == 2);  // a.json and the folder b.json: no temporary file is left
}

TEST_CASE("people see status and reason once", "[table]") {
  RunResult degraded = full_result();
  degraded.trial.status = Status::kDegraded;
  degraded.trial.reason = "rtm runs on its lock";
  const std::string block = block_of(degraded);
  for (const char* part :
       {"5.00 M in 1.0 s, making them took the rest of 1.1 s", "rtm runs on its lock", "degraded", "43.0 bytes a key", "4K pages",
        "passed: 1,000 keys", "conflict 75.0 %", "0.01 %", "2.5 dependent", "DAMON is running"}) {
    INFO(part << " in\n" << block);
    CHECK(block.find(part) != std::string::npos);
  }

  RunResult other = degraded;
  other.config.threads = 2;
  RunTable table({{.config = degraded.config, .skip = ""}, {.config = other.config, .skip = ""}});
  CHECK(table.header().find("threads") != std::string::npos);
  const std::string rows = table.row(degraded) + table.row(other);
  CHECK(rows.find("5.000") != std::string::npos);
  CHECK(rows.find("degraded [1]") != std::string::npos);
  CHECK(rows.find("[2]") == std::string::npos);
  CHECK(table.footer().find("[1] rtm runs on its lock") != std::string::npos);
}

TEST_CASE("people see that an upsert of a key that is there is no failure", "[table]") {
  RunResult result = full_result();
  Throughput throughput = *result.trial.throughput;
  throughput.per_operation = {{.name = "update", .count = 1000, .succeeded = 990, .per_second = 1000},
                              {.name = "upsert", .count = 1000, .succeeded = 0, .per_second = 1000}};
  result.trial.throughput = throughput;
  CHECK_THAT(block_of(result), Catch::Contains("99.0 % succeeded"));
  CHECK_THAT(block_of(result), Catch::Contains("0.0 % were new"));
}

TEST_CASE("a table has a column for what somebody set", "[table]") {
  RunResult olc = full_result();
  RunResult none = olc;
  none.config.no_reclaim = "nothing waits";
  const auto header = [](const RunResult& a, const RunResult& b) {
    return RunTable({{.config = a.config, .skip = ""}, {.config = b.config, .skip = ""}}).header();
  };
  CHECK_THAT(header(olc, none), !Catch::Contains("reclaim"));
  RunResult quiescent = olc;
  quiescent.config.reclaim = Reclaim::kQsbr;
  CHECK_THAT(header(olc, quiescent), Catch::Contains("reclaim"));
}

TEST_CASE("a table says which insert runs ended before their records", "[table]") {
  RunResult result = full_result();
  result.config.workload = Spec::parse("insert");
  RunTable table({{.config = result.config, .skip = ""}});
  CHECK(table.row(result).find("ok, ended by --time") != std::string::npos);
  result.trial.throughput.value->ended_by = Ending::kRecords;
  CHECK(table.row(result).find("ended by") == std::string::npos);
}

TEST_CASE("people see that a warm-up changed the index", "[table]") {
  RunResult result = full_result();
  RunTable table({{.config = result.config, .skip = ""}});
  for (const u64 little : {991, 1009}) {
    result.trial.memory.keys_at_start = little;
    CHECK(block_of(result).find("warm-up") == std::string::npos);
    CHECK(table.row(result).find("--records") == std::string::npos);
  }
  result.trial.memory.keys_at_start = u64{4321};
  CHECK_THAT(block_of(result), Catch::Contains("began with 4,321 keys, 4.32 times --records, and ended with 1,000"));
  CHECK_THAT(table.row(result), Catch::Contains("ok, began with 4.32 x --records"));
  result.trial.memory.keys_at_start = u64{500};
  CHECK_THAT(table.row(result), Catch::Contains("ok, began with 0.5 x --records"));
  result.config.workload = Spec::parse("wiscer:read-mostly");
  CHECK_THAT(table.row(result), Catch::Contains("ok, began with 0.5 x what the file loads"));
  result.config.records = 0;   // of which nothing is a multiple
  CHECK(table.row(result).find("began") == std::string::npos);
  CHECK(block_of(result).find("warm-up") == std::string::npos);
}

TEST_CASE("nothing that was not measured is shown as zero", "[table]") {
  const std::string block = block_of(empty_result());
  CHECK(block.find("two writers") != std::string::npos);
  CHECK(block.find("0 operations/s") == std::string::npos);
  CHECK(block.find("0.0 bytes") == std::string::npos);
}

TEST_CASE("numbers for people", "[table]") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(16'000'000) == "16,000,000");
  CHECK(page_text(u64{4096}) == "4K");
  CHECK(page_text(u64{2} << 20) == "2M");
  CHECK(page_text(Measured<u64>::missing("no")) == "?");
  CHECK(short_number(0) == "0");
  CHECK(short_number(789) == "789");
  CHECK(short_number(999.7) == "1.00 k");
  CHECK(short_number(5'520'000) == "5.52 M");
  CHECK(short_number(55'200'000) == "55.2 M");
  CHECK(short_number(999'600'000) == "1.00 G");
  CHECK(short_duration(0) == "0 ns");
  CHECK(short_duration(4.2e-7) == "420 ns");
  CHECK(short_duration(9.9996e-6) == "10.0 us");
  CHECK(short_duration(9.9996e-4) == "1.0 ms");
  CHECK(short_duration(0.00254) == "2.5 ms");
  CHECK(short_duration(0.35) == "350 ms");
  CHECK(short_duration(1.23) == "1.2 s");
  CHECK(short_duration(59.6) == "1 min 00 s");
  CHECK(short_duration(200) == "3 min 20 s");
  CHECK(short_duration(3720) == "1 h 02 min");
}

}  // namespace
}  // namespace latchlab
