#include "harness/config/numbers.h"
#include "harness/text/table.h"

#include "harness/result/full_result_test.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using Catch::Contains;
using testing::empty_result;
using testing::full_result;

TEST_CASE("a block and a table show a status, and its reason once", "[table]") {
  RunResult degraded = full_result();
  degraded.trial.status = Status::kDegraded;
  degraded.trial.reason = "rtm runs on its lock";
  const std::string block = block_of(degraded);
  for (const char* part :
       {"5.00 M in 1.0 s (1.1 s including their generation)", "rtm runs on its lock", "degraded", "43.0 bytes a key",
        "4K pages", "passed: 1,000 keys", "conflict 75.0 %", "0.01 %", "2.5 dependent", "DAMON is running"}) {
    INFO(part << " in\n" << block);
    CHECK(block.find(part) != std::string::npos);
  }

  RunResult other = degraded;
  other.plan.config.threads = 2;
  RunTable table({degraded.plan, other.plan});
  CHECK(table.header().find("threads") != std::string::npos);
  const std::string rows = table.row(degraded) + table.row(other);
  CHECK(rows.find("5.000") != std::string::npos);
  CHECK(rows.find("degraded [1]") != std::string::npos);
  CHECK(rows.find("[2]") == std::string::npos);
  CHECK(table.footer().find("[1] rtm runs on its lock") != std::string::npos);
}

TEST_CASE("a block and a table show the distance to the limit, and the share of the loop", "[table]") {
  RunResult result = full_result();
  result.trial.limits.independent_ratio = 1.25;
  result.trial.limits.loop_share = .127;
  const std::string block = block_of(result);
  CHECK_THAT(block, Contains("or 1 independent ones (10.0 ns each): 80.0 % of the limit\n"));
  CHECK_THAT(block, Contains("2.0 ns an operation if the index does nothing: at most 12.7 % of its time\n"));
  RunTable table({result.plan});
  CHECK_THAT(table.header(), Contains("  lines  % of limit  % loop  "));
  CHECK_THAT(table.row(result), Contains("     2.5          80      13  "));
  result.trial.limits.loop_share = .0034;
  CHECK_THAT(table.row(result), Contains("     2.5          80     0.3  "));

  result.trial.limits.loop_ns = OrReason<double>::missing("this build lacks the pair null:none");
  result.trial.limits.loop_share = OrReason<double>::missing("not measured");
  CHECK_THAT(block_of(result), Contains("-: this build lacks the pair null:none\n"));
  CHECK_THAT(table.row(result), Contains("     2.5          80       -  "));
  result.trial.limits = no_limits("this index keeps nothing");
  const std::string none = block_of(result);
  CHECK(none.find("this index keeps nothing") == none.rfind("this index keeps nothing"));
}

TEST_CASE("a block and a table show that a run is noisy, and the reason once", "[table]") {
  RunResult noisy = full_result();
  noisy.trial.status = Status::kNoisy;
  noisy.trial.reason = "a thread was descheduled";
  const std::string block = block_of(noisy);
  CHECK_THAT(block, Contains("\n  noisy ") && Contains("a thread was descheduled"));
  RunTable table({noisy.plan});
  CHECK_THAT(table.row(noisy), Contains("  noisy [1]"));
  CHECK_THAT(table.footer(), Contains("[1] a thread was descheduled\n"));
}

TEST_CASE("a block shows the upsert of an existing key as an update, not as a failure", "[table]") {
  RunResult result = full_result();
  Throughput throughput = *result.trial.throughput;
  throughput.per_operation = {{.name = "update", .count = 1000, .succeeded = 990, .per_second = 1000},
                              {.name = "upsert", .count = 1000, .succeeded = 0, .per_second = 1000}};
  result.trial.throughput = throughput;
  CHECK_THAT(block_of(result), Contains("99.0 % succeeded"));
  CHECK_THAT(block_of(result), Contains("0.0 % were new"));
}

TEST_CASE("a block tells how equal the shares of threads are", "[table]") {
  RunResult result = full_result();
  Throughput throughput = *result.trial.throughput;
  throughput.per_thread = {3e6, 4e6, 3.5e6};
  result.trial.throughput = throughput;
  CHECK_THAT(block_of(result), Contains("3.00 M/s to 4.00 M/s each   least over most 0.75   Jain "));
}

