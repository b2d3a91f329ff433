// Runs with payloads outside the index (payloads.h).
#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "harness/host/environment.h"
#include "harness/host/limits.h"
#include "harness/loop/toy_index_testing.h"
#include "harness/text/progress_lines.h"
#include "harness/trial/run_trial.h"
#include "harness/trial/trial_testing.h"
#include "src/memory/numa.h"
#include "src/memory/page_source.h"
#include "src/testing/catch.h"
#include "sync/own.h"

namespace latchlab {
namespace {

using testing::phases_of;
using testing::plan_of;
using testing::rate_of;
using testing::run_of;
using testing::small;
using toy::Toy;

Plan with_payloads(std::string_view workload) {
  Config config = small(workload);
  config.value_size = 136;
  Plan plan = plan_of(config);
  plan.payloads = 2 * config.records;
  return plan;
}

/// A toy that also takes batches.
struct BatchedPayloads : Toy<u64> {
  using Toy<u64>::Toy;
  void find_batch(ThreadState& me, std::span<const u64> keys, std::span<std::optional<u64>> found, BatchOrder) {
    for (std::size_t i = 0; i < keys.size(); ++i) found[i] = find(me, keys[i]);
  }
  void insert_batch(ThreadState& me, std::span<const u64> keys, std::span<const u64> values, std::span<bool> changed,
                    BatchOrder) {
    for (std::size_t i = 0; i < keys.size(); ++i) changed[i] = insert(me, keys[i], values[i]);
  }
  void update_batch(ThreadState& me, std::span<const u64> keys, std::span<const u64> values, std::span<bool> changed,
                    BatchOrder) {
    for (std::size_t i = 0; i < keys.size(); ++i) changed[i] = update(me, keys[i], values[i]);
  }
  void erase_batch(ThreadState& me, std::span<const u64> keys, std::span<bool> changed, BatchOrder) {
    for (std::size_t i = 0; i < keys.size(); ++i) changed[i] = erase(me, keys[i]);
  }
  void modify_batch(ThreadState& me, std::span<const u64> keys, std::span<Modified> modified, const auto& f,
                    BatchOrder) {
    for (std::size_t i = 0; i < keys.size(); ++i)
      modified[i] = modify(me, keys[i], [&](const Found& before) noexcept { return f(i, before); });
  }
};

/// A trial that holds the keys 1 to 8, with one wrong word in each of their payloads.
template <class Index = BatchedPayloads>
class Spoilt {
 public:
  explicit Spoilt(u32 batch) : trial_(plan(batch)), session_(trial_.runner(wall_clock())) {
    trial_.payloads()->fill(0, 1, {});
    run(OpKind::kInsert, 1, 8);
    for (u64 key = 1; key <= kKeys; ++key) words_of(key)[3] ^= 8;
  }
  /// Runs one operation on each of `count` keys from `first` on.
  Tally run(OpKind kind, u64 first, u64 count) {
    std::vector<Request> requests;
    for (u64 key = first; key < first + count; ++key) {
      requests.push_back({.number = key, .value = value_of(key, 5), .limit = 3, .kind = kind});
    }
    const Slice slice{.requests = requests.data(), .count = static_cast<u32>(count), .only = kind};
    Tally tally;
    CHECK(session_->run(slice, stop_, tally, kStopRequests, nullptr) == count);
    CHECK(tally.operations() == count);
    return tally;
  }
  /// Looks all keys up by one multi-get.
  Tally multi_get() {
    std::vector<Request> gets;
    for (u64 key = 1; key <= kKeys; ++key) gets.push_back({.number = key, .value = value_of(key, 5)});
    const Request request{.number = 0, .limit = kKeys, .kind = OpKind::kMultiGet};
    Tally tally;
    CHECK(session_->run({.requests = &request, .count = 1, .only = {}, .gets = gets.data()}, stop_, tally,
                        kStopRequests, nullptr) == 1);
    return tally;
  }
  std::span<u64> words_of(u64 key) { return trial_.payloads()->words_of(value_of(key, 0)); }
  /// Returns how many of the payloads of keys 1 to 8 are right.
  u64 right() {
    u64 right = 0;
    for (u64 key = 1; key <= kKeys; ++key) right += trial_.payloads()->read(value_of(key, 0));
    return right;
  }

