// Modifies in a run: what they store, how they are counted, and how batches of them are called.
#include <atomic>
#include <new>
#include <span>
#include <string>
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

constexpr std::size_t kModify = static_cast<std::size_t>(OpKind::kModify);

Config counted(std::string_view workload) {
  Config config = small(workload);
  config.time_ns = 0;
  config.ops = 30'000;
  return config;
}

/// An index whose updates and lookups must not be called, since a modify is one call.
struct OneStep : Toy<u64> {
  using Toy<u64>::Toy;
  bool update(ThreadState&, u64, u64) { return ++others, false; }
  bool upsert(ThreadState&, u64, u64) { return ++others, false; }
  Modified modify(ThreadState& me, u64 key, const auto& f) { return ++modifies, Toy<u64>::modify(me, key, f); }
  static inline std::atomic<u64> modifies, others;
};

TEST_CASE("a modify is one call of the index, and the run is checked as one of updates is", "[trial]") {
  OneStep::modifies = OneStep::others = 0;
  Config config = counted("mix:read=50,modify=50");
  config.warmup_ns = 0;
  const TrialResult result = run_of<OneStep>(config);
  CAPTURE(result.reason);
  CHECK(result.status == Status::kOk);
  CHECK(*result.validation.passed);
  CHECK(*result.validation.found_keys == config.records);
  REQUIRE(rate_of(result, "modify") != nullptr);
  CHECK(rate_of(result, "modify")->count == Approx(15'000).margin(256));
  CHECK(rate_of(result, "modify")->succeeded == rate_of(result, "modify")->count);
  CHECK(OneStep::modifies == rate_of(result, "modify")->count);
  CHECK(OneStep::others == 0);
  CHECK(rate_of(result, "update") == nullptr);
}

TEST_CASE("keys of bytes are modified, too", "[trial]") {
  const testing::Lines lines(2000);
  Config config = counted("mix:read=50,modify=50");
  config.keys = Spec{.name = "file", .arg = lines.path(), .options = {}};
  config.records = 2000;
  const TrialResult result = run_of<Toy<std::string_view>>(config);
  CAPTURE(result.reason);
  CHECK(result.status == Status::kOk);
  CHECK(rate_of(result, "modify")->succeeded == rate_of(result, "modify")->count);
}

TEST_CASE("a modify of an absent key leaves it absent, and has not succeeded", "[trial]") {
  const TrialResult result = run_of<Toy<u64>>(counted("mix:modify=50,erase=50"));  // in the end most keys are gone
  CAPTURE(result.reason);
  CHECK(result.status == Status::kOk);
  const OperationRate& modifies = *rate_of(result, "modify");
  CHECK(modifies.succeeded > 0);
  CHECK(modifies.succeeded < modifies.count);
}

/// An index that keeps nothing, and answers a modify with a value of no key, as null does.
struct KeepsNothing : Toy<u64> {
  using Toy<u64>::Toy;
  struct Body {
    static constexpr bool kKeeps = false;
  };
  Modified modify(ThreadState&, u64, const auto&) {
    testing::VirtualTeam::spend(toy::kOperationNs);
    return {.before = 0, .after = 0};
  }
};

TEST_CASE("the values that an index which keeps nothing has modified are not checked", "[trial]") {
  KeepsNothing index(Spec::parse("own"), {});
  RunnerOf<KeepsNothing> runner(index, {.keys = 1}, 64, wall_clock());
  const std::vector<Request> requests(10, {.number = 7, .value = value_of(u64{7}, 1), .kind = OpKind::kModify});
  const std::atomic<bool> stop{false};
  Tally tally;
  CHECK(runner.run({.requests = requests.data(), .count = 10, .only = {}}, stop, tally, kStopRequests, nullptr) == 10);
  CHECK(tally.succeeded[kModify] == 10);
  CHECK(tally.errors() == 0);
}

TEST_CASE("a wrong value or a miss of a modify makes the result invalid", "[trial]") {
  for (const u32 threads : {1, 2}) {
    Config config = counted("mix:modify=100");
    config.records = 900;  // fewer than 1000, so that verifying them meets no mistake
    config.threads = threads;
    {
      const Plant plant(Mistake::kWrongValue);
      const TrialResult result = run_of<Toy<u64>>(config);
      CHECK(result.status == Status::kInvalid);
      CHECK_THAT(result.reason, Catch::Contains("values of other keys"));
    }
    const Plant plant(Mistake::kMissedKey);
    const TrialResult result = run_of<Toy<u64>>(config);
    CHECK(result.status == Status::kInvalid);
    CHECK_THAT(result.reason, Catch::Contains("missing"));
  }
}

/// A toy that takes batches of modifies, and may run out of memory in the middle of one.
struct InBatches : Toy<u64> {
  using Toy<u64>::Toy;
  void modify_batch(ThreadState& me, std::span<const u64> keys, std::span<Modified> modified, const auto& f,
                    BatchOrder order) {
    ++calls;
    asked = order;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (i == throws_at) throw std::bad_alloc();
      modified[i] = modify(me, keys[i], [&](const Found& before) noexcept { return f(i, before); });
    }
  }
  static inline u64 calls = 0;
  static inline u64 throws_at = ~u64{0};
  static inline BatchOrder asked = BatchOrder::kAuto;
};

/// The runner of an index that has the keys 0 to 15, with the values of stamp 1.
class Filled {
 public:
  explicit Filled(const Batching& batch) : runner_(index_, batch, 64, wall_clock()) {
    InBatches::calls = 0;
    auto me = index_.join();
    for (u64 key = 0; key < kKeys; ++key) index_.insert(me, key, value_of(key, 1));
  }
  /// Modifies `count` keys from 0 on with values of stamp 2. Returns how many requests were run.
  u32 modify(u32 count) {
    std::vector<Request> requests;
    for (u64 key = 0; key < count; ++key) {
      requests.push_back({.number = key,
                          .value = value_of(key, 2),
                          .kind = OpKind::kModify,
                          .expect = key < kKeys ? Expect::kHit : Expect::kEither});
    }
    const Slice slice{.requests = requests.data(), .count = count, .only = OpKind::kModify};
    const std::atomic<bool> stop{false};
    return runner_.run(slice, stop, tally_, kStopRequests, nullptr);
  }
  [[nodiscard]] const Tally& tally() const { return tally_; }
  /// Returns the keys that have the value of this stamp.
  [[nodiscard]] u64 with_stamp(u64 stamp) {
    u64 keys = 0;
    auto me = index_.join();
    index_.for_each(me, [&](u64 key, u64 value) { keys += value == value_of(key, stamp); });
    return keys;
  }

 private:
  static constexpr u64 kKeys = 16;
  InBatches index_{Spec::parse("own"), {}};
  RunnerOf<InBatches> runner_;
  Tally tally_;
};

TEST_CASE("a modify stores what an update would, one by one or by one call a batch", "[trial][batch]") {
  for (const BatchOrder order : {BatchOrder::kSideBySide, BatchOrder::kInTurn}) {
    for (const u32 keys : {1u, 4u, 8u}) {
      CAPTURE(keys);
      Filled filled({.keys = keys, .order = order});
      CHECK(filled.modify(20) == 20);
      CHECK(InBatches::calls == (keys == 1 ? 0 : (20 + keys - 1) / keys));
      if (keys > 1) CHECK(InBatches::asked == order);
      CHECK(filled.tally().count[kModify] == 20);
      CHECK(filled.tally().succeeded[kModify] == 16);
      CHECK(filled.tally().operations() == 20);
      CHECK(filled.tally().errors() == 0);
      CHECK(filled.tally().checksum == 0);
      CHECK(filled.tally().keys() == 0);
      CHECK(filled.with_stamp(2) == 16);  // and four keys have stayed absent
      CHECK(filled.with_stamp(1) == 0);
    }
  }
}

TEST_CASE("when memory runs out in a batch of modifies, those before it count", "[trial][batch]") {
  Filled filled({.keys = 8, .order = BatchOrder::kSideBySide});
  InBatches::throws_at = 5;
  CHECK_THROWS_AS(filled.modify(16), std::bad_alloc);
  InBatches::throws_at = ~u64{0};
  CHECK(filled.tally().count[kModify] == 5);
  CHECK(filled.tally().succeeded[kModify] == 5);
  CHECK(filled.tally().errors() == 0);
  CHECK(filled.with_stamp(2) == 5);
}

TEST_CASE("a wrong value in a batch of modifies is seen", "[trial][batch]") {
  const Plant plant(Mistake::kWrongValue);
  Filled filled({.keys = 8, .order = BatchOrder::kSideBySide});
  for (u32 i = 0; i < 100; ++i) filled.modify(16);
  CHECK(filled.tally().wrong_values == 1);
}

}  // namespace
}  // namespace latchlab
