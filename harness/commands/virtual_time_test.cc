// Tests of what `harness explain` says of a modelled result: its time by cause, its conflicts, and its hot lines.
#include "harness/commands/virtual_time.h"

#include "harness/commands/explain.h"
#include "harness/result/full_result_test.h"
#include "harness/result/report.h"
#include "src/testing/catch.h"
#include "src/testing/refusal.h"

namespace latchlab {
namespace {

/// A document of a modelled run of two threads, which spent 100 us on 500 operations.
Json modelled_document() {
  RunResult result = testing::full_result();
  result.plan.config.threads = 2;
  TrialResult& t = result.trial;
  t.status = Status::kModelled;
  t.reason = "predicted on a model of haswell-ep, and not measured";
  t.throughput.value->operations = 500;
  t.throughput.value->per_second = 1e7;
  t.placement.processors = 2;
  t.offer = OrReason<OfferedLoad>::missing("a closed loop");
  t.latency = OrReason<Latency>::missing("not asked for");
  t.pmu = OrReason<PmuResult>::missing("the machine is modelled");
  t.limits = no_limits("the machine is modelled");
  t.memory = {};
  t.health = {};
  t.sync = {};
  VirtualTime time;
  time.thread_ns = 100'000;
  for (const std::string_view cause : kWords<model::Cause>) {
    time.causes.emplace_back(cause, cause == "instructions"   ? 20'000
                                    : cause == "other_socket" ? 49'900
                                    : cause == "aborted"      ? 30'000
                                    : cause == "timer"        ? 60
                                    : cause == "l2"           ? 40
                                                              : 0);
  }
  time.per_thread = {time.causes, time.causes};
  time.aborts = {{.name = "conflict", .count = 30, .ns = 18'000}, {.name = "lock_busy", .count = 20, .ns = 6'000}};
  time.conflicts = {{.structure = std::string("policy"), .bytes = u64{256}, .count = 20, .ns = 15'000},
                    {.structure = OrReason<std::string>::missing("no node of this size was made"),
                     .bytes = u64{65536},
                     .count = 9,
                     .ns = 2'400},
                    {.structure = OrReason<std::string>::missing("no object is known there"),
                     .bytes = OrReason<u64>::missing("no object is known there"),
                     .count = 1,
                     .ns = 600}};
  time.hot_lines = {{.structure = std::string("policy"),
                     .bytes = u64{256},
                     .offset = u64{128},
                     .lock = true,
                     .waited_ns = 25'000,
                     .asleep_ns = 10'000,
                     .reads = 300,
                     .writes = 120,
                     .conflicts = 20,
                     .threads = {0, 1, 2, 5}},
                    {.structure = std::string("Node48"),
                     .bytes = u64{704},
                     .offset = u64{0},
                     .lock = false,
                     .waited_ns = 1'000,
                     .asleep_ns = 0,
                     .reads = 7,
                     .writes = 0,
                     .conflicts = 0,
                     .threads = {3}}};
  t.virtual_time = time;
  return document_of(result);
}

TEST_CASE("explain of a modelled result: time by cause, the most first, and aborts by cause and by structure") {
  CHECK(explained(modelled_document(), Json()).ends_with(R"(
Modelled: predicted on a model of haswell-ep, and not measured.
Where the threads' virtual time went:
  share  ns an operation
 49.9 %            99.80  lines from another socket's caches
 30.0 %            60.00  in attempts that were aborted
 20.0 %            40.00  instructions
  0.1 %             0.20  all else
 75.0 %  of the time in aborted attempts: 30 by conflict
 25.0 %  of the time in aborted attempts: 20 by lock_busy
 62.5 %  of it: 20 by conflicts in policy (256 bytes)
 10.0 %  of it: 9 by conflicts in a block of at least 65536 bytes
  2.5 %  of it: 1 by conflicts in no node, policy or index
Nothing stands out.
)"));
}

TEST_CASE("explain --hot-lines: the lines, their structures and their threads") {
  CHECK(explained_lines(modelled_document()).ends_with(R"(
Lines that threads waited for each other on; share is of the threads' virtual time:
  share  asleep     reads    writes  conflicts  line
 25.0 %  10.0 %       300       120         20  policy (256 bytes), byte 128, a lock; threads 0-2, 5
  1.0 %   0.0 %         7         0          0  Node48 (704 bytes), byte 0; thread 3
)"));
}

TEST_CASE("explain --hot-lines: a run without such lines, and a measured one") {
  Json document = modelled_document();
  document["virtual_time"]["hot_lines"] = Json::array();
  CHECK(explained_lines(document).ends_with("No thread waited for another one's line.\n"));
  document["virtual_time"] = nullptr;
  document["virtual_time_reason"] = "the run is measured";
  CHECK(testing::refusal([&] { (void)explained_lines(document); }) ==
        "explain: --hot-lines: the run is measured; only a run with --machine knows its lines");
}

}  // namespace
}  // namespace latchlab