 private:
  static constexpr u64 kKeys = 8;
  static Plan plan(u32 batch) {
    Plan plan = with_payloads("lookup");
    plan.payloads = 10'000;  // enough places that no two of the keys share one
    plan.config.batch.keys = batch;
    return plan;
  }
  TrialOf<Index> trial_;
  std::unique_ptr<Runner> session_;
  const std::atomic<bool> stop_{false};
};

TEST_CASE("an operation that finds a key reads its whole payload, and one that writes a key writes it", "[trial]") {
  struct Case {
    OpKind kind;
    u64 wrong;  // mistakes of 8 operations on 8 keys
    u64 right;  // right payloads afterwards
  };
  for (const auto& [kind, wrong, right] :
       {Case{OpKind::kRead, 8, 0}, Case{OpKind::kRmw, 8, 8}, Case{OpKind::kModify, 8, 8}, Case{OpKind::kUpdate, 0, 8},
        Case{OpKind::kUpsert, 0, 8}, Case{OpKind::kErase, 0, 0},
        Case{OpKind::kInsert, 0, 0},  // the keys are in the index
        Case{OpKind::kScan, 6 * 3 + 2 + 1, 0}}) {
    CAPTURE(kWords<OpKind>[static_cast<std::size_t>(kind)]);
    Spoilt<> spoilt(1);
    CHECK(spoilt.run(kind, 1, 8).wrong_values == wrong);
    CHECK(spoilt.right() == right);
  }
  Spoilt<> spoilt(1);
  spoilt.run(OpKind::kErase, 1, 3);
  CHECK(spoilt.run(OpKind::kInsert, 1, 5).succeeded[static_cast<std::size_t>(OpKind::kInsert)] == 3);
  CHECK(spoilt.right() == 3);
  CHECK(spoilt.run(OpKind::kRead, 100, 8).wrong_values == 0);  // no key is found
  spoilt.run(OpKind::kUpdate, 100, 8);
  CHECK(spoilt.run(OpKind::kModify, 100, 8).wrong_values == 0);
  CHECK(spoilt.right() == 3);
}

TEST_CASE("batches read and write the payloads of their keys", "[trial]") {
  for (const auto& [kind, wrong, right] :
       {std::tuple(OpKind::kRead, 8u, 0u), std::tuple(OpKind::kUpdate, 0u, 8u), std::tuple(OpKind::kModify, 8u, 8u),
        std::tuple(OpKind::kErase, 0u, 0u), std::tuple(OpKind::kInsert, 0u, 0u)}) {
    CAPTURE(kWords<OpKind>[static_cast<std::size_t>(kind)]);
    Spoilt<> spoilt(4);
    CHECK(spoilt.run(kind, 1, 8).wrong_values == wrong);
    CHECK(spoilt.right() == right);
  }
  Spoilt<> spoilt(4);
  spoilt.run(OpKind::kErase, 1, 3);
  spoilt.run(OpKind::kInsert, 1, 5);
  CHECK(spoilt.right() == 3);
  CHECK(spoilt.run(OpKind::kModify, 100, 8).wrong_values == 0);
  CHECK(spoilt.right() == 3);
}

bool says_another_loop(const TrialResult& result) {
  return std::ranges::any_of(result.health.notes, [](const std::string& note) {
    return note.ends_with("a ratio to --value-size=8 includes that");
  });
}

TEST_CASE("a run with payloads fills them, uses them and reports their size", "[trial]") {
  const TrialResult result =
      run_of<Toy<u64>>(with_payloads("mix:read=30,insert=10,update=10,upsert=10,erase=10,scan=10,rmw=10,modify=10"));
  CAPTURE(result.reason);
  CHECK(result.status == Status::kOk);
  CHECK(phases_of(result)[0] == "payloads");
  CHECK(phases_of(result)[1] == "load");
  REQUIRE(result.memory.payload);
  CHECK(*result.memory.payload == 40'000 * 136);
  CHECK(says_another_loop(result));
  for (const char* operation : {"read", "insert", "update", "upsert", "erase", "scan", "rmw", "modify"}) {
    CAPTURE(operation);
    CHECK(rate_of(result, operation) != nullptr);
  }
  CHECK(*result.limits.footprint == limits_footprint(*result.memory.index_reserved + 40'000 * 136, available_memory()));
}

/// An index whose lookups corrupt the first place.
struct Spoiling : Toy<u64> {
  using Toy<u64>::Toy;
  std::optional<u64> find(ThreadState& me, u64 key) {
    payloads->words_of(0)[5] = 0;
    return Toy<u64>::find(me, key);
  }
  static inline Payloads* payloads = nullptr;
};

TEST_CASE("batches use the same loop with payloads, so there is no note about another loop", "[trial]") {
  Plan plan = with_payloads("lookup");
  plan.config.batch.keys = 4;
  CHECK_FALSE(says_another_loop(run_of<BatchedPayloads>(plan)));
}

TEST_CASE("a wrong payload makes a run invalid", "[trial]") {
  Plan plan = with_payloads("lookup");
  plan.config.threads = 1;
  plan.seats = seat(Topology::discover(), plan.config);
  plan.payloads = 10;
  TrialOf<Spoiling> trial(plan);
  Spoiling::payloads = trial.payloads();
  testing::VirtualTeam team;
  const Topology topology = Topology::discover();
  const TrialResult result =
      document(plan, topology, run_trial(trial, plan, topology, team, *make_progress(ProgressMode::kNone)));
  CHECK(result.status == Status::kInvalid);
  CHECK_THAT(result.reason, Catch::Contains("wrong payloads were read"));
}

/// A machine with pages of its own.
struct CountedMachine {
  class Pages final : public PageSource {
   public:
    bool grants_huge_pages() override { return system_pages().grants_huge_pages(); }
    Mapping map(u64 bytes, bool huge, const PagePlacement& placement) override {
      mapped += bytes;
      return system_pages().map(bytes, huge, placement);
    }
    void populate(void* start, u64 bytes) override { system_pages().populate(start, bytes); }
    void unmap(void* start, u64 bytes) override {
      mapped -= bytes;
      system_pages().unmap(start, bytes);
    }
    void* reserve(u64 bytes) override { return system_pages().reserve(bytes); }
    bool commit(void* start, u64 bytes, bool huge, const PagePlacement& placement) override {
      return system_pages().commit(start, bytes, huge, placement);
    }
    u64 mapped = 0;
  };
  static PageSource* pages() {
    static Pages all;
    return &all;
  }
};
struct OnCountedMachine : Toy<u64> {
  using Toy<u64>::Toy;
  struct Policy : Own {
    using Machine = CountedMachine;
  };
};

TEST_CASE("payloads are in pages of the trial's machine, or of the system if the machine has none", "[trial]") {
  const Plan plan = with_payloads("lookup");
  const u64& mapped = static_cast<CountedMachine::Pages*>(CountedMachine::pages())->mapped;
  {
    const TrialOf<OnCountedMachine> trial(plan);
    CHECK(mapped >= plan.payload_bytes());
    const u64 before = mapped;
    CHECK(TrialOf<Toy<u64>>(plan).payloads() != nullptr);
    CHECK(mapped == before);
  }
  CHECK(mapped == 0);
}

TEST_CASE("a run whose index keeps the values has no payloads", "[trial]") {
  const Config config = small("lookup");
  CHECK(TrialOf<Toy<u64>>(plan_of(config)).payloads() == nullptr);
  const TrialResult result = run_of<Toy<u64>>(config);
  CHECK(phases_of(result)[0] == "load");
  CHECK_FALSE(result.memory.payload);
  CHECK(result.memory.payload.reason == "values are in the index: --value-size=8");
  CHECK_FALSE(says_another_loop(result));
  CHECK(*result.limits.footprint == limits_footprint(*result.memory.index_reserved, available_memory()));
}

TEST_CASE("the index's memory limit excludes the payloads", "[trial]") {
  Plan plan = with_payloads("lookup");
  const u64 before = memory_config_of(plan_of(small("lookup"))).limit;
  plan.payloads = before / 2 / plan.config.value_size;
  CHECK(memory_config_of(plan).limit < before * 3 / 4);
  plan.payloads = 2 * before / plan.config.value_size;
  CHECK(memory_config_of(plan).limit == 1);
}

TEST_CASE("a multi-get reads the payloads of all its keys, with batches or without", "[trial][multi-get]") {
  CHECK(Spoilt<BatchedPayloads>(1).multi_get().wrong_values == 8);
  CHECK(Spoilt<Toy<u64>>(1).multi_get().wrong_values == 8);
}

}  // namespace
}  // namespace latchlab
