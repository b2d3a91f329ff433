// Tests of the account of modelled runs: whole trials over ART on a modelled machine.
#include "harness/trial/modelled_account.h"

#include <string>

#include "harness/host/modelled_machine.h"
#include "harness/host/modelled_team.h"
#include "harness/host/placement.h"
#include "harness/loop/trial_of.h"
#include "harness/result/report.h"
#include "harness/text/progress_lines.h"
#include "harness/trial/account.h"
#include "harness/trial/run_trial.h"
#include "indexes/art/art.h"
#include "src/machine/modelled.h"
#include "src/testing/catch.h"
#include "sync/olc.h"
#include "sync/synchronized.h"

namespace latchlab {
namespace {

using ModelledArt = Synchronized<Art, Olc<Modelled>, U64Key>;

Plan modelled_plan(u32 threads) {
  Config config;
  config.sync = Spec::parse("olc");
  config.machine = Spec::parse("haswell-ep:scale=16");
  config.threads = threads;
  config.records = 20'000;
  config.time_ns = 200'000;
  config.sample_ns = 100'000;
  config.pmu = "off";
  const auto machine = modelled_machine(config.machine);
  Plan plan = plan_of(config, machine->topology);
  plan.model = machine;
  plan.warmup_operations = 20'000;
  return plan;
}

TrialResult modelled_run(const Plan& plan) {
  ModelledWorld::get().reset();
  ModelledTeam team(plan.model->file, plan.seats.cpus, plan.config.seed);
  if (const auto allocator = modelled_malloc(plan.config.alloc)) {
    ModelledWorld::get().memory().serve_malloc_by(*allocator, plan.pages);
  }
  TrialOf<ModelledArt> trial(plan);
  const auto progress = make_progress(ProgressMode::kNone);
  const Topology& topology = plan.model->topology;
  TrialResult result = document(plan, topology, run_trial(trial, plan, topology, team, *progress));
  if (result.throughput) result.virtual_time = virtual_time_of(team.processor());
  mark_modelled(result, plan);
  return result;
}

TEST_CASE("a modelled run: its status says so, and nothing of this machine is in it", "[trial]") {
  const Plan plan = modelled_plan(4);
  const TrialResult result = modelled_run(plan);
  INFO(result.reason);
  CHECK(result.status == Status::kModelled);
  CHECK(result.reason == "predicted on a model of haswell-ep, and not measured");
  REQUIRE(result.throughput);
  // Four threads of some hundred nanoseconds an operation.
  CHECK(result.throughput->per_second > 4e6);
  CHECK(result.throughput->per_second < 2e8);
  CHECK(result.throughput->ended_by == Ending::kTime);
  CHECK(result.validation.passed.value == true);
  CHECK(result.throughput->generator_ns.reason == "the machine is modelled");
  CHECK(result.pmu.reason == "the machine is modelled");
  CHECK(result.limits.chase_ns.reason == "the machine is modelled");
  CHECK(result.limits.loop_share.reason == "the machine is modelled");
  CHECK(result.health.on_processor.reason == "the machine is modelled");
  CHECK(result.memory.rss.reason == "the machine is modelled");
  REQUIRE(result.placement.threads.size() == 4);
  CHECK(result.placement.threads[3].observed_cpu.value == 3);
  CHECK(result.memory.malloc.reason == "nodes are not from malloc");
}

TEST_CASE("a modelled run: blocks of malloc come from the model of an allocator", "[trial]") {
  Plan plan = modelled_plan(4);
  plan.config.alloc = Alloc::kMalloc;
  const TrialResult by_model = modelled_run(plan);
  CHECK(by_model.status == Status::kModelled);
  CHECK(by_model.memory.malloc.reason == "the machine is modelled");
  CHECK(by_model.validation.passed.value == true);
}

/// Checks that the causes of each thread add up to this time, and those of all threads to theirs.
void check_sums(const VirtualTime& time, double least_ns, double most_ns) {
  REQUIRE(time.per_thread.size() == 4);
  double all = 0;
  for (const TimeByCause& thread : time.per_thread) {
    double ns = 0;
    for (const auto& [cause, part] : thread) ns += part;
    CHECK(ns >= least_ns);
    CHECK(ns <= most_ns);
    all += ns;
  }
  CHECK(all == time.thread_ns);  // sixteenths are exact
}

TEST_CASE("a modelled run: the causes add up to the time of the measured phase", "[trial]") {
  const TrialResult result = modelled_run(modelled_plan(4));
  REQUIRE(result.virtual_time);
  const VirtualTime& time = *result.virtual_time;
  check_sums(time, 200'000, 210'000);  // a phase of 200 us ends with the last operation
  REQUIRE(time.causes.size() == model::kCauses);
  for (const auto& [cause, ns] : time.causes) {
    INFO(cause);
    if (cause == "instructions" || cause == "dram_near" || cause == "page_walks") CHECK(ns > 0);
    if (cause == "other_socket" || cause == "transactions") CHECK(ns == 0);  // all threads are in one socket
  }
}

TEST_CASE("a modelled run: a thread that has done its share is idle until the phase ends", "[trial]") {
  Plan plan = modelled_plan(4);
  plan.config.ops = 1000;
  const TrialResult result = modelled_run(plan);
  REQUIRE(result.virtual_time);
  REQUIRE(result.throughput);
  CHECK(result.throughput->operations == 1000);
  const double phase = result.throughput->seconds * 1e9;
  check_sums(*result.virtual_time, phase, phase + 1000);
}

TEST_CASE("a modelled run: one thread waits for no other one's line", "[trial]") {
  const TrialResult result = modelled_run(modelled_plan(1));
  REQUIRE(result.virtual_time);
  CHECK(result.virtual_time->hot_lines.empty());
  CHECK(result.virtual_time->conflicts.empty());
}

TEST_CASE("a modelled run: loading takes no virtual time, and the warm-up is counted", "[trial]") {
  const TrialResult result = modelled_run(modelled_plan(2));
  for (const PhaseTime& phase : result.phases) {
    INFO(phase.name);
    if (phase.name == "load") CHECK(phase.per_second.reason == "the phase took no virtual time");
    if (phase.name == "load" || phase.name == "verify") CHECK(phase.seconds == 0);
    if (phase.name == "warmup") CHECK(phase.operations == 20'000);
    CHECK(phase.name != "limits");
  }
  CHECK(result.phases.size() >= 4);
}

TEST_CASE("a modelled run: the same plan gives the same numbers, and more threads more of them", "[trial]") {
  const TrialResult one = modelled_run(modelled_plan(1)), two = modelled_run(modelled_plan(2)),
                    again = modelled_run(modelled_plan(2));
  REQUIRE((one.throughput && two.throughput && again.throughput));
  CHECK(two.throughput->operations == again.throughput->operations);
  CHECK(two.throughput->seconds == again.throughput->seconds);
  CHECK(two.throughput->series == again.throughput->series);
  CHECK(two.throughput->per_second > 1.5 * one.throughput->per_second);
}

}  // namespace
}  // namespace latchlab