TEST_CASE("a table has a column for an option in which runs differ, unless it has no effect on some of them",
          "[table]") {
  RunResult olc = full_result();
  RunResult none = olc;
  none.plan.no_reclaim = "nothing waits";
  const auto header = [](const RunResult& a, const RunResult& b) { return RunTable({a.plan, b.plan}).header(); };
  CHECK_THAT(header(olc, none), !Contains("reclaim"));
  RunResult quiescent = olc;
  quiescent.plan.config.reclaim = Reclaim::kQsbr;
  CHECK_THAT(header(olc, quiescent), Contains("reclaim"));
}

TEST_CASE("a table names the memories of values, and tells how fast they are", "[table]") {
  RunResult cxl = full_result();
  cxl.plan.config.value_size = 256;
  cxl.plan.config.near = 1 << 20;
  cxl.plan.config.far = MediumOptions::parse("model:cxl,size=4Mi", "--far");
  RunTable one({cxl.plan});
  CHECK_THAT(one.header(), Contains("  near=1Mi  far=model:cxl,size=4Mi,lat=200,read=31.5,write=31.5  "
                                    "rule=near-first,promote=1\n"));
  RunResult optane = cxl;
  optane.plan.config.far = MediumOptions::parse("model:optane,size=4Mi", "--far");
  optane.plan.config.rule = PlacementRule::parse("weighted:0.5", "--rule");
  optane.trial.memory.far.value->words = optane.plan.config.far->str();
  RunTable two({cxl.plan, optane.plan});
  CHECK_THAT(two.header(), Contains("  near=1Mi\n") && Contains("\nfar ") && Contains("  rule "));
  CHECK_THAT(two.row(cxl), Contains("model:cxl,size=4Mi,lat=200") && Contains("  near-first,promote=1  "));
  CHECK_THAT(two.row(optane), Contains("model:optane,size=4Mi,lat=305") && Contains("  weighted:0.5  "));
  CHECK_THAT(two.footer(), Contains("row 2: " + optane.plan.config.far->str() + ": modelled, as measured: "));
  CHECK_THAT(RunTable({full_result().plan}).header(), !Contains("near="));
}

TEST_CASE("a table marks insert runs that ended before their records did", "[table]") {
  RunResult result = full_result();
  result.plan.config.workload = Spec::parse("insert");
  RunTable table({result.plan});
  CHECK(table.row(result).find("ok, ended by --time") != std::string::npos);
  result.trial.throughput.value->ended_by = Ending::kRecords;
  CHECK(table.row(result).find("ended by") == std::string::npos);
}

TEST_CASE("a block and a table show that a warm-up changed the size of the index", "[table]") {
  RunResult result = full_result();
  RunTable table({result.plan});
  for (const u64 little : {991, 1009}) {
    result.trial.memory.keys_at_start = little;
    CHECK(block_of(result).find("warm-up") == std::string::npos);
    CHECK(table.row(result).find("--records") == std::string::npos);
  }
  result.trial.memory.keys_at_start = u64{4321};
  CHECK_THAT(block_of(result), Contains("began with 4,321 keys, 4.32 times --records, and ended with 1,000"));
  CHECK_THAT(table.row(result), Contains("ok, began with 4.32 x --records"));
  result.trial.memory.keys_at_start = u64{500};
  CHECK_THAT(table.row(result), Contains("ok, began with 0.5 x --records"));
  result.plan.config.workload = Spec::parse("wiscer:read-mostly");
  CHECK_THAT(table.row(result), Contains("ok, began with 0.5 x the file's records"));
  result.plan.config.records = 0;  // no number is a multiple of it
  CHECK(table.row(result).find("began") == std::string::npos);
  CHECK(block_of(result).find("warm-up") == std::string::npos);
}

TEST_CASE("a value that was not measured is not shown as zero", "[table]") {
  const std::string block = block_of(empty_result());
  CHECK(block.find("two writers") != std::string::npos);
  CHECK(block.find("0 operations/s") == std::string::npos);
  CHECK(block.find("0.0 bytes") == std::string::npos);
}

