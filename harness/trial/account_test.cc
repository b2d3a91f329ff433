// Tests of the accounts. Each fills a Measurement by hand, also with facts that no run shows at will.
#include "harness/trial/account.h"

#include <string>

#include "harness/host/virtual_team_testing.h"
#include "harness/trial/latency_account.h"
#include "harness/trial/sync_account.h"
#include "harness/trial/trial_testing.h"
#include "src/testing/catch.h"
#include "sync/rtm_counters.h"

namespace latchlab {
namespace {

using Catch::Matchers::Contains;
using testing::plan_of;
using testing::small;

/// Returns the measurement of a run of `operations` lookups by two threads, without any disturbance.
Measurement fine(u64 operations = 1000) {
  Measurement m;
  m.loaded = true;
  m.tally.succeeded[static_cast<std::size_t>(OpKind::kInsert)] = 20'000;
  m.phases = {{.name = "load", .seconds = 1, .operations = 20'000, .failure = {}},
              {.name = "measure", .seconds = 1, .operations = operations, .failure = {}}};
  m.contents = Contents();
  m.contents->keys = 20'000;
  MeasuredPhase& phase = m.measured.emplace();
  phase.metered.operations = operations;
  phase.metered.seconds = phase.wall_seconds = 1;
  phase.metered.per_second = static_cast<double>(operations);
  phase.done.count[static_cast<std::size_t>(OpKind::kRead)] = operations;
  phase.threads.resize(2);
  for (MeasuredThread& thread : phase.threads) thread.processor_time = ProcessorTime{.ran_ns = testing::kSecond};
  return m;
}

TrialResult document_of(const Measurement& m, const Config& config = small("lookup")) {
  Plan plan = plan_of(config);
  plan.seats.oversubscribed = false;  // on any machine that runs this test
  return document(plan, Topology::discover(), m);
}

/// Returns a measurement in which a thread was on a processor for `percent` of its time, and the host took `ticks` of
/// a hundred ticks.
Measurement disturbed(u64 percent, u64 ticks = 0) {
  Measurement m = fine();
  m.measured->threads[1].processor_time =
      ProcessorTime{.ran_ns = percent * testing::kSecond, .waited_ns = (100 - percent) * testing::kSecond};
  m.measured->before.steal_ticks = m.measured->before.all_ticks = 0;
  m.measured->after.steal_ticks = ticks;
  m.measured->after.all_ticks = 100;
  return m;
}

TEST_CASE("a run without disturbances is ok and has no note", "[account]") {
  const TrialResult result = document_of(fine());
  CHECK(result.status == Status::kOk);
  CHECK(result.reason.empty());
  CHECK(result.health.notes.empty());
  CHECK(result.throughput->per_operation.at(0).count == 1000);
  CHECK(*result.validation.passed);
}

TEST_CASE("notes about inert options come after notes about the run", "[account]") {
  Plan plan = plan_of(small("lookup"));
  plan.seats.oversubscribed = false;
  plan.inert = {"--warmup is inert", "--dist is inert"};
  const TrialResult result = document(plan, Topology::discover(), disturbed(100, 5));
  CHECK(result.status == Status::kOk);
  CHECK(result.health.notes == std::vector<std::string>{"the host took 5.0 % of the processors' time",
                                                        "--warmup is inert", "--dist is inert"});
}

TEST_CASE("a run whose threads were descheduled is noisy, unless threads share processors", "[account]") {
  Plan plan = plan_of(small("lookup"));
  plan.seats.oversubscribed = false;
  const auto remarks = [&](const Measurement& m) { return health_account(plan, m).remarks; };
  const Remarks starved = remarks(disturbed(47));
  REQUIRE(starved.size() == 1);
  CHECK(starved[0].status == Status::kNoisy);
  CHECK_THAT(starved[0].text, Catch::StartsWith("a thread was on a processor for 47.0 % of the time"));
  CHECK(remarks(disturbed(90, 4)).empty());
  const Remarks robbed = remarks(disturbed(100, 12));  // by the host, whose share is in no thread's time
  REQUIRE(robbed.size() == 1);
  CHECK(robbed[0].status == Status::kOk);
  CHECK_THAT(robbed[0].text, Contains("took 12.0 % of the processors' time"));
  plan.seats.oversubscribed = true;
  CHECK(remarks(disturbed(47)).empty());
}

TEST_CASE("the waits of all threads are summed, and each number that is unknown has its reason", "[account]") {
  Plan plan = plan_of(small("lookup"));
  plan.seats.oversubscribed = true;
  Measurement m = fine();
  Scheduling waits = scheduling_account(plan, m);
  CHECK(*waits.run_delay_ns == 0);
  CHECK_THAT(waits.yields.reason, Contains("virtual time"));
  for (MeasuredThread& thread : m.measured->threads) {
    thread.processor_time->waited_ns = 50;
    thread.waits =
        ThreadWaits{.counts = {.yields = 5, .parks = 4, .wakes = 3, .late_handovers = 2, .involuntary_inside = 1},
                    .involuntary = 10,
                    .slices = 6};
  }
  waits = scheduling_account(plan, m);
  CHECK(*waits.run_delay_ns == 100);
  CHECK(*waits.yields == 10);
  CHECK(*waits.parks == 8);
  CHECK(*waits.wakes == 6);
  CHECK(*waits.late_handovers == 4);
  CHECK(*waits.preempted_outside_waits == 18);
  CHECK_THAT(waits.slice_extensions.reason, Contains("no thread asks"));
  plan.config.slice_extension = SliceExtensions::kOn;
  CHECK(*scheduling_account(plan, m).slice_extensions == 12);
  plan.config.wait = WaitBy::kPark;
  CHECK_THAT(scheduling_account(plan, m).late_handovers.reason, Contains("sleeps until it is woken"));
  plan.config.wait = WaitBy::kYield;
  m.measured->offer.emplace();
  CHECK_THAT(scheduling_account(plan, m).preempted_outside_waits.reason, Contains("open loop"));
  plan.seats.oversubscribed = false;
  CHECK(*scheduling_account(plan, m).yields == 10);
  CHECK_THAT(scheduling_account(plan, m).late_handovers.reason, Contains("if threads share processors"));
  plan.no_wait = "it sleeps";
  for (const OrReason<u64>& count : {scheduling_account(plan, m).yields, scheduling_account(plan, m).late_handovers}) {
    CHECK(count.reason == "it sleeps");
  }
  m.measured->threads[1].processor_time.reset();
  CHECK_THAT(scheduling_account(plan, m).run_delay_ns.reason, Contains("schedstat"));
}

TEST_CASE("the worst status and its reason win, and that the run is noisy becomes a note", "[account]") {
  const auto check = [](const Measurement& m, Status status, const std::string& reason,
                        const Config& config = small("lookup")) {
    const TrialResult result = document_of(m, config);
    CHECK(result.status == status);
    CHECK_THAT(result.reason, Catch::StartsWith(reason));
    REQUIRE(result.health.notes.size() == 1);
    CHECK_THAT(result.health.notes[0], Contains("on a processor for 47.0 % of the time"));
  };
  Measurement wrong = disturbed(47);  // found after the noise
  wrong.contents->keys = 19'999;
  check(wrong, Status::kInvalid, "the index holds 19999 keys, the tally says 20000");
  Measurement failed = disturbed(47);  // found before the noise
  failed.phases.back().failure = "memory ran out";
  check(failed, Status::kFailed, "memory ran out in phase measure");
  Config config = small("lookup");
  config.clear_accessed_ns = 1;
  Measurement inert = disturbed(47);
  inert.measured->accessed_stay = "the kernel keeps them";
  check(inert, Status::kDegraded, "Accessed bits are not cleared: the kernel keeps them", config);
}

TEST_CASE("a degraded result names all reasons, in the order of the run", "[account]") {
  Plan plan = plan_of(small("lookup"));
  plan.config.clear_accessed_ns = 1;
  plan.index_degraded = "no pages";
  plan.mem_degraded = "no nodes";
  Measurement m = fine();
  m.elides = true;
  m.measured->sync.elided = 0;
  m.measured->sync.degraded = "no transactions";
  m.measured->accessed_stay = "the kernel keeps them";
  const TrialResult result = document(plan, Topology::discover(), m);
  CHECK(result.status == Status::kDegraded);
  CHECK(result.reason == "no transactions; no pages; no nodes; Accessed bits are not cleared: the kernel keeps them");
  CHECK(result.memory.accessed_cleared.reason == "the kernel keeps them");
}

TEST_CASE("a note says that the reclaimer stalled, and its counts are those of the measured phase", "[account]") {
  MeasuredPhase phase;
  phase.reclaim_before = ReclaimCounters{.retired = 100, .freed = 90, .pending = 10, .advances = 7, .stalled = 2};
  phase.reclaim_after = ReclaimCounters{.retired = 150, .freed = 110, .pending = 40, .advances = 9, .stalled = 5};
  const auto account = reclaim_account(phase);
  REQUIRE(account.part);
  CHECK(account.part->at(0).count == 50);  // retired
  CHECK(account.part->at(2).count == 40);  // pending, at the end of the phase
  REQUIRE(account.remarks.size() == 1);
  CHECK(account.remarks[0].status == Status::kOk);
  CHECK_THAT(account.remarks[0].text, Catch::StartsWith("memory to reclaim piled up 3 times"));
  phase.reclaim_before.value->stalled = 5;
  CHECK(reclaim_account(phase).remarks.empty());
  phase.reclaim_after = OrReason<ReclaimCounters>::missing("no grace period");
  CHECK(reclaim_account(phase).part.reason == "no grace period");
}

TEST_CASE("a phase that failed midway reports the operations done, and has no note about its end", "[account]") {
  Config config = small("insert");
  Measurement m = fine(500);
  m.phases = {{.name = "measure", .seconds = 1, .operations = 500, .failure = "memory ran out"}};
  const TrialResult failed = document_of(m, config);
  CHECK(failed.status == Status::kFailed);
  CHECK(failed.reason == "memory ran out in phase measure");
  CHECK(failed.throughput->operations == 500);
  CHECK(failed.health.notes.empty());
  CHECK(*failed.validation.passed);
  m.measured->total = 20'000;
  m.phases[0].failure.clear();
  CHECK_THAT(document_of(m, config).health.notes.at(0), Contains("500 of 20000 records were inserted"));
}

TEST_CASE("running out of memory excuses a wrong number of keys in an index with its own memory, but no wrong value",
          "[account]") {
  Plan plan = plan_of(small("lookup"));
  Measurement m = fine();
  m.contents->keys = 20'001;
  const auto status = [&] { return document(plan, Topology::discover(), m).status; };
  plan.own_memory = "it allocates itself";
  CHECK(status() == Status::kInvalid);
  m.phases.back().failure = "memory ran out";
  CHECK(status() == Status::kFailed);
  m.tally.wrong_values = 1;
  CHECK(status() == Status::kInvalid);
  m.tally.wrong_values = 0;
  plan.own_memory.clear();
  CHECK(status() == Status::kInvalid);
}

TEST_CASE("a run that did not reach its measured phase names the reason", "[account]") {
  Measurement m = fine();
  m.measured.reset();
  m.phases.pop_back();
  const auto check = [&](Status status, const std::string& reason, const Config& config = small("lookup")) {
    const TrialResult result = document_of(m, config);
    CHECK(result.status == status);
    CHECK(result.reason == reason);
    CHECK(result.throughput.reason == (reason.empty() ? "the measured phase did not run" : reason));
    CHECK(result.placement.threads.at(0).observed_cpu.reason == result.throughput.reason);
    CHECK(result.limits.chase_ns.reason == "there is no throughput to compare with");
    CHECK(*result.validation.passed);
  };
  check(Status::kOk, "");
  m.interrupted = true;
  check(Status::kFailed, "the run was interrupted before the measured phase");
  m.leave_failure = "it is stuck";
  check(Status::kFailed, "a thread cannot leave the index: it is stuck");
  m.full = true;
  check(Status::kFailed,
        "the index was full, with 20000 keys, in the warm-up, which inserts too; --warmup=0 leaves it out");
  m.loaded = false;
  check(Status::kFailed, "the index was full, with 20000 keys, before all 20000 records were loaded");
  m.tally.missing = 3;
  check(Status::kInvalid, "while loading: 3 keys were missing that must be there");
  m.phases.push_back({.name = "verify", .seconds = 1, .operations = 1, .failure = {}});
  check(Status::kInvalid, "while verifying what was loaded: 3 keys were missing that must be there");
}

TEST_CASE("a signal takes precedence over a full index, and that over the number of operations, as the end of a phase",
          "[account]") {
  const Plan plan = plan_of(small("lookup"));
  Measurement m = fine();
  const auto ending = [&] { return throughput_account(plan, m).part->ended_by; };
  CHECK(ending() == Ending::kTime);
  m.measured->total = 1000;
  CHECK(ending() == Ending::kRecords);
  m.full = true;
  CHECK(ending() == Ending::kFull);
  CHECK_THAT(throughput_account(plan, m).remarks.at(0).text, Contains("and so the run ended"));
  m.measured->stopped = true;
  CHECK(ending() == Ending::kSignal);
  m.measured->metered.operations = 0;
  CHECK(throughput_account(plan, m).remarks.at(0).status == Status::kFailed);
  CHECK_THAT(throughput_account(plan, m).remarks.at(0).text,
             Contains("full, with 20000 keys, before an operation was done"));
}

TEST_CASE("an index that keeps nothing has no bytes and is not compared with the tally", "[account]") {
  Measurement m = fine();
  m.keeps = false;
  m.tally.missing = 7;
  m.contents.reset();
  const TrialResult result = document_of(m);
  CHECK(result.status == Status::kOk);
  CHECK(result.memory.keys.reason == "this index keeps nothing");
  CHECK(result.limits.chase_ns.reason == "this index keeps nothing");
  CHECK(result.validation.passed.reason == "this index keeps nothing");
}

TEST_CASE("counters that cannot be right make a result invalid", "[account]") {
  MeasuredPhase phase = *fine(100).measured;
  phase.sync.stats.counters = SyncStats::Counts{{"ops", 99}};
  const auto remark = [&](bool elides, u32 keys = 1) {
    const Remarks remarks = sync_account(phase, elides, keys).remarks;
    return remarks.empty() ? Remark() : remarks[0];
  };
  CHECK(remark(false).status == Status::kInvalid);
  CHECK(remark(false, 2).status == Status::kOk);  // a call may take two operations
  phase.sync.stats.counters.value->at(0).count = 100;
  phase.sync.elided = 0;
  CHECK(remark(false).status == Status::kOk);
  CHECK_THAT(remark(true).text, Contains("no operation was elided"));
  phase.sync.contradiction = "more commits than begins";
  CHECK(remark(false).text == "counters contradict each other: more commits than begins");
}

TEST_CASE("a note says what timing calls cost, and if every call fell back they are not reported apart", "[account]") {
  Config config = small("lookup");
  config.latency_every = 1;
  config.batch.keys = 4;
  testing::VirtualTeam team(0);  // the test advances its time
  MeasuredPhase phase;
  phase.threads.resize(1);
  phase.latencies.emplace(1, 4, team.clock());
  RtmCounters counters;
  SyncStats sync;
  sync.fallback_rate = 1.0;
  Throughput throughput;
  throughput.operations = 400;
  throughput.seconds = 1e-6;
  const auto account = [&] { return latency_account(config, phase, throughput, sync); };
  CHECK(account().part.reason == "no call was timed: one in 1 is, and there were fewer");
  phase.latencies->time(OpKind::kRead, 4, counters, [&] { ++counters.fallbacks, team.outside() += 50; });
  CHECK(account().part->fell_back.reason == "every timed call fell back");
  CHECK(*account().part->per_key_ns == Approx(12.5));
  REQUIRE(account().remarks.size() == 1);
  CHECK(account().remarks[0].text ==
        "timed calls overlap with no others, which costs throughput: 1.0 % of the operations took 5.0 % of the time");
  phase.latencies->time(OpKind::kRead, 4, counters, [] {});
  CHECK(account().part->fell_back->count == 1);
  CHECK(*account().part->operations[0].fallbacks == 1);
  config.value_size = 100;
  CHECK(account().part->operations[0].fallbacks.reason ==
        "calls are not charged with counters if values are sized (--value-size)");
  phase.offer = OfferedLoad();  // timing does not slow an open loop down
  CHECK(account().remarks.empty());
}

}  // namespace
}  // namespace latchlab
