#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "harness/environment.h"
#include "harness/interrupt.h"
#include "harness/limits.h"
#include "harness/placement.h"
#include "harness/progress.h"
#include "harness/toy_index.h"
#include "harness/trial.h"
#include "harness/trial_of.h"
#include "harness/trial_testing.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using testing::Lines;
using testing::phase_of;
using testing::phases_of;
using testing::run_of;
using testing::small;
using toy::Mistake;
using toy::Plant;
using toy::Toy;

template <class Raw = u64>
TrialResult run(const Config& config) {
  return run_of<Toy<Raw>>(config);
}

/// Asks for the end as soon as something was measured.
class StopOnceMeasured final : public Progress {
 public:
  void begin(std::string_view phase, u64, u64) override { measuring_ = phase == "measure"; }
  void advance(u64 done) override {
    if (measuring_ && done > 0) request_stop();
  }
  void end() override { measuring_ = false; }
  void title(std::string) override {}

 private:
  bool measuring_ = false;
};

const OperationRate* operation(const TrialResult& result, std::string_view name) {
  for (const OperationRate& rate : result.throughput->per_operation) {
    if (rate.name == name) return &rate;
  }
  return nullptr;
}

double seconds_of(const TrialResult& result, std::string_view phase) {
  return phase_of(result, phase).seconds;
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
  REQUIRE(operation(result, "read") != nullptr);
  CHECK(operation(result, "read")->count == t.operations);
  CHECK(operation(result, "read")->succeeded == t.operations);
  REQUIRE(result.validation.passed);
  CHECK(*result.validation.passed);
  CHECK(*result.validation.found_keys == 20'000);
  CHECK(*result.memory.keys == 20'000);
  CHECK(*result.memory.index_live == 20'000 * 64 + sizeof(Toy<u64>));
  CHECK(*result.memory.index_reserved == 20'000 * 96 + sizeof(Toy<u64>));
  CHECK(*result.memory.bytes_per_key == Approx(96).epsilon(0.001));   // what it holds from the system, itself included
  CHECK(result.placement.threads.size() == 2);
  CHECK(result.placement.threads[0].observed_cpu);
  REQUIRE(result.limits.footprint);
  CHECK(*result.limits.footprint == limits_footprint(*result.memory.index_reserved, available_memory()));
  REQUIRE(result.limits.chase_ns);
  CHECK(*result.limits.chase_ns > 0);
  CHECK(*result.limits.independent_ns > 0);
  const double operation_ns =
      t.seconds * 1e9 * *result.placement.processors / static_cast<double>(t.operations);
  CHECK(*result.limits.chase_ratio == Approx(operation_ns / *result.limits.chase_ns));
  CHECK(*result.limits.independent_ratio == Approx(operation_ns / *result.limits.independent_ns));
  CHECK(phases_of(result) ==
        std::vector<std::string>{"load", "verify", "warmup", "measure", "validate", "limits"});
}

TEST_CASE("a trial that counts its operations does exactly so many, with any number of threads") {
  for (const u32 threads : {1U, 2U, 3U, 8U}) {
    for (const u64 ops : {1ULL, 4095ULL, 4097ULL, 30'000ULL}) {
      Config config = small("mix:read=50,insert=20,update=10,erase=20");
      config.threads = threads;
      config.time_ns = 0;
      config.ops = ops;
      const TrialResult result = run(config);
      CAPTURE(threads, ops, result.reason);
      REQUIRE(result.status == Status::kOk);
      CHECK(result.throughput->operations == ops);
      CHECK(result.throughput->ended_by == Ending::kOperations);
      const u64 sum =
          std::accumulate(result.throughput->per_operation.begin(), result.throughput->per_operation.end(),
                          u64{0}, [](u64 s, const OperationRate& rate) { return s + rate.count; });
      CHECK(sum == ops);
    }
  }
}

TEST_CASE("operations that are counted are the first of the stream, however many threads do them") {
  const auto counts_of = [](u32 threads) {
    Config config = small("mix:read=50,insert=20,update=10,erase=20");
    config.threads = threads;
    config.warmup_ns = 0;
    config.time_ns = 0;
    config.ops = 30'001;
    const TrialResult result = run(config);
    std::vector<u64> counts;
    for (const OperationRate& rate : result.throughput->per_operation) counts.push_back(rate.count);
    return counts;
  };
  const std::vector<u64> alone = counts_of(1);
  CHECK(std::accumulate(alone.begin(), alone.end(), u64{0}) == 30'001);
  CHECK(counts_of(2) == alone);
  CHECK(counts_of(3) == alone);
  CHECK(counts_of(8) == alone);
}

TEST_CASE("no erase overtakes the insert of its key, although threads hold operations that the others have gone past") {
  Config config = small("mix:insert=50,erase=50");
  config.records = 4'000;   // the window: that many inserts lie between a key's two ends
  config.warmup_ns = 0;
  config.time_ns = 0;
  config.ops = 200'000;
  const TrialResult result = run(config);
  for (const char* name : {"insert", "erase"}) {
    CHECK(operation(result, name)->count > 99'000);
    CHECK(operation(result, name)->succeeded == operation(result, name)->count);
  }
}

TEST_CASE("a trial of inserts fills an empty index and ends by itself") {
  Config config = small("insert");
  config.time_ns = 0;
  config.threads = 3;
  const TrialResult result = run(config);
  CAPTURE(result.reason);
  REQUIRE(result.status == Status::kOk);
  CHECK(result.throughput->operations == 20'000);
  CHECK(operation(result, "insert")->succeeded == 20'000);
  CHECK(result.throughput->ended_by == Ending::kRecords);
  std::vector<std::string> notes = result.health.notes;
  std::erase_if(notes, [](const std::string& note) { return note.starts_with("the load average"); });
  CHECK(notes == disturbances());
  CHECK(*result.validation.found_keys == 20'000);
}

TEST_CASE("an insert trial that ends by the wrong one of its two ends says so") {
  const auto note_of = [](u64 records, u64 time_ns, u64 ops, Ending expected) {
    Config config = small("insert");
    config.records = records;
    config.time_ns = time_ns;
    config.ops = ops;
    const TrialResult result = run(config);
    REQUIRE(result.throughput);
    CHECK(result.throughput->ended_by == expected);
    std::string notes;
    for (const std::string& note : result.health.notes) notes += note;
    return notes;
  };
  CHECK_THAT(note_of(100'000'000, 10'000'000, 0, Ending::kTime),
             Catch::Contains("--time=10ms ended the run") && Catch::Contains("of 100000000 records"));
  CHECK_THAT(note_of(1000, 3600'000'000'000, 0, Ending::kRecords),
             Catch::Contains("before the end that --time"));
  CHECK_THAT(note_of(1000, 0, 2000, Ending::kRecords), Catch::Contains("before the end that --ops"));
  CHECK_THAT(note_of(1000, 0, 500, Ending::kOperations), !Catch::Contains("before the end"));
}

/// Every find holds one lock and adds up how long, in time of its processor: a thread that waits for the
/// processor after the others have stopped lengthens the round by its share only. Its keys are long, so that
/// reading that clock is little beside a find, and making a step, which hashes the key, takes about as long
/// as a find, which does the same.
struct OneAtATime : Toy<std::string_view> {
  using Toy<std::string_view>::Toy;
  static inline std::atomic<u64> held{0};   // nanoseconds

  std::optional<u64> find(Thread&, std::string_view key) {
    while (latch_.exchange(true, kAcquire)) std::this_thread::yield();
    const u64 start = thread_time_ns().value();
    const u64 value = value_of(key, 0);
    held.store(held.load(kRelaxed) + thread_time_ns().value() - start, kRelaxed);
    latch_.store(false, kRelease);
    return value;
  }

 private:
  std::atomic<bool> latch_{false};
};

TEST_CASE("throughput is never more than an index can do whose operations exclude each other") {
  const Lines lines(100, 40'000);
  for (const u32 threads : {1U, 2U, 5U}) {
    Config config = small("lookup");
    config.keys = Spec{.name = "file", .arg = lines.path(), .options = {}};
    config.records = 100;
    config.threads = threads;
    config.warmup_ns = 0;
    config.time_ns = 0;
    config.ops = 10'000;   // not by time: on a loaded machine a thread may not run at all for some
    OneAtATime::held = 0;
    const TrialResult result = run_of<OneAtATime>(config);
    CAPTURE(threads, result.reason);
    REQUIRE(result.throughput);
    const Throughput& t = *result.throughput;
    const double held = static_cast<double>(OneAtATime::held.load()) / 1e9;
    CAPTURE(t.seconds, held, t.timed_share);
    // The seconds that count cannot be less than the sum of all times in the lock, of which verifying has a
    // part too; so the throughput is at most what one find after the other would give. (But for the few steps
    // in which one thread has stopped already: they are within the time that the lock changes hands.)
    CHECK(t.seconds >= held - seconds_of(result, "verify"));
    // With the making of steps it is what a watch beside the machine shows, or more where the phase had still
    // to begin.
    CHECK(t.per_second * t.timed_share * (1 + 1e-9) >=
          static_cast<double>(t.operations) / seconds_of(result, "measure"));
    CHECK(t.seconds <= seconds_of(result, "measure"));
    if (*result.placement.oversubscribed) CHECK(t.timed_share == 1);
  }
}

TEST_CASE("a trial of everything agrees with its tally") {
  Config config = small("mix:read=30,insert=20,update=10,upsert=10,erase=20,scan=10,scan_length=20");
  config.negative = .2;
  config.threads = 4;
  config.time_ns = 0;
  config.ops = 20'000;
  const TrialResult result = run(config);
  CAPTURE(result.reason);
  REQUIRE(result.status == Status::kOk);
  for (const char* kind : {"scan", "erase"}) {
    REQUIRE(operation(result, kind) != nullptr);
    CHECK(operation(result, kind)->succeeded > 0);
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

TEST_CASE("what an index does wrong makes its result invalid, with a reason") {
  const auto broken = [](Mistake mistake, std::string_view workload) {
    const Plant plant(mistake);
    Config config = small(workload);
    config.time_ns = 0;
    config.ops = 30'000;
    const TrialResult result = run(config);
    INFO(result.reason);
    CHECK(result.status == Status::kInvalid);
    return result.reason;
  };
  CHECK_THAT(broken(Mistake::kWrongValue, "lookup"), Catch::Contains("values of other keys"));
  CHECK_THAT(broken(Mistake::kMissedKey, "lookup"), Catch::Contains("missing"));
  CHECK_THAT(broken(Mistake::kLostInsert, "insert"), Catch::Contains("the tally says 20000"));
  CHECK_THAT(broken(Mistake::kSwappedKeys, "insert"), Catch::Contains("not the right ones"));
  CHECK_THAT(broken(Mistake::kDoubleErase, "mix:read=50,insert=25,erase=25"),
             Catch::Contains("the tally says"));
  CHECK_THAT(broken(Mistake::kBadScan, "mix:read=50,scan=50"), Catch::Contains("out of order"));
}

/// Keeps 32 bits of a key and 32 of a value, and mixes values up if it is told to.
class NarrowToy : public Toy<u64> {
 public:
  struct Options {
    Widths widths() const { return {.key = 32, .value = 32}; }
  };
  static inline u64 wrong_bits = 0;

  using Toy::Toy;
  std::optional<u64> find(Thread& me, u64 key) {
    auto found = Toy::find(me, static_cast<u32>(key));
    if (found) *found ^= wrong_bits;
    return found;
  }
  bool insert(Thread& me, u64 key, u64 value) { return Toy::insert(me, static_cast<u32>(key), static_cast<u32>(value)); }
  template <class Visit>
  void for_each(Thread& me, Visit&& visit) {
    Toy::for_each(me, [&](u64 key, u64 value) { visit(key, value ^ wrong_bits); });
  }
};

TEST_CASE("values of 32 bits are told apart too") {
  Config config = small("lookup");
  config.keys = Spec::parse("u32");
  config.widths = NarrowToy::Options().widths();
  CHECK(run_of<NarrowToy>(config).status == Status::kOk);
  NarrowToy::wrong_bits = u64{1} << 16;   // the lowest of the tag
  CHECK_THAT(run_of<NarrowToy>(config).reason, Catch::Contains("values of other keys"));
  config.workload = Spec::parse("insert");   // here only the check at the end looks
  CHECK_THAT(run_of<NarrowToy>(config).reason, Catch::Contains("hold values of other keys"));
  NarrowToy::wrong_bits = 0;
  CHECK(run_of<NarrowToy>(config).status == Status::kOk);
}

TEST_CASE("an index that cannot do what its options ask for is measured and said to be degraded") {
  Config config = small("lookup");
  config.index_degraded = "no such instructions";
  const TrialResult result = run(config);
  CHECK(result.status == Status::kDegraded);
  CHECK(result.reason == "no such instructions");
  CHECK(result.throughput);
}

TEST_CASE("a key that is in no record must not be found") {
  const Plant plant(Mistake::kPhantom);
  Config config = small("lookup");
  config.negative = .5;
  const TrialResult result = run(config);
  CHECK(result.status == Status::kInvalid);
  CHECK_THAT(result.reason, Catch::Contains("cannot be"));
}

TEST_CASE("mistakes in the measured loop count even when the index is not checked afterwards") {
  const Plant plant(Mistake::kWrongValue);
  Config config = small("lookup");
  config.records = 900;  // few enough for loading to pass
  config.validate = Validate::kOff;
  const TrialResult result = run(config);
  CHECK(result.status == Status::kInvalid);
  CHECK_FALSE(result.validation.passed);
  CHECK(result.validation.passed.reason == "--validate=off");
}

TEST_CASE("memory that runs out ends the run as failed, and what is there still agrees with the tally") {
  const Plant plant(Mistake::kNoMemory);
  for (const char* workload : {"insert", "lookup"}) {
    const TrialResult result = run(small(workload));
    INFO(result.reason);
    CHECK(result.status == Status::kFailed);
    CHECK_THAT(result.reason, Catch::Contains("memory ran out"));
    REQUIRE(result.validation.passed);
    CHECK(*result.validation.passed);
  }
}

TEST_CASE("an operation that memory ran out in may have counted, but only in an index with memory of its own") {
  const Plant plant(Mistake::kLateThrow);
  Config config = small("insert");
  CHECK(run(config).status == Status::kInvalid);
  config.own_memory = "it allocates itself";
  const TrialResult result = run(config);
  CHECK(result.status == Status::kFailed);
  CHECK_THAT(result.reason, Catch::Contains("memory ran out"));
  CHECK_FALSE(result.validation.passed.value.value_or(true));
}

TEST_CASE(
    "an interrupted run ends early and keeps what was measured, before the measured phase it has nothing") {
  // In a process of its own: a request to stop is for good.
  const auto child = [](bool before) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      if (before) request_stop();
      Config config = small("lookup");
      config.time_ns = 3600'000'000'000;
      StopOnceMeasured progress;
      const TrialResult result = run_of<Toy<u64>>(config, progress);
      const bool measured =
          result.throughput && result.throughput->operations > 0 && result.status == Status::kOk;
      ::_exit(!result.interrupted                                          ? 3
              : measured                                                   ? 0
              : result.status == Status::kFailed && !result.reason.empty() ? 1
                                                                           : 2);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  CHECK(child(false) == 0);
  CHECK(child(true) == 1);
}

TEST_CASE("the series has an interval for each sample and no partial one") {
  Config config = small("lookup");
  config.sample_ns = 10'000'000;
  // Whoever takes the samples may be kept from it for as long as the whole run lasts.
  std::size_t intervals = 0;
  for (config.time_ns = 60'000'000; intervals == 0 && config.time_ns < 60'000'000'000; config.time_ns *= 2) {
    const TrialResult result = run(config);
    REQUIRE(result.throughput);
    CHECK(result.throughput->interval_ns == 10'000'000);
    intervals = result.throughput->series.size();
    CHECK(static_cast<double>(intervals) <= seconds_of(result, "measure") / .010);
  }
  CHECK(intervals > 0);
}

/// Its first lookup of the measured phase lasts until the time of the phase is long over and somebody has
/// looked.
struct Late : Toy<u64> {
  using Toy<u64>::Toy;
  static inline std::atomic<u32> looks{0};
  static inline std::atomic<bool> measuring{false};

  std::optional<u64> find(Thread& me, u64 key) {
    if (measuring.exchange(false)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      for (const u32 seen = looks; looks < seen + 3;) std::this_thread::yield();
    }
    return Toy<u64>::find(me, key);
  }
};

class CountLooks final : public Progress {
 public:
  void begin(std::string_view phase, u64, u64) override { Late::measuring = phase == "measure"; }
  void advance(u64) override { ++Late::looks; }
  void end() override {}
  void title(std::string) override {}
};

TEST_CASE("time ends no phase before anything was done in it") {
  Config config = small("lookup");
  config.threads = 1;
  config.time_ns = 1'000'000;
  CountLooks progress;
  const TrialResult result = run_of<Late>(config, progress);
  REQUIRE(result.throughput);
  CHECK(result.throughput->operations >= kSliceSteps);   // with a stop in it the first slice would be cut
}

TEST_CASE("a result says how many keys the measured phase began with") {
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
  using Growth = std::pair<i64, i64>;   // of the warm-up, of the measured phase
  CHECK(start("lookup", 2'000'000) == Growth(0, 0));
  CHECK(start("insert", 0) == Growth(-20'000, 20'000));
  CHECK(start("mix:read=50,insert=50", 0).first == 0);
  const Growth growth = start("mix:read=50,insert=50", 2'000'000);
  CHECK(growth.first > 0);
  CHECK(growth.first + growth.second > growth.first);
}

struct Counted {
  u64 ops = 0;
  static constexpr auto fields() { return std::array{CounterField{"ops", &Counted::ops}}; }
};

/// Counts its lookups, but for one in a thousand when asked.
struct Counting : Toy<u64> {
  using Toy<u64>::Toy;
  struct Thread : Toy<u64>::Thread {
    Counted counters;
  };
  Thread join() { return {}; }
  std::optional<u64> find(Thread& me, u64 key) {
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
    const TrialResult result = run_of<Counting>(config);
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

struct Restarted {
  u64 ops = 0;
  u64 restarts = 0;
  static constexpr auto fields() {
    return std::array{CounterField{"ops", &Restarted::ops}, CounterField{"restarts", &Restarted::restarts}};
  }
};

/// As a scan does it: three operations of the policy for one of the workload, and one restart.
struct InThree : Toy<u64> {
  using Toy<u64>::Toy;
  struct Thread : Toy<u64>::Thread {
    Restarted counters;
  };
  Thread join() { return {}; }
  std::optional<u64> find(Thread& me, u64 key) {
    me.counters.ops += 3;
    ++me.counters.restarts;
    return Toy<u64>::find(me, key);
  }
};

TEST_CASE("rates are shares of the operations that the policy counted itself") {
  const TrialResult result = run_of<InThree>(small("lookup"));
  REQUIRE(result.sync.restart_rate);
  CHECK(*result.sync.restart_rate == Approx(1.0 / 3));
}

struct Forgetful : Toy<u64> {
  using Toy<u64>::Toy;
  struct Body {
    static constexpr bool kKeeps = false;
  };
};

TEST_CASE("an index that keeps nothing has no bytes, no keys and no limit") {
  const TrialResult result = run_of<Forgetful>(small("lookup"));
  REQUIRE(result.status == Status::kOk);
  CHECK(result.throughput);
  const auto check = [](const auto& measured) {
    CHECK_FALSE(measured);
    CHECK(measured.reason == "this index keeps nothing");
  };
  check(result.memory.index_live);
  check(result.memory.index_reserved);
  check(result.memory.keys);
  check(result.memory.bytes_per_key);
  check(result.limits.footprint);
  check(result.limits.chase_ns);
  check(result.limits.chase_ratio);
  check(result.limits.independent_ratio);
  check(result.validation.passed);
  check(result.validation.found_keys);
}

/// Its even keys are one node away and its odd ones three.
struct Visited : Toy<u64> {
  using Toy<u64>::Toy;
  u64 visits(Thread&, u64 key) { return key % 2 == 0 ? 1 : 3; }
};

TEST_CASE("nodes a lookup are those on the way of the workload's lookups, or missing for a reason") {
  const auto nodes = []<class Index>(std::type_identity<Index>, const std::string& workload) {
    return run_of<Index>(small(workload)).nodes_per_fetch;
  };
  const auto visited = std::type_identity<Visited>();
  const auto fetched = nodes(visited, "lookup");
  REQUIRE(fetched);
  CHECK(*fetched == Approx(2).margin(.2));   // keys are random
  CHECK(*nodes(visited, "mix:read=50,update=50") == Approx(2).margin(.2));
  CHECK(*nodes(visited, "mix:read=50,insert=25,erase=25") == Approx(2).margin(.2));
  CHECK(nodes(visited, "insert").reason == "the workload looks nothing up");
  CHECK(nodes(visited, "mix:update=100").reason == "the workload looks nothing up");
  CHECK(nodes(std::type_identity<Toy<u64>>(), "lookup").reason == "the index does not count the nodes that a lookup visits");
}

/// Counts the lookups that it may learn from, and the others.
struct Learning : Toy<u64> {
  using Toy<u64>::Toy;
  struct Watch {
    void sleep() { asleep = true; }
    bool asleep = false;
  };
  struct Thread : Toy<u64>::Thread {
    Watch watch;
  };
  static constexpr bool kLearns = true;
  static inline std::atomic<u64> seen, unseen;

  Thread join() { return {}; }
  std::optional<u64> find(Thread& me, u64 key) {
    (me.watch.asleep ? unseen : seen).fetch_add(1);
    return Toy<u64>::find(me, key);
  }
};

TEST_CASE("an index that learns from lookups learns from those of the workload, and from no checks") {
  Learning::seen = Learning::unseen = 0;
  const Config config = small("lookup");
  const TrialResult result = run_of<Learning>(config);
  REQUIRE(result.status == Status::kOk);
  CHECK(Learning::unseen == config.records);   // each is looked at after loading
  CHECK(Learning::seen >= result.throughput->operations);
}

TEST_CASE("keys in messages are printable") {
  CHECK(shown(u64{17}) == "17");
  CHECK(shown(std::string_view("a\n\x01z")) == "\"a\\x0a\\x01z\"");
  CHECK(shown(std::string(100, 'x')) == "\"" + std::string(64, 'x') + "\"...");
}

}  // namespace
}  // namespace latchlab