TEST_CASE("a block shows waits if there are more threads than processors", "[table]") {
  RunResult result = full_result();
  const auto text = [&] { return block_of(result); };
  result.trial.placement.oversubscribed = false;
  CHECK_THAT(text(), !Contains("without a processor"));
  result.trial.placement.oversubscribed = true;
  CHECK_THAT(text(), Contains("0.005 s without a processor   100 yields   10 parks   8 handovers to descheduled threads"
                              "   7 preemptions outside waits   6 slices extended"));
  result.trial.scheduling = {.run_delay_ns = u64{5'000'000},
                             .yields = OrReason<u64>::missing("it sleeps"),
                             .parks = {},
                             .wakes = {},
                             .late_handovers = {},
                             .preempted_outside_waits = {},
                             .slice_extensions = {}};
  CHECK_THAT(text(), Contains("0.005 s without a processor   it sleeps"));
}

TEST_CASE("numbers for people are short and have units", "[table]") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(16'000'000) == "16,000,000");
  CHECK(page_text(u64{4096}) == "4K");
  CHECK(page_text(u64{2} << 20) == "2M");
  CHECK(page_text(OrReason<u64>::missing("no")) == "?");
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

TEST_CASE("with --pmu a block shows why events were not counted, a line for each reason", "[table]") {
  RunResult result = full_result();
  PmuResult& pmu = *result.trial.pmu.value;
  const auto missing = [&](const char* name, const char* family, const char* why) {
    pmu.events.push_back({.name = name, .family = family, .total = OrReason<PmuTotal>::missing(why)});
  };
  missing("cycles-t", "tsx", "no RTM");
  missing("cycles-ct", "tsx", "no RTM");
  missing("L1-dcache-loads", "cache", "ENOENT: none");
  missing("dTLB-loads", "tlb", "ENOENT: none");
  missing("instructions", "core", "ENOENT: none");
  missing("DE_NO", "named", "ENOENT: none");
  // Without --pmu the default events are left out if they were not counted.
  CHECK_THAT(block_of(result), !Contains("not counted"));
  result.plan.config.pmu_given = true;
  CHECK_THAT(block_of(result), Contains("\n  counted      2e-05 cycles an operation"));
  CHECK_THAT(block_of(result),
             Contains("\n  not counted  tsx: no RTM\n  not counted  cache, tlb, instructions, DE_NO: ENOENT: none\n"));
  pmu.events = {};
  missing("cycles", "core", "ENOENT: none");
  CHECK_THAT(block_of(result), !Contains("\n  counted ") && Contains("\n  not counted  core: ENOENT: none\n"));
}

TEST_CASE("a block shows how often Accessed bits were cleared", "[table]") {
  RunResult result = full_result();
  CHECK_THAT(block_of(result), Contains("accessed     bits of all pages cleared 2 times, at least 100ms apart\n"));
  result.trial.memory.accessed_cleared = OrReason<u64>::missing("this kernel has none");
  CHECK_THAT(block_of(result), Contains("accessed     -: this kernel has none\n"));
  result.plan.config.clear_accessed_ns = 0;
  CHECK_THAT(block_of(result), !Contains("accessed"));
}

TEST_CASE("a table shows each note once, with the numbers of its rows", "[table]") {
  RunResult first = full_result(), second = first, third = first;
  first.trial.key_file = second.trial.key_file = third.trial.key_file = OrReason<KeyFile>::missing("none");
  for (RunResult* const result : {&first, &second, &third})
    result->trial.memory.far = OrReason<TwoMemories>::missing("there is one");
  first.trial.health.notes.push_back("the load average was 4.1 before the run");
  third.trial.health.notes.push_back("the load average was 3.75 before the run");
  second.trial.health.notes.push_back("the index was full");
  RunTable table({first.plan});
  for (const RunResult& result : {first, second, third}) (void)table.row(result);
  CHECK_THAT(table.footer(),
             Catch::EndsWith("/ the time of an operation\nall rows: DAMON is running\n"
                             "rows 1,3: the load average was 4.1 before the run (row 1; the other rows have other "
                             "numbers)\n"
                             "row 2: the index was full\n"));
}

}  // namespace
}  // namespace latchlab
