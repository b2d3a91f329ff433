// Timed calls of the index: which calls are timed, how long they took, and what happened in them.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "harness/loop/latency.h"
#include "harness/loop/runner_of.h"
#include "harness/loop/toy_index_testing.h"
#include "harness/loop/trial.h"
#include "harness/trial/trial_testing.h"
#include "src/testing/catch.h"
#include "sync/own.h"
#include "sync/rtm_counters.h"

namespace latchlab {
namespace {

using testing::rate_of;
using testing::run_of;
using testing::small;
using toy::Toy;

const OperationLatency* latency_of(const TrialResult& result, std::string_view operation) {
  for (const OperationLatency& of : result.latency->operations) {
    if (of.name == operation) return &of;
  }
  return nullptr;
}
u64 counted(const OrReason<std::vector<NamedCount>>& counts, std::string_view name) {
  for (const NamedCount& c : *counts) {
    if (c.name == name) return c.count;
  }
  return 0;
}

TEST_CASE("without --latency no call is timed, and the result names the option") {
  const TrialResult result = run_of<Toy<u64>>(small("lookup"));
  CHECK_FALSE(result.latency);
  CHECK(result.latency.reason == "single calls are timed with --latency");
}

TEST_CASE("with --latency=all every operation of the measured phase is timed under its kind") {
  Config config = small("mix:read=70,update=20,modify=10");
  config.latency_every = 1;
  const TrialResult result = run_of<Toy<u64>>(config);
  REQUIRE(result.latency);
  CHECK(result.latency->all.count == result.throughput->operations);
  REQUIRE(result.latency->operations.size() == 3);
  for (const char* kind : {"read", "update", "modify"}) {
    INFO(kind);
    REQUIRE(latency_of(result, kind) != nullptr);
    CHECK(latency_of(result, kind)->summary.count == rate_of(result, kind)->count);
  }
  u64 in_buckets = 0;
  for (const auto& [ns, calls] : result.latency->all.histogram) in_buckets += calls;
  CHECK(in_buckets == result.latency->all.count);
  CHECK(result.latency->all.min_ns <= result.latency->all.percentiles.front().ns);
}

TEST_CASE("with a sample one call in N is timed, however slices and stops cut the requests") {
  Config config = small("lookup");
  config.latency_every = 10;
  config.time_ns = 0;
  config.ops = 12'345;
  config.threads = 1;
  const TrialResult result = run_of<Toy<u64>>(config);
  REQUIRE(result.latency);
  CHECK(result.latency->all.count == 1234);
  CHECK(result.latency->all.percentiles.back().percent == 99.9);  // one call lies beyond it, none beyond 99.99
}

TEST_CASE("a result says what share of the threads' time timed calls took, and what that cost") {
  Config config = small("lookup");
  config.latency_every = 10;
  config.threads = 2;
  const TrialResult result = run_of<Toy<u64>>(config);
  REQUIRE(result.latency);
  const LatencySummary& all = result.latency->all;
  CHECK(result.latency->share_of_time ==
        std::min(1.0, static_cast<double>(all.count) * all.mean_ns / (result.throughput->seconds * 2e9)));
  const auto says_so = [](const std::string& note) { return note.starts_with("timed calls overlap with no others"); };
  CHECK(std::ranges::count_if(result.health.notes, says_so) == 1);
}

TEST_CASE("a sample of one call in N times none if there are fewer than N") {
  Config config = small("lookup");
  config.latency_every = 10'000;
  config.time_ns = 0;
  config.ops = 500;
  const TrialResult result = run_of<Toy<u64>>(config);
  CHECK_FALSE(result.latency);
  CHECK_THAT(result.latency.reason, Catch::StartsWith("no call was timed"));
}

TEST_CASE("a runner times each n-th call alone, and cuts its blocks there") {
  Toy<u64> index(Spec::parse("own"), {});
  const std::vector<Request> requests(100);
  for (const u32 keys : {1u, 4u}) {
    CAPTURE(keys);
    RunnerOf<Toy<u64>> session(index, {.keys = keys}, 64, wall_clock());
    Latencies latencies(5, keys, wall_clock());
    const std::atomic<bool> stop{false};
    Tally tally;
    u64 timed = 0;
    for (u32 done = 0; done < 100; done += keys) {
      const Slice slice{.requests = &requests[done], .count = keys, .only = OpKind::kRead};
      CHECK(session.run(slice, stop, tally, kStopRequests, &latencies) == keys);
      timed += (done / keys) % 5 == 4;
      CHECK(latencies.kinds()[0].ns.count() == timed);
    }
    CHECK(tally.operations() == 100);
    const Slice whole{.requests = requests.data(), .count = 100, .only = OpKind::kRead};
    CHECK(session.run(whole, stop, tally, kStopRequests, &latencies) == 100);
    CHECK(latencies.kinds()[0].ns.count() == 2 * timed);
  }
}

constexpr u64 kNapNs = 300'000;

struct CountingPolicy : Own {
  static constexpr bool kElides = true;
};

/// An index in which every 50th update falls back after an abort, and takes long.
struct Falling : Toy<u64> {
  using Toy<u64>::Toy;
  using Policy = CountingPolicy;
  struct ThreadState : Toy<u64>::ThreadState {
    RtmCounters counters;
    u64 updates = 0;
  };
  ThreadState join() { return {}; }
  std::optional<u64> find(ThreadState& me, u64 key) {
    commit(me);
    return Toy<u64>::find(me, key);
  }
  bool update(ThreadState& me, u64 key, u64 value) {
    if (++me.updates % 50 == 0) {
      ++me.counters.ops, ++me.counters.begins, me.counters.abort(kAbortConflict), ++me.counters.fallbacks;
      testing::VirtualTeam::spend(kNapNs);
    } else {
      commit(me);
    }
    return Toy<u64>::update(me, key, value);
  }
  static void commit(ThreadState& me) { ++me.counters.ops, ++me.counters.begins, ++me.counters.commits; }
};

TEST_CASE("calls that fell back are reported apart, and aborts by kind of operation") {
  Config config = small("mix:read=60,update=40");
  config.latency_every = 1;
  const TrialResult result = run_of<Falling>(config);
  CAPTURE(result.reason);
  REQUIRE(result.status == Status::kOk);
  REQUIRE(result.latency);
  const u64 fallbacks = counted(result.sync.counters, "fallbacks");
  REQUIRE(fallbacks > 0);
  REQUIRE(result.latency->fell_back);
  const LatencySummary& fell_back = *result.latency->fell_back;
  CHECK(fell_back.count == fallbacks);
  CHECK(fell_back.min_ns >= kNapNs);
  CHECK(fell_back.max_ns < kNapNs + 2000);  // the operation itself, and reading the clock
  const OperationLatency &reads = *latency_of(result, "read"), &updates = *latency_of(result, "update");
  CHECK(*reads.fallbacks == 0);
  CHECK(*updates.fallbacks == fallbacks);
  CHECK(counted(reads.aborts, "conflict") == 0);
  CHECK(counted(updates.aborts, "conflict") == fallbacks);
  CHECK(counted(updates.aborts, "zero") == 0);
  // One update in fifty lies between the 90th and the 99th percentile.
  CHECK(updates.summary.percentiles[0].percent == 50);
  CHECK(updates.summary.percentiles[0].ns < updates.summary.max_ns);
  REQUIRE(updates.summary.percentiles.size() > 2);
  CHECK(updates.summary.percentiles[2].percent == 99);
  CHECK(updates.summary.percentiles[2].ns >= 300'000);
}

TEST_CASE("aborts and fallbacks are reported for each thread and each interval") {
  Config config = small("mix:read=60,update=40");
  const TrialResult result = run_of<Falling>(config);
  REQUIRE(result.sync.per_thread);
  REQUIRE(result.sync.per_thread->size() == 2);
  for (const char* name : {"ops", "fallbacks"}) {
    u64 sum = 0;
    for (const SyncStats::Counts& counts : *result.sync.per_thread) sum += counted(counts, name);
    CHECK(sum == counted(result.sync.counters, name));
  }
  u64 conflicts = 0;
  for (const SyncStats::Counts& counts : *result.sync.per_thread) conflicts += counted(counts, "conflict");
  CHECK(conflicts == counted(result.sync.aborts, "conflict"));
  REQUIRE(result.sync.series);
  REQUIRE(result.sync.series->size() == 2);  // the policy counts no restarts
  for (const SyncStats::Series& series : *result.sync.series) {
    INFO(series.first);
    CHECK(series.second.size() <= result.throughput->series.size());
    for (const double rate : series.second)
      CHECK(rate <= .1);  // 40 % of the operations are updates, and one update in fifty falls back
    CHECK(std::ranges::any_of(series.second, [](double rate) { return rate > 0; }));
  }
  const TrialResult none = run_of<Toy<u64>>(small("mix:read=60,update=40"));
  CHECK_FALSE(none.sync.per_thread);
  CHECK(none.sync.series.reason == "the policy counts nothing of the kind");
}

}  // namespace
}  // namespace latchlab
