// Runs in an open loop. How late operations are depends on the machine; their counts do not.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "harness/host/interrupt.h"
#include "harness/loop/latency.h"
#include "harness/loop/toy_index_testing.h"
#include "harness/loop/trial.h"
#include "harness/trial/latency_account.h"
#include "harness/trial/trial_testing.h"
#include "src/testing/catch.h"
#include "workloads/trace.h"

namespace latchlab {
namespace {

using testing::rate_of;
using testing::run_of;
using testing::small;
using toy::Mistake;
using toy::Plant;
using toy::Toy;

Config open(std::string_view workload, std::string_view rate) {
  Config config = small(workload);
  config.rate = Rate::parse(rate);
  config.latency_every = 1;
  return config;
}

TEST_CASE("in an open loop every operation has a response time, which is at least its own time") {
  for (const char* rate : {"20k", "poisson:20k", "sine:20k,period=10ms"}) {
    CAPTURE(rate);
    const TrialResult result = run_of<Toy<u64>>(open("mix:read=70,update=30", rate));
    CAPTURE(result.reason);
    REQUIRE(result.latency);
    REQUIRE(result.latency->response);
    CHECK(result.latency->response->count == result.throughput->operations);
    CHECK(result.latency->all.count == result.throughput->operations);
    CHECK(result.latency->response->mean_ns >= result.latency->all.mean_ns);
    CHECK(result.latency->response->min_ns >= result.latency->all.min_ns);
    for (const OperationLatency& of : result.latency->operations) {
      REQUIRE(of.response);
      CHECK(of.response->count == rate_of(result, of.name)->count);
    }
    REQUIRE(result.offer);
    // Operations that had not begun within the time were not done. The mean of the sine is over whole periods.
    CHECK(result.throughput->operations < 20'000);
    CHECK(result.offer->per_second <= 30'000);
    CHECK(*result.offer->arrivals >= result.throughput->operations);
    CHECK(result.offer->lag.largest <= result.latency->response->max_ns);
    CHECK(result.validation.passed);
    CHECK_FALSE(result.limits.chase_ratio);
  }
}

TEST_CASE("an open loop with a number of operations ends when the last one has come and is done") {
  Config config = open("lookup", "20k");
  config.time_ns = 0;
  config.ops = 777;
  config.threads = 3;
  const TrialResult result = run_of<Toy<u64>>(config);
  CAPTURE(result.reason);
  CHECK(result.throughput->operations == 777);
  CHECK(result.throughput->ended_by == Ending::kOperations);
  CHECK(result.latency->response->count == 777);
  // As many operations came as were done, however unevenly they were dealt: a thread that has none left waits for none.
  // More would come only while a thread runs its last one.
  const double came = result.offer->per_second * result.throughput->seconds;
  CHECK(came > 777 - 3);
  CHECK(came < 777 + 3 + 20'000e-9 * static_cast<double>(result.latency->response->max_ns));
  CHECK(*result.offer->arrivals == 777);
  // A thread runs up to 512 operations that it claimed, each when it is due. The thread with the most needs at least
  // 60 us for each.
  CHECK(result.throughput->seconds >= 777.0 / 20'000 - 3.0 / 20'000);
}

TEST_CASE("an open loop inserts all records, and replaces them as they come") {
  Config inserts = open("insert", "poisson:1M");
  inserts.records = 3000;
  inserts.time_ns = inserts.warmup_ns = 0;
  const TrialResult filled = run_of<Toy<u64>>(inserts);
  CAPTURE(filled.reason);
  CHECK(filled.throughput->operations == 3000);
  CHECK(filled.throughput->ended_by == Ending::kRecords);
  CHECK(*filled.validation.found_keys == 3000);
  Config config = open("mix:read=50,insert=25,erase=25", "50k");
  config.records = 500;  // each thread claims one slice at a time
  const TrialResult moved = run_of<Toy<u64>>(config);
  CAPTURE(moved.reason);
  CHECK(moved.status < Status::kFailed);
  CHECK(*moved.validation.passed);
}

TEST_CASE(
    "a closed loop has no response times and no offered load, with a reason, and an open loop may leave latencies "
    "out") {
  Config config = small("lookup");
  config.latency_every = 10;
  const TrialResult closed = run_of<Toy<u64>>(config);
  CHECK_FALSE(closed.offer);
  CHECK(closed.offer.reason == kClosedLoop);
  CHECK_FALSE(closed.latency->response);
  CHECK(closed.latency->response.reason == kClosedLoop);
  CHECK_FALSE(closed.latency->operations.front().response);
  config.rate = Rate::parse("10k");
  config.latency_every = 0;
  const TrialResult untimed = run_of<Toy<u64>>(config);
  CHECK_FALSE(untimed.latency);
  CHECK(untimed.latency.reason == kUntimed);
  REQUIRE(untimed.offer);
  config.latency_every = 7;
  config.threads = 1;
  config.time_ns = 0;
  config.ops = 100;
  CHECK(run_of<Toy<u64>>(config).latency->response->count == 14);
}

/// An index whose lookups take 300 us.
struct Slow : Toy<u64> {
  using Toy<u64>::Toy;
  std::optional<u64> find(ThreadState& me, u64 key) {
    testing::VirtualTeam::spend(300'000);
    return Toy<u64>::find(me, key);
  }
};

TEST_CASE("a rate that threads cannot keep up with degrades the run, with the rates that came and that were done") {
  Config config = open("lookup", "100k");
  config.records = 10;  // which are verified one by one
  config.time_ns = 60'000'000;
  const TrialResult result = run_of<Slow>(config);
  CHECK(result.status == Status::kDegraded);
  CHECK_THAT(result.reason, Catch::StartsWith("the threads could not keep up with the rate: "));
  CHECK_THAT(result.reason, Catch::Contains(" were done, and at the end one was "));
  REQUIRE(result.offer);
  CHECK(result.offer->late);
  // All operations that came by the end, one every 10 us, were done or waited.
  CHECK(*result.offer->arrivals == 6000);
  CHECK(result.offer->per_second * result.throughput->seconds == Approx(6000));
  CHECK(result.throughput->per_second < 7000);
  // A thread that does an operation every 300 us instead of every 20 us is late by nearly all of the time.
  CHECK(result.offer->lag.at_end > 50'000'000);
  CHECK(result.latency->response->max_ns > 40'000'000);
}

TEST_CASE("a search finds the highest rate that keeps a bound, and the result has the numbers of the last try") {
  struct Bound {
    const char* slo;
    RateSearch::Answer answer;
  };
  // A minute is longer than the run; a nanosecond is shorter than a call.
  using enum RateSearch::Answer;
  for (const auto& [slo, answer] : {Bound{"p50:1min", kAllKeep}, {"p50:1ns", kNoneKeeps}}) {
    CAPTURE(slo);
    Config config = small("lookup");
    config.records = 10;
    config.threads = 1;
    config.time_ns = 0;
    config.ops = 20;
    config.latency_every = 1;
    config.slo = Slo::parse(slo);
    const TrialResult result = run_of<Toy<u64>>(config);
    CAPTURE(result.reason);
    REQUIRE(result.slo);
    const std::vector<SloSearch::Try>& tries = result.slo->tries;
    CHECK(tries.size() >= 5);
    for (const SloSearch::Try& one : tries) CHECK(one.kept == (answer == RateSearch::Answer::kAllKeep && !one.late));
    CHECK(result.slo->answer == answer);
    CHECK((result.status == Status::kOk) == (result.slo->answer == kAllKeep || result.slo->answer == kFound));
    CHECK(result.throughput->operations == 20);
    CHECK(result.latency->response->count == 20);
    CHECK(result.throughput->per_second == Approx(tries.back().served));
    for (const SloSearch::Try& one : tries) CHECK(*one.offered == Approx(one.served));  // all 20 were done
    CHECK(result.latency->response->percentiles.front().ns == *tries.back().response_ns);
    // The phase ends slightly after the last arrival.
    CHECK(*result.offer->arrivals == 20);
    CHECK(result.offer->per_second > 0);
    CHECK(result.offer->per_second <= 1.0001 * static_cast<double>(tries.back().per_second));
    const std::vector<std::string> phases = testing::phases_of(result);
    CHECK(std::count(phases.begin(), phases.end(), "closed") == 1);
    CHECK(static_cast<std::size_t>(std::count(phases.begin(), phases.end(), "try")) == tries.size());
  }
}

TEST_CASE("threads finish their parts of a trace together, however uneven the parts are") {
  const std::string path = "/tmp/latchlab_arrivals_test_" + std::to_string(::getpid());
  TraceWriter writer;
  for (u64 i = 0; i < 1100; ++i) writer.add(0, i % 11 == 0 ? "key " + std::to_string(i) : "popular", OpKind::kRead, 8);
  writer.write(path, false);
  Config config = open("lookup", "20k");
  config.workload = Spec{.name = "trace", .arg = path, .options = {}};
  config.keys = config.workload;
  config.records = 101;
  config.warmup_ns = config.time_ns = 0;
  const TrialResult result = run_of<Toy<std::string_view>>(config);
  std::remove(path.c_str());
  CAPTURE(result.reason);
  REQUIRE(result.throughput);
  CHECK(result.throughput->operations == 1100);
  // The last operation is due after 55 ms. At half of the rate, the thread with the popular key's thousand operations
  // would need 100 ms. How long an operation waits depends on the machine.
  const double waited = static_cast<double>(result.latency->response->max_ns) / 1e9;
  CHECK(result.throughput->seconds < .055 + waited + .02);
  CHECK(result.offer->per_second * result.throughput->seconds < 1100 + 20'000 * waited + 3);
}

/// Returns a run that inserts until there is no room; a Plant makes the index full after a hundred inserts.
Config filling() {
  Config config = open("mix:read=50,insert=50", "200k");
  config.records = 4900;
  config.warmup_ns = 0;
  config.time_ns = 5'000'000'000;
  return config;
}

TEST_CASE("an open loop in which memory runs out counts all operations that were done") {
  Plant plant(Mistake::kNoMemory);
  const TrialResult result = run_of<Toy<u64>>(filling());
  CHECK(result.status == Status::kFailed);
  REQUIRE(result.throughput);
  u64 done = 0;
  for (const OperationRate& rate : result.throughput->per_operation) done += rate.count;
  CHECK(done == result.throughput->operations);
  CHECK(done == result.latency->all.count);
}

TEST_CASE("a search during which the index gets full has no answer, and says so") {
  Plant plant(Mistake::kFull);
  Config config = open("mix:read=50,insert=50", "1");
  config.rate.reset();
  config.slo = Slo::parse("p50:1min");
  config.records = 4900;
  config.warmup_ns = config.time_ns = 0;
  config.threads = 1;
  config.ops = 60;  // room for a closed loop and about two tries
  const TrialResult result = run_of<Toy<u64>>(config);
  CHECK(result.status == Status::kDegraded);
  CHECK_THAT(result.reason,
             Catch::StartsWith("the search for --slo=p50:1min has no answer: the index was full after "));
  REQUIRE(result.slo);
  CHECK(result.slo->answer == RateSearch::Answer::kUnfinished);
  CHECK(result.slo->tries.size() >= 2);
  for (const SloSearch::Try& one : result.slo->tries) CHECK(one.cut == (&one == &result.slo->tries.back()));
  CHECK_FALSE(result.slo->tries.back().kept);
  CHECK(result.throughput->ended_by == Ending::kFull);
  config.ops = 600;  // room for a part of the closed loop
  const TrialResult untried = run_of<Toy<u64>>(config);
  CHECK(untried.status == Status::kDegraded);
  CHECK(untried.slo.reason == "no rate was tried");
}

/// An index that interrupts the run at a lookup of the measured phase.
struct Stopping : Toy<u64> {
  using Toy<u64>::Toy;
  static inline u64 left = ~u64{0};
  std::optional<u64> find(ThreadState& me, u64 key) {
    if (--left == 0) request_stop();
    return Toy<u64>::find(me, key);
  }
};

TEST_CASE("an interrupted search keeps the tries that were made") {
  const auto child = [](u64 lookups) {
    const pid_t pid = ::fork();  // a request to stop cannot be taken back
    if (pid == 0) {
      Config config = open("lookup", "1");
      config.rate.reset();
      config.slo = Slo::parse("p50:1min");
      config.records = 10;  // which are verified one by one
      config.warmup_ns = config.time_ns = 0;
      config.threads = 1;
      config.ops = 100;
      Stopping::left = lookups;
      const TrialResult result = run_of<Stopping>(config);
      if (!result.interrupted || !result.slo || result.status != Status::kDegraded) ::_exit(101);
      const std::vector<SloSearch::Try>& tries = result.slo->tries;
      if (result.slo->answer != RateSearch::Answer::kUnfinished || tries.back().kept || !tries.back().cut) ::_exit(102);
      if (!result.throughput || result.throughput->ended_by != Ending::kSignal) ::_exit(103);
      ::_exit(static_cast<int>(tries.size()));
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  CHECK(child(10 + 100 + 50) == 1);
  CHECK(child(10 + 100 + 250) == 3);
}

TEST_CASE("a full index ends an open loop") {
  Plant plant(Mistake::kFull);
  const TrialResult result = run_of<Toy<u64>>(filling());
  CHECK(result.throughput->ended_by == Ending::kFull);
  CHECK(result.throughput->operations < 10'000);
}

}  // namespace
}  // namespace latchlab
