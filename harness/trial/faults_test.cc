// Faults in a trial and how its result reports them. The faults are wrong answers, lost keys, no memory, a full index,
// a policy that counts wrongly, and a system without threads.
#include <array>
#include <atomic>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "harness/host/native_team.h"
#include "harness/host/progress.h"
#include "harness/host/thread_team.h"
#include "harness/host/virtual_team_testing.h"
#include "harness/loop/toy_index_testing.h"
#include "harness/loop/trial.h"
#include "harness/trial/trial_testing.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using testing::plan_of;
using testing::run_of;
using testing::small;
using toy::Mistake;
using toy::Plant;
using toy::Toy;

TrialResult run_toy(const Config& config) { return run_of<Toy<u64>>(config); }

TEST_CASE("each mistake of an index makes the result invalid, with a reason") {
  const auto broken = [](Mistake mistake, std::string_view workload) {
    const Plant plant(mistake);
    Config config = small(workload);
    config.time_ns = 0;
    config.ops = 30'000;
    const TrialResult result = run_toy(config);
    INFO(result.reason);
    CHECK(result.status == Status::kInvalid);
    return result.reason;
  };
  CHECK_THAT(broken(Mistake::kWrongValue, "lookup"), Catch::Contains("values of other keys"));
  CHECK_THAT(broken(Mistake::kMissedKey, "lookup"), Catch::Contains("missing"));
  CHECK_THAT(broken(Mistake::kLostInsert, "insert"), Catch::Contains("the tally says 20000"));
  CHECK_THAT(broken(Mistake::kSwappedKeys, "insert"), Catch::Contains("not the right ones"));
  CHECK_THAT(broken(Mistake::kDoubleErase, "mix:read=50,insert=25,erase=25"), Catch::Contains("the tally says"));
  CHECK_THAT(broken(Mistake::kBadScan, "mix:read=50,scan=50"), Catch::Contains("out of order"));
}

/// An index that keeps 32 bits of keys and values, and corrupts values on request.
class NarrowToy : public Toy<u64> {
 public:
  struct Options {
    Widths widths() const { return {.key = 32, .value = 32}; }
  };
  static inline u64 wrong_bits = 0;

  using Toy::Toy;
  std::optional<u64> find(ThreadState& me, u64 key) {
    auto found = Toy::find(me, static_cast<u32>(key));
    if (found) *found ^= wrong_bits;
    return found;
  }
  bool insert(ThreadState& me, u64 key, u64 value) {
    return Toy::insert(me, static_cast<u32>(key), static_cast<u32>(value));
  }
  template <class Visit>
  void for_each(ThreadState& me, Visit&& visit) {
    Toy::for_each(me, [&](u64 key, u64 value) { visit(key, value ^ wrong_bits); });
  }
};

TEST_CASE("wrong values of 32 bits are detected too") {
  Config config = small("lookup");
  config.keys = Spec::parse("u32");
  const auto run = [&] {
    Plan plan = plan_of(config);
    plan.widths = NarrowToy::Options().widths();
    return run_of<NarrowToy>(plan);
  };
  CHECK(run().status == Status::kOk);
  NarrowToy::wrong_bits = u64{1} << 16;  // the lowest bit of the tag
  CHECK_THAT(run().reason, Catch::Contains("values of other keys"));
  config.workload = Spec::parse("insert");  // only the check at the end reads values
  CHECK_THAT(run().reason, Catch::Contains("hold values of other keys"));
  NarrowToy::wrong_bits = 0;
  CHECK(run().status == Status::kOk);
}

TEST_CASE("finding a key that is in no record makes the result invalid") {
  const Plant plant(Mistake::kPhantom);
  Config config = small("lookup");
  config.negative = .5;
  config.time_ns = 0;
  config.ops = 10'000;
  const TrialResult result = run_toy(config);
  CHECK(result.status == Status::kInvalid);
  CHECK_THAT(result.reason, Catch::Contains("cannot be"));
}

TEST_CASE("mistakes in the measured loop count even with --validate=off") {
  const Plant plant(Mistake::kWrongValue);
  Config config = small("lookup");
  config.records = 900;  // fewer than 1000, so that verifying them meets no mistake
  config.warmup_ns = 0;
  config.time_ns = 0;
  config.ops = 10'000;
  config.validate = Validate::kOff;
  const TrialResult result = run_toy(config);
  CHECK(result.status == Status::kInvalid);
  CHECK_FALSE(result.validation.passed);
  CHECK(result.validation.passed.reason == "--validate=off");
}

TEST_CASE("running out of memory fails the run, and the index still agrees with the tally") {
  for (const char* workload : {"insert", "lookup"}) {
    const Plant plant(Mistake::kNoMemory);
    Config config = small(workload);
    config.time_ns = 0;
    config.ops = 10'000;  // so that even the slowest machine reaches the insert that throws
    const TrialResult result = run_toy(config);
    INFO(result.reason);
    CHECK(result.status == Status::kFailed);
    CHECK_THAT(result.reason, Catch::Contains("memory ran out"));
    REQUIRE(result.validation.passed);
    CHECK(*result.validation.passed);
    if (result.throughput) {  // in the measured phase, where every operation done counts
      u64 done = 0;
      for (const OperationRate& rate : result.throughput->per_operation) done += rate.count;
      CHECK(done == result.throughput->operations);
    }
    CHECK(result.throughput.value.has_value() == (std::string_view(workload) == "insert"));
  }
}

