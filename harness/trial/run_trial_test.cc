// The phases of a trial and what they measure: throughput and its series, memory, keys.
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/host/environment.h"
#include "harness/host/limits.h"
#include "harness/host/progress.h"
#include "harness/host/recorder.h"
#include "harness/host/topology.h"
#include "harness/loop/toy_index_testing.h"
#include "harness/loop/trial.h"
#include "harness/trial/trial_testing.h"
#include "src/memory/accessed_bits.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using testing::Lines;
using testing::phases_of;
using testing::rate_of;
using testing::run_of;
using testing::seconds_of;
using testing::small;
using testing::VirtualTeam;
using toy::Toy;

template <class Raw = u64>
TrialResult run(const Config& config) {
  return run_of<Toy<Raw>>(config);
}

TEST_CASE("a trial of lookups loads, verifies, measures and validates") {
  const TrialResult result = run(small("lookup"));
  CAPTURE(result.reason);
  REQUIRE(result.status == Status::kOk);
  REQUIRE(result.throughput);
  const Throughput& t = *result.throughput;
  CHECK(t.operations > 0);
  CHECK(t.per_thread.size() == 2);
  CHECK(t.per_second == Approx(t.per_thread[0] + t.per_thread[1]));
  CHECK(t.per_second == Approx(static_cast<double>(t.operations) / t.seconds));
  CHECK(t.timed_share > 0);
  CHECK(t.timed_share <= 1);
  CHECK(t.ended_by == Ending::kTime);
  CHECK(t.seconds > 0);
  CHECK(t.generator_ns);
  REQUIRE(t.jain);
  CHECK(*t.jain <= 1);
  REQUIRE(rate_of(result, "read") != nullptr);
  CHECK(rate_of(result, "read")->count == t.operations);
  CHECK(rate_of(result, "read")->succeeded == t.operations);
  REQUIRE(result.validation.passed);
  CHECK(*result.validation.passed);
  CHECK(*result.validation.found_keys == 20'000);
  CHECK(*result.memory.keys == 20'000);
  CHECK(*result.memory.index_live == 20'000 * 64 + sizeof(Toy<u64>));
  CHECK(*result.memory.index_reserved == 20'000 * 96 + sizeof(Toy<u64>));
  CHECK(*result.memory.bytes_per_key ==
        Approx(96).epsilon(0.001));  // the bytes reserved from the system, the index object included
  CHECK(result.placement.threads.size() == 2);
  CHECK(result.placement.threads[0].observed_cpu);
  CHECK(*result.limits.footprint == limits_footprint(*result.memory.index_reserved, available_memory()));
  CHECK(phases_of(result) == std::vector<std::string>{"load", "verify", "warmup", "measure", "validate", "limits"});
}

/// Notes the phases of a run and the calls of its recorder, in their order.
class NotesPhases final : public Progress {
 public:
  explicit NotesPhases(std::vector<std::string>& notes) : notes_(notes) {}
  void begin(std::string_view phase, u64, u64) override { notes_.emplace_back(phase); }
  void advance(u64) override {}
  void end() override {}
  void title(std::string) override {}

 private:
  std::vector<std::string>& notes_;
};

class NotesRecorder final : public Recorder {
 public:
  explicit NotesRecorder(std::vector<std::string>& notes) : notes_(notes) {}
  void prepare() noexcept override { notes_.emplace_back("(prepare)"); }
  void begin() noexcept override { notes_.emplace_back("(begin)"); }
  void end() noexcept override { notes_.emplace_back("(end)"); }

 private:
  std::vector<std::string>& notes_;
};

TEST_CASE("a trial writes no value twice, neither while it loads nor after") {
  Config config = small("mix:update=50,upsert=50");
  config.warmup_ns = config.time_ns = 0;
  config.ops = config.records;  // so that the stamps of these operations would fit between those of the records
  VirtualTeam team;
  const Plan plan = testing::plan_of(config);
  TrialOf<Toy<u64>> trial(plan);
  const Measurement measurement =
      run_trial(trial, plan, Topology::discover(), team, *make_progress(ProgressMode::kNone));
  REQUIRE(measurement.operations() > 1000);
  std::set<u32> stamps;
  u64 written = 0;
  trial.join()->for_each([&](ErasedKey, u64 value) {
    stamps.insert(static_cast<u32>(value));
    written += static_cast<u32>(value) >= plan.config.records;
  });
  CHECK(stamps.size() == plan.config.records);
  CHECK(written > 1000);
}

TEST_CASE("a recorder records the measured phase alone, and is ready before the warm-up") {
  std::vector<std::string> notes;
  NotesPhases progress(notes);
  NotesRecorder recorder(notes);
  const Plan plan = testing::plan_of(small("lookup"));
  VirtualTeam team;
  TrialOf<Toy<u64>> trial(plan);
  const Measurement measurement = run_trial(trial, plan, Topology::discover(), team, progress, &recorder);
  CHECK(measurement.operations() > 0);
  CHECK(notes == std::vector<std::string>{"load", "verify", "(prepare)", "warmup", "(begin)", "measure", "(end)",
                                          "validate", "limits"});
}

TEST_CASE("in virtual time every repetition of a run is the same to the nanosecond") {
  const auto seen = [] {
    Config config = small("mix:read=50,insert=20,update=20,erase=10");
    config.threads = 3;
    config.seed = 7;
    const TrialResult result = run(config);
    std::vector<double> all = result.throughput->series;
    const Throughput& t = *result.throughput;
    all.insert(all.end(), {t.seconds, static_cast<double>(t.operations), *t.jain});
    for (const PhaseTime& phase : result.phases) all.push_back(phase.seconds);
    return all;
  };
  const std::vector<double> first = seen();
  CHECK(first.size() > 8);
  CHECK(seen() == first);
}

TEST_CASE("a phase that ends by time has the right length, however short") {
  for (const u64 ms : {1, 7, 30}) {
    Config config = small("lookup");
    config.time_ns = ms * 1'000'000;
    const double seconds = run(config).throughput->seconds;
    CAPTURE(ms, seconds);
    CHECK(seconds >= 1e-3 * static_cast<double>(ms));
    CHECK(seconds <=
          1e-3 * static_cast<double>(ms) + 300e-6);  // the interval of looks at the time, and at the stop flag
  }
}

TEST_CASE("no erase overtakes the insert of its key, although threads hold earlier operations than others run") {
  Config config = small("mix:insert=50,erase=50");
  config.records = 4'000;  // the window: that many inserts lie between a key's insert and its erase
  config.warmup_ns = 0;
  config.time_ns = 0;
  config.ops = 200'000;
  const TrialResult result = run(config);
  for (const char* name : {"insert", "erase"}) {
    CHECK(rate_of(result, name)->count > 99'000);
    CHECK(rate_of(result, name)->succeeded == rate_of(result, name)->count);
  }
}

/// An index in which every find holds one lock for 400 ns.
struct OneAtATime : Toy<u64> {
  using Toy<u64>::Toy;
  std::optional<u64> find(ThreadState&, u64 key) {
    while (held_) VirtualTeam::spend(50);
    held_ = true;
    VirtualTeam::spend(400);
    held_ = false;
    return value_of(key, 0);
  }

 private:
  bool held_ = false;
};

TEST_CASE("the throughput of operations that exclude each other is at most that of running them in turn") {
  for (const u32 threads : {1U, 2U, 5U}) {
    Config config = small("lookup");
    config.records = 100;
    config.threads = threads;
    config.warmup_ns = 0;
    config.time_ns = 0;
    config.ops = 10'000;
    const TrialResult result = run_of<OneAtATime>(config);
    CAPTURE(threads, result.reason);
    REQUIRE(result.throughput);
    const Throughput& t = *result.throughput;
    CAPTURE(t.seconds, t.timed_share);
    // The seconds that count are at least the sum of all times in the lock, except for the few requests after a thread
    // has stopped. So the throughput is at most that of one find after the other.
    CHECK(t.seconds >= .99 * 10'000 * 400e-9);
    CHECK(t.seconds <= 1.3 * 10'000 * 400e-9);  // with the time for handing the lock over
    // With the time for making requests, the throughput is at least the operations over the phase's wall time, which
    // includes the time before the first round.
    CHECK(t.per_second * t.timed_share * (1 + 1e-9) >=
          static_cast<double>(t.operations) / seconds_of(result, "measure"));
    CHECK(t.seconds <= seconds_of(result, "measure"));
    if (*result.placement.oversubscribed) CHECK(t.timed_share == 1);
  }
}

TEST_CASE("a trial with all kinds of operations agrees with its tally") {
  Config config = small("mix:read=30,insert=20,update=10,upsert=10,erase=20,scan=10,scan_length=20");
  config.negative = .2;
  config.threads = 4;
  config.time_ns = 0;
  config.ops = 20'000;
  const TrialResult result = run(config);
  CAPTURE(result.reason);
  REQUIRE(result.status == Status::kOk);
  for (const char* kind : {"scan", "erase"}) {
    REQUIRE(rate_of(result, kind) != nullptr);
    CHECK(rate_of(result, kind)->succeeded > 0);
  }
}

TEST_CASE("keys of a file are strings in every phase") {
  const Lines lines(30'000);
  Config config = small("mix:read=40,insert=20,erase=20,update=10,scan=10");
  config.keys = Spec{.name = "file", .arg = lines.path(), .options = {}};
  const TrialResult result = run<std::string_view>(config);
  CAPTURE(result.reason);
  REQUIRE(result.status == Status::kOk);
  CHECK(result.throughput->operations > 0);
}

TEST_CASE("the series has an interval for each sample and no incomplete one") {
  Config config = small("lookup");
  config.sample_ns = 10'000'000;
  config.time_ns = 64'000'000;
  const TrialResult result = run(config);
  REQUIRE(result.throughput);
  CHECK(result.throughput->interval_ns == 10'000'000);
  REQUIRE(result.throughput->series.size() == 6);
  for (const double rate : result.throughput->series) CHECK(rate == Approx(result.throughput->per_second).epsilon(.05));
}

TEST_CASE("Accessed bits are cleared when the measured phase begins and at intervals, if the kernel allows it") {
  Config config = small("lookup");
  CHECK(run(config).memory.accessed_cleared.reason == "--clear-accessed=off");
  config.clear_accessed_ns = 5'000'000;
  const TrialResult result = run(config);
  if (const auto why = why_accessed_stay()) {
    CHECK(result.status == Status::kDegraded);
    CHECK(result.reason == "Accessed bits are not cleared: " + *why);
    return;
  }
  REQUIRE(result.status == Status::kOk);
  REQUIRE(result.memory.accessed_cleared);
  CHECK(*result.memory.accessed_cleared >= 1 + 30 / 5 - 1);
  CHECK(*result.memory.accessed_cleared <= 1 + 30 / 5);
}

TEST_CASE("a result says how many keys the index had when the measured phase began") {
  const auto start = [](std::string_view workload, u64 warmup_ns) {
    Config config = small(workload);
    config.warmup_ns = warmup_ns;
    config.time_ns = 0;
    config.ops = workload == "insert" ? 0 : 10'000;
    const TrialResult result = run(config);
    CAPTURE(workload, warmup_ns, result.reason);
    REQUIRE(result.memory.keys_at_start);
    const i64 warm = static_cast<i64>(result.memory.keys_at_start.value.value_or(0)) - 20'000;
    return std::pair(warm, static_cast<i64>(*result.memory.keys) - 20'000 - warm);
  };
  using Growth = std::pair<i64, i64>;  // growth in the warm-up and in the measured phase
  CHECK(start("lookup", 2'000'000) == Growth(0, 0));
  CHECK(start("insert", 0) == Growth(-20'000, 20'000));
  CHECK(start("mix:read=50,insert=50", 0).first == 0);
  const Growth growth = start("mix:read=50,insert=50", 2'000'000);
  CHECK(growth.first > 0);
  CHECK(growth.first + growth.second > growth.first);
}

}  // namespace
}  // namespace latchlab
