// Multi-gets in a run: calls of the index, counts, and detected mistakes.
#include <algorithm>
#include <atomic>
#include <optional>
#include <span>

#include "harness/loop/toy_index_testing.h"
#include "harness/trial/trial_testing.h"
#include "src/base/batching.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using testing::rate_of;
using testing::run_of;
using testing::small;
using toy::Mistake;
using toy::Plant;
using toy::Toy;

std::atomic<u64> calls, keys_of_calls, other_calls;

struct Batched : Toy<u64> {
  using Toy<u64>::Toy;
  void find_batch(ThreadState& me, std::span<const u64> keys, std::span<std::optional<u64>> found, BatchOrder) {
    calls += keys.size() == 5;
    other_calls += keys.size() != 5;
    keys_of_calls += keys.size();
    for (std::size_t i = 0; i < keys.size(); ++i) found[i] = find(me, keys[i]);
  }
};

TEST_CASE("a multi-get is one call of the index and one operation", "[multi-get]") {
  calls = keys_of_calls = other_calls = 0;
  Config config = small("mix:multi_get=40,update=60,multi_get_keys=5");
  config.ops = 100'000;
  config.warmup_ns = 0;
  config.time_ns = 0;
  const TrialResult result = run_of<Batched>(config);
  REQUIRE(result.status == Status::kOk);
  CHECK(result.throughput->operations == config.ops);
  const OperationRate* const rate = rate_of(result, "multi_get");
  REQUIRE(rate);
  CHECK(rate->count == calls);
  CHECK(other_calls == 0);
  CHECK(std::abs(static_cast<double>(rate->count) - 40'000) <= 256);  // whole blocks, except the last
  CHECK(rate->keys == 5 * rate->count);
  CHECK(rate->found == rate->keys);
  CHECK(rate->succeeded == rate->count);
  CHECK_FALSE(rate_of(result, "read"));
  CHECK(rate_of(result, "update")->keys == 0);
}

TEST_CASE("without batches the keys of a multi-get are looked up one after the other", "[multi-get]") {
  Config config = small("mix:multi_get=40,update=60,multi_get_keys=5");
  config.ops = 10'000;
  config.time_ns = 0;
  const TrialResult result = run_of<Toy<u64>>(config);
  REQUIRE(result.status == Status::kOk);
  CHECK(rate_of(result, "multi_get")->found == 5 * rate_of(result, "multi_get")->count);
  const std::string note = "toy takes no batches: the keys of a multi-get are looked up by a call each";
  CHECK(std::ranges::count(result.health.notes, note) == 1);
  CHECK(std::ranges::count(run_of<Batched>(config).health.notes, note) == 0);
  config.workload = Spec::parse("lookup");
  CHECK(std::ranges::count(run_of<Toy<u64>>(config).health.notes, note) == 0);
}

TEST_CASE("a wrong or missing value in a multi-get makes the run invalid", "[multi-get]") {
  for (const Mistake mistake : {Mistake::kWrongValue, Mistake::kMissedKey}) {
    const Plant plant(mistake);
    Config config = small("mix:multi_get=100");
    config.records = 900;  // fewer than 1000, so that verifying them meets no mistake
    config.warmup_ns = 0;
    config.time_ns = 0;
    config.ops = 1'000;
    const TrialResult result = run_of<Batched>(config);
    CHECK(result.status == Status::kInvalid);
    REQUIRE(result.throughput);
    CHECK(result.throughput->operations == 1'000);
  }
}

TEST_CASE("a multi-get that misses one key has not succeeded", "[multi-get]") {
  Config config = small("mix:multi_get=50,erase=50,multi_get_keys=2");
  config.threads = 1;
  config.warmup_ns = 0;
  config.time_ns = 0;
  config.ops = 30'000;  // 15'000 of 20'000 records are erased, the oldest first
  const TrialResult result = run_of<Batched>(config);
  REQUIRE(result.status == Status::kOk);
  const OperationRate* const rate = rate_of(result, "multi_get");
  REQUIRE(rate);
  CHECK(rate->found < rate->keys);
  CHECK(rate->found > rate->succeeded * 2);  // often only one of the two keys is found
}

TEST_CASE("a timed multi-get is one call, also in an open loop", "[multi-get]") {
  Config config = small("mix:multi_get=100,multi_get_keys=5");
  config.latency_every = 1;
  config.ops = 5'000;
  config.time_ns = 0;
  const TrialResult closed = run_of<Batched>(config);
  REQUIRE(closed.latency);
  CHECK(closed.latency->all.count == config.ops);
  CHECK(*closed.latency->per_key_ns == Approx(closed.latency->all.mean_ns / 5));
  config.rate = Rate{.per_second = 100'000};
  const TrialResult open = run_of<Batched>(config);
  REQUIRE(open.throughput);
  CHECK(open.throughput->operations == config.ops);
  CHECK(rate_of(open, "multi_get")->keys == 5 * config.ops);
}

TEST_CASE("there is no time a key if calls have different numbers of keys", "[multi-get]") {
  const auto per_key = [](const char* workload) {
    Config config = small(workload);
    config.latency_every = 1;
    config.ops = 2'000;
    config.time_ns = 0;
    return run_of<Batched>(config).latency->per_key_ns;
  };
  CHECK(per_key("mix:multi_get=50,read=50").reason == "multi-gets have several keys, and other timed calls one");
  CHECK(per_key("mix:scan=50,read=50").reason == "a scan has as many keys as it finds");
  CHECK(per_key("mix:update=50,read=50"));
}

}  // namespace
}  // namespace latchlab
