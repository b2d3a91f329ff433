// Increments in a run: by an operation of the index's own or by a modify, one by one, in batches, recorded and in a
// station.
#include <atomic>
#include <span>
#include <string_view>
#include <vector>

#include "harness/loop/toy_index_testing.h"
#include "harness/trial/trial_testing.h"
#include "src/base/batching.h"
#include "src/testing/catch.h"
#include "workloads/value.h"

namespace latchlab {
namespace {

using testing::rate_of;
using testing::run_of;
using testing::small;
using toy::Mistake;
using toy::Plant;
using toy::Toy;

constexpr std::size_t kIncrement = static_cast<std::size_t>(OpKind::kIncrement);

Config counted_increments(std::string_view workload) {
  Config config = small(workload);
  config.time_ns = 0;
  config.warmup_ns = 0;
  config.ops = 30'000;
  return config;
}

/// A toy that increments by operations of its own, as a server does. It may lose one in a thousand.
struct ByItself : Toy<u64> {
  using Toy<u64>::Toy;
  Found increment(ThreadState& me, u64 key) {
    ++singles;
    return add_one(me, key);
  }
  void increment_batch(ThreadState& me, std::span<const u64> keys, std::span<Found> after, BatchOrder) {
    ++batches;
    for (std::size_t i = 0; i < keys.size(); ++i) after[i] = add_one(me, keys[i]);
  }
  static inline std::atomic<u64> singles, batches;

 private:
  Found add_one(ThreadState& me, u64 key) {
    const u64 add = toy::strikes(Mistake::kLostUpdate, 1000) ? 0 : 1;
    const Found before = modify(me, key, [add](const Found& is) noexcept { return is ? Found(*is + add) : is; }).before;
    return before ? Found(*before + 1) : before;
  }
};

/// A toy that modifies in batches.
struct ModifiesBatches : Toy<u64> {
  using Toy<u64>::Toy;
  void modify_batch(ThreadState& me, std::span<const u64> keys, std::span<Modified> modified, const auto& f,
                    BatchOrder) {
    for (std::size_t i = 0; i < keys.size(); ++i)
      modified[i] = modify(me, keys[i], [&](const Found& before) noexcept { return f(i, before); });
  }
};

constexpr u64 kPresent = 16;

/// Increments the keys 0 to 19 once, of which 16 are there with values of stamp 1. Returns how many got stamp 2.
template <class Index>
u64 with_next_stamp(const Batching& batch, Tally& tally) {
  Index index(Spec::parse("own"), {});
  auto me = index.join();
  for (u64 key = 0; key < kPresent; ++key) index.insert(me, key, value_of(key, 1));
  std::vector<Request> requests;
  for (u64 key = 0; key < kPresent + 4; ++key) {
    requests.push_back({.number = key,
                        .value = value_of(key, 77),  // only its tag counts
                        .kind = OpKind::kIncrement,
                        .expect = key < kPresent ? Expect::kHit : Expect::kMiss});
  }
  RunnerOf<Index> runner(index, batch, 64, wall_clock());
  const Slice slice{.requests = requests.data(), .count = kPresent + 4, .only = OpKind::kIncrement};
  const std::atomic<bool> stop{false};
  CHECK(runner.run(slice, stop, tally, kStopRequests, nullptr) == kPresent + 4);
  u64 keys = 0, all = 0;
  index.for_each(me, [&](u64 key, u64 value) { ++all, keys += value == value_of(key, 2); });
  CHECK(all == kPresent);
  return keys;
}

TEST_CASE("an increment adds one to the stamp of a value, and leaves an absent key absent", "[trial][batch]") {
  for (const u32 keys : {1u, 4u, 32u}) {
    CAPTURE(keys);
    const Batching batch{.keys = keys, .order = BatchOrder::kInTurn};
    for (const auto& run : {with_next_stamp<Toy<u64>>, with_next_stamp<ModifiesBatches>, with_next_stamp<ByItself>}) {
      Tally tally;
      CHECK(run(batch, tally) == kPresent);
      CHECK(tally.count[kIncrement] == kPresent + 4);
      CHECK(tally.succeeded[kIncrement] == kPresent);
      CHECK(tally.operations() == kPresent + 4);
      CHECK(tally.errors() == 0);
    }
  }
}

TEST_CASE("an index that increments by itself does so, by one call a batch", "[trial][batch]") {
  Config config = counted_increments("mix:increment=100");
  ByItself::singles = ByItself::batches = 0;
  CHECK(run_of<ByItself>(config).status == Status::kOk);
  CHECK(ByItself::singles == config.ops);
  ByItself::singles = 0;
  config.batch = {.keys = 16, .order = BatchOrder::kInTurn};
  CHECK(run_of<ByItself>(config).status == Status::kOk);
  CHECK(ByItself::singles == 0);
  CHECK(ByItself::batches == config.ops / 16);
}

TEST_CASE("recorded increments are those of the run, and are linearizable", "[trial]") {
  Config config = counted_increments("mix:read=30,increment=40,insert=10,erase=10,modify=10");
  config.records = 64;  // so that many meet
  config.validate = Validate::kHistory;
  config.history = Recording{.file = "", .keys = {.one_in = 1}, .calls = 0};
  ByItself::singles = 0;
  for (const TrialResult& result : {run_of<Toy<u64>>(config), run_of<ByItself>(config)}) {
    INFO(result.reason);
    CHECK(result.status == Status::kOk);
    REQUIRE(result.history);
    CHECK(result.history->linearizable.value == true);
    CHECK(rate_of(result, "increment")->succeeded > 5'000);
  }
  CHECK(ByItself::singles > 10'000);
}

TEST_CASE("a history finds increments that were lost", "[trial]") {
  const Plant plant(Mistake::kLostUpdate);
  Config config = counted_increments("mix:increment=100");
  config.records = 16;
  config.validate = Validate::kHistory;
  config.history = Recording{.file = "", .keys = {.one_in = 1}, .calls = 0};
  const TrialResult result = run_of<ByItself>(config);
  CHECK(result.status == Status::kInvalid);
  REQUIRE(result.history);
  CHECK(result.history->linearizable.value == false);
}

TEST_CASE("a wrong value or a miss of an increment makes the result invalid", "[trial]") {
  for (const Mistake mistake : {Mistake::kWrongValue, Mistake::kMissedKey}) {
    const Plant plant(mistake);
    Config config = counted_increments("mix:increment=100");
    config.records = 900;  // fewer than 1000, so that verifying them meets no mistake
    CHECK(run_of<Toy<u64>>(config).status == Status::kInvalid);
    CHECK(run_of<ByItself>(config).status == Status::kInvalid);
  }
}

}  // namespace
}  // namespace latchlab