TEST_CASE("an insert that ran out of memory may have inserted, but only in an index with memory of its own") {
  Config config = small("insert");
  config.time_ns = 0;
  config.ops = 10'000;
  {
    const Plant plant(Mistake::kLateThrow);
    CHECK(run_toy(config).status == Status::kInvalid);
  }
  const Plant plant(Mistake::kLateThrow);
  Plan plan = plan_of(config);
  plan.own_memory = "it allocates itself";
  const TrialResult result = run_of<Toy<u64>>(plan);
  CHECK(result.status == Status::kFailed);
  CHECK_THAT(result.reason, Catch::Contains("memory ran out"));
  CHECK_FALSE(result.validation.passed.value.value_or(true));
}

TEST_CASE("a full index ends the measured phase, and the operations before it count") {
  const Plant plant(Mistake::kFull);
  Config config = small("insert");
  config.time_ns = 0;
  const TrialResult result = run_toy(config);
  CAPTURE(result.reason);
  REQUIRE(result.status == Status::kOk);
  CHECK(result.throughput->ended_by == Ending::kFull);
  CHECK(result.throughput->operations == 5000);
  CHECK(result.throughput->per_operation.at(0).succeeded == 5000);
  CHECK(*result.memory.keys == 5000);
  CHECK(*result.validation.passed);
  CHECK_THAT(result.health.notes.back(), Catch::Contains("full, with 5000 keys"));
}

TEST_CASE("an index that gets full while loading or warming up is not measured") {
  const Plant plant(Mistake::kFull);
  CHECK_THAT(run_toy(small("lookup")).reason,
             Catch::Contains("the index was full, with 5000 keys, before all 20000 records were loaded"));
  Config config = small("mix:read=50,insert=50");
  config.records = 4900;
  config.warmup_ns = 3600'000'000'000;
  const TrialResult result = run_toy(config);
  CHECK(result.status == Status::kFailed);
  CHECK_THAT(result.reason, Catch::Contains("the index was full, with 5000 keys, in the warm-up"));
  CHECK_FALSE(result.throughput);
  CHECK(*result.validation.passed);
}

struct Counted {
  u64 ops = 0;
  static constexpr auto fields() { return std::array{CounterField{"ops", &Counted::ops}}; }
};

/// An index that counts its lookups, except one in a thousand on request.
struct CountingToy : Toy<u64> {
  using Toy<u64>::Toy;
  struct ThreadState : Toy<u64>::ThreadState {
    Counted counters;
  };
  ThreadState join() { return {}; }
  std::optional<u64> find(ThreadState& me, u64 key) {
    if (!toy::strikes(Mistake::kUncounted, 1000)) ++me.counters.ops;
    return Toy<u64>::find(me, key);
  }
};

TEST_CASE("a policy that counts fewer operations than were done makes the result invalid") {
  for (const Mistake mistake : {Mistake::kNone, Mistake::kUncounted}) {
    const Plant plant(mistake);
    Config config = small("lookup");
    config.time_ns = 0;
    config.ops = 30'000;
    const TrialResult result = run_of<CountingToy>(config);
    CAPTURE(result.reason);
    REQUIRE(result.throughput);
    CHECK(result.throughput->operations == 30'000);
    REQUIRE(result.sync.counters);
    if (mistake == Mistake::kNone) {
      CHECK(result.status == Status::kOk);
      CHECK(result.sync.counters->front().count == 30'000);
    } else {
      CHECK(result.status == Status::kInvalid);
      CHECK(result.reason == "the policy counted fewer operations than the 30000 that were done");
      CHECK(result.sync.counters->front().count < 30'000);
    }
  }
}

/// A team for which the system has no threads.
class NoThreads final : public testing::VirtualTeam {
 public:
  void begin(u32) override { throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again)); }
};

TEST_CASE("a run for which the system has no threads fails, and gives no task to threads") {
  const TrialResult result = run_of<Toy<u64>, NoThreads>(small("lookup"));
  CHECK(result.status == Status::kFailed);
  CHECK_THAT(result.reason, Catch::StartsWith("the threads cannot be started: "));
  CHECK(result.phases.size() == 1);  // validate
}

/// A Progress that throws when the phase `name` begins.
class ThrowsAsItBegins final : public Progress {
 public:
  explicit ThrowsAsItBegins(std::string_view name) : name_(name) {}
  void begin(std::string_view phase, u64, u64) override {
    if (phase == name_) throw std::runtime_error("the caller is in trouble");
  }
  void advance(u64) override {}
  void end() override {}
  void title(std::string) override {}

 private:
  const std::string_view name_;
};

TEST_CASE("an exception of the calling thread leaves run_trial") {
  for (const char* phase : {"measure", "validate"}) {
    ThrowsAsItBegins progress(phase);
    CHECK_THROWS_WITH((run_of<Toy<u64>, NativeTeam>(small("insert"), progress)), "the caller is in trouble");
  }
}

}  // namespace
}  // namespace latchlab
