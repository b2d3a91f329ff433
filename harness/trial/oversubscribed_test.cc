// Trials with more threads than processors, where a request may take as long as the time slices of all other threads.
#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/host/placement.h"
#include "harness/loop/runner_of.h"
#include "harness/loop/toy_index_testing.h"
#include "harness/loop/trial.h"
#include "harness/trial/trial_testing.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using testing::Lines;
using testing::run_of;
using testing::small;
using toy::Toy;

/// Puts that many threads on one processor, the current one.
Config crowded(Config config, u32 threads) {
  config.threads = threads;
  config.pin = Pin{.kind = Pin::Kind::kList, .numbers = {this_cpu().value_or(0)}, .text = "one"};
  return config;
}

TEST_CASE("more threads than processors finish, and the result says so") {
  const Config config = crowded(small("mix:read=80,update=20"), 8);
  const TrialResult result = run_of<Toy<u64>>(config);
  CAPTURE(result.reason);
  CHECK(result.status == Status::kOk);
  CHECK(*result.placement.oversubscribed);
  CHECK(result.throughput->timed_share == 1);
  CHECK(*result.placement.processors == 1);
  CHECK(result.throughput->per_thread.size() == 8);
}

/// An index that does nothing, so that a run spends its time making requests.
struct Idle : Toy<std::string_view> {
  using Toy<std::string_view>::Toy;
  struct Body {
    static constexpr bool kKeeps = false;
  };
  std::optional<u64> find(ThreadState&, std::string_view) { return std::nullopt; }
};

/// An index whose lookups are slow in the measured phase: the few that follow its end take longer than the phase.
struct Sluggish : Toy<u64> {
  using Toy<u64>::Toy;
  std::optional<u64> find(ThreadState& me, u64 key) {
    testing::VirtualTeam::spend(10'000'000);
    return Toy<u64>::find(me, key);
  }
};

TEST_CASE("with more threads than processors a thread looks at the stop flag after each slow request") {
  Config config = small("lookup");
  config.records = 8;
  config.warmup_ns = 0;
  config.time_ns = 20'000'000;
  config = crowded(config, 4);
  const TrialResult result = run_of<Sluggish>(config);
  REQUIRE(result.throughput);
  CHECK(result.throughput->ended_by == Ending::kTime);
  CHECK(result.throughput->operations < u64{kStopRequests} * config.threads);
}

/// An index that counts its lookups, and the pieces into which their loop is cut.
struct Looped : Toy<u64> {
  using Toy<u64>::Toy;
  static inline std::atomic<u64> lookups, pieces;
  struct ThreadState : Toy<u64>::ThreadState {
    template <class Loop>
    void decide(const Loop& loop) {
      pieces.fetch_add(1);
      loop(*this);
    }
  };
  struct Body {
    static constexpr bool kKeeps = false;
  };
  ThreadState join() { return {}; }
  std::optional<u64> find(ThreadState, u64) {
    testing::VirtualTeam::spend(10);
    lookups.fetch_add(1);
    return std::nullopt;
  }
};

TEST_CASE("with more threads than processors quick lookups stay in their loop") {
  Config config = crowded(small("lookup"), 4);
  config.time_ns = 0;
  config.ops = 200'000;
  Looped::lookups = Looped::pieces = 0;
  const TrialResult result = run_of<Looped>(config);
  CAPTURE(result.reason);
  REQUIRE(*result.placement.oversubscribed);
  CHECK(Looped::lookups > 8 * Looped::pieces);
}

TEST_CASE("a thread looks at the stop flag at each slow request, and rarely between quick ones") {
  CHECK(requests_between_looks(10'000'000, 1) == 1);
  CHECK(requests_between_looks(50'001 * 256, 256) == 1);
  CHECK(requests_between_looks(5'000 * 256, 256) == 8);
  CHECK(requests_between_looks(200 * 256, 256) == kStopRequests);
  CHECK(requests_between_looks(0, 256) == kStopRequests);
}

/// An index that stops its runner at the third lookup.
struct Stopping : Toy<u64> {
  using Toy<u64>::Toy;
  static inline std::atomic<bool> stop;
  static inline u32 lookups = 0;
  std::optional<u64> find(ThreadState& me, u64 key) {
    stop = ++lookups == 3 || stop;
    return Toy<u64>::find(me, key);
  }
};

TEST_CASE("a runner looks at the stop flag after the given number of requests") {
  Stopping index(Spec::parse("own"), {});
  const std::vector<Request> requests(kStopRequests);
  const auto ran = [&](u32 stop_requests, const Batching& batch) {
    RunnerOf<Stopping> session(index, batch, 64, wall_clock());
    Stopping::stop = false;
    Stopping::lookups = 0;
    Tally tally;
    const Slice slice{.requests = requests.data(), .count = kStopRequests, .only = OpKind::kRead};
    const u32 done = session.run(slice, Stopping::stop, tally, stop_requests, nullptr);
    CHECK(Stopping::lookups == done);
    CHECK(tally.operations() == done);
    return done;
  };
  CHECK(ran(1, {}) == 3);
  CHECK(ran(2, {}) == 4);
  CHECK(ran(kStopRequests, {}) == kStopRequests);
  CHECK(ran(1, {.keys = 16}) == 16);  // a batch is not cut, although this index looks up its keys one by one
}

TEST_CASE("with more threads than processors the seconds that count include making requests", "[realtime]") {
  const Lines lines(100, 4000);
  Config config = small("lookup");
  config.keys = Spec{.name = "file", .arg = lines.path(), .options = {}};
  config.records = 100;
  config.warmup_ns = config.time_ns = 0;
  config.ops = u64{config.threads} * kRoundRequests;  // each thread makes requests once, and runs them all
  config = crowded(config, config.threads);
  const TrialResult result = testing::run_on_threads<Idle>(config);
  CAPTURE(result.reason);
  REQUIRE(result.throughput);
  for (const std::string& note : result.health.notes) {
    if (note != "the kernel refuses to pin threads") continue;
    WARN("skipped: " << note);
    return;
  }
  const Throughput& t = *result.throughput;
  REQUIRE(*result.placement.oversubscribed);
  CHECK(t.timed_share == 1);
  REQUIRE(t.generator_ns);
  // One processor cannot spend more time on making requests than passes. (The two clocks may differ in their rate.)
  CHECK(t.seconds * 1e9 >= .99 * *t.generator_ns * static_cast<double>(t.operations));
}

}  // namespace
}  // namespace latchlab
