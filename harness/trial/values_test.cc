// Runs with values of other sizes than a word (--value-size).
#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include "harness/host/environment.h"
#include "harness/host/limits.h"
#include "harness/host/native_team.h"
#include "harness/host/topology.h"
#include "harness/loop/sized_trial.h"
#include "harness/loop/stamped.h"
#include "harness/loop/trial_of.h"
#include "harness/loop/words.h"
#include "harness/text/progress_lines.h"
#include "harness/trial/account.h"
#include "harness/trial/run_trial.h"
#include "harness/trial/trial_testing.h"
#include "indexes/chained/chained.h"
#include "src/machine/native.h"
#include "src/history/history_file.h"
#include "src/testing/catch.h"
#include "src/testing/temporary_file.h"
#include "sync/olc.h"
#include "sync/synchronized.h"
#include "workloads/value.h"

namespace latchlab {
namespace {

using testing::plan_of;
using testing::small;
using Map = Synchronized<Chained, Olc<Native>, U64Key>;

/// A run over a chained table with values of so many bytes.
Plan sized_plan(std::string_view workload, u32 bytes) {
  Config config = small(workload);
  config.index = Spec::parse("chained");
  config.sync = Spec::parse("olc");
  config.value_size = bytes;
  Plan plan = plan_of(config);
  plan.widths.value = checked_bits(bytes);
  return plan;
}

TrialResult run_sized(const Plan& plan) {
  NativeTeam team;
  const MemoryConfig memory = memory_config_of(plan);
  const auto trial = sized_trial(std::make_unique<TrialOf<Map>>(plan, memory), plan, memory);
  const Topology topology = Topology::discover();
  return document(plan, topology, run_trial(*trial, plan, topology, team, *make_progress(ProgressMode::kNone)));
}

TEST_CASE("a run whose values lie in two memories tells where they were read", "[trial]") {
  Plan plan = sized_plan("mix:read=80,update=20", 300);
  plan.config.records = 20'000;
  plan.config.near = 2 << 20;
  plan.config.far = MediumOptions::parse("model:cxl,size=64Mi", "--far");
  const TrialResult result = run_sized(plan);
  INFO(result.reason);
  CHECK(result.validation.passed.value == true);
  REQUIRE(result.memory.far);
  const TwoMemories& far = *result.memory.far;
  CHECK(far.medium == "modelled");
  CHECK(far.rule == "near-first,promote=1");
  CHECK(*result.memory.values_reserved <= *far.near_limit);
  CHECK(far.live > 10'000 * 300);
  CHECK(*far.far_reads > 0);
  CHECK(*far.far_bytes_read == 300 * *far.far_reads);
  CHECK(*far.far_bytes_written == 300 * *far.far_writes);
  CHECK(*far.promotions > 0);
  const double near = static_cast<double>(*far.near_reads);
  CHECK(*far.near_share == near / (near + static_cast<double>(*far.far_reads)));
  // A transfer waits for its latency, but for the time by which waits of this machine last too long.
  CHECK(*far.latency_ns > 0);
  CHECK(*far.preset_latency_ns == 200);
  CHECK_FALSE(run_sized(sized_plan("lookup", 300)).memory.far);
}

TEST_CASE("a number and the value that stands for it", "[stamped]") {
  for (const std::size_t bytes : {0, 1, 7, 8, 9, 15, 16, 100, 4096}) {
    std::vector<std::byte> value(bytes);
    const u64 number = value_of(u64{77}, 5, checked_bits(static_cast<u32>(bytes)));
    stamped::write(value, number);
    CHECK(stamped::read(value) == number);
    // A wrong byte behind the first word shows as a number with another tag.
    for (std::size_t at = 8; at < bytes; at += 1 + bytes / 50) {
      value[at] ^= std::byte{4};
      CHECK_FALSE(tag_matches(u64{77}, stamped::read(value)));
      value[at] ^= std::byte{4};
    }
  }
}

TEST_CASE("a run with values of any size checks them, and tells their bytes apart from those of the index", "[trial]") {
  for (const u32 bytes : {0u, 5u, 9u, 300u}) {
    const Plan plan = sized_plan("mix:read=30,update=20,insert=10,upsert=10,erase=10,modify=20", bytes);
    const TrialResult result = run_sized(plan);
    INFO(bytes << " bytes: " << result.reason);
    CHECK(result.validation.passed.value == true);
    CHECK_FALSE(result.throughput->per_operation.empty());
    REQUIRE(result.memory.values_live);
    const u64 keys = *result.memory.keys;
    if (bytes < 8) {
      CHECK(*result.memory.values_live == 0);
    } else {
      CHECK(*result.memory.values_live >= keys * (bytes + 8));
      CHECK(*result.memory.values_live < keys * (bytes + 8 + 128) + 2'000'000);  // and what waits to be freed
    }
    CHECK(*result.memory.bytes_per_key < 100);
    CHECK(*result.limits.footprint ==
          limits_footprint(*result.memory.index_reserved + *result.memory.values_reserved, available_memory()));
    REQUIRE(result.sync.reclaim);
  }
}

TEST_CASE("recorded calls say which sized value they removed", "[trial]") {
  const TemporaryFile file("");
  Plan plan = sized_plan("mix:read=20,update=20,insert=15,upsert=15,erase=20,modify=10", 100);
  plan.config.records = 500;
  plan.config.history = Recording{.file = file.path(), .keys = {.one_in = 1}, .calls = 0};
  plan.config.validate = Validate::kHistory;
  const TrialResult result = run_sized(plan);
  INFO(result.reason);
  REQUIRE(result.history);
  CHECK(result.history->linearizable.value == true);
  u64 removals = 0, wrong = 0;
  for (const auto& [key, call] : read_history(file.path())) {
    const bool removes = call.kind != CallKind::kFind && call.kind != CallKind::kInsert && call.was_there();
    wrong += call.has_returned() && call.was.has_value() != removes;
    removals += removes;
  }
  CHECK(wrong == 0);
  CHECK(removals > 100);
}

TEST_CASE("a run that only reads sized values tells what it would take without them", "[trial]") {
  for (const u32 batch : {1u, 16u}) {
    Plan plan = sized_plan("lookup", 100);
    plan.config.batch.keys = batch;
    const TrialResult result = run_sized(plan);
    REQUIRE(result.limits.words_ns);
    CHECK(*result.limits.words_ns > 0);
    CHECK(result.limits.value_lines.value == 2);
    CHECK(result.validation.passed.value == true);
  }
  const TrialResult changes = run_sized(sized_plan("mix:read=50,update=50", 100));
  CHECK(changes.limits.words_ns.reason == "the workload also changes the index");
  Config config = small("lookup");
  config.index = Spec::parse("chained");
  config.sync = Spec::parse("olc");
  CHECK(testing::run_on_threads<Map>(plan_of(config)).limits.words_ns.reason ==
        "values are in the index: --value-size=8");
}

TEST_CASE("the index and the values of a run share one limit", "[trial]") {
  const Plan plan = sized_plan("lookup", 300);
  MemoryConfig memory = memory_config_of(plan);
  CHECK(memory.limit.bytes() > u64{1} << 20);
  memory.limit = u64{2} << 20;
  const auto trial = sized_trial(std::make_unique<TrialOf<Map>>(plan, memory), plan, memory);
  const auto session = trial->join();
  u64 inserted = 0;
  const auto fill = [&] {
    for (;; ++inserted) {
      const ErasedKey key(inserted);
      bool done = false;
      session->put(Put::kInsert, std::span(&key, 1), std::span(&inserted, 1), std::span(&done, 1), BatchOrder::kInTurn);
      REQUIRE(done);
    }
  };
  CHECK_THROWS_AS(fill(), std::bad_alloc);
  CHECK(inserted > 1000);
  CHECK(memory.limit.charged() <= memory.limit.bytes());
  CHECK(trial->bytes().reserved + trial->value_bytes()->reserved == memory.limit.charged());
}

TEST_CASE("a lookup that reads no value says only whether the key is there", "[stamped]") {
  TrialOf<Map> words(Spec::parse("olc"), MemoryConfig{}, Spec::parse("chained"));
  Stamped<Words<u64>> index(MemoryConfig{}, 100, words);
  auto me = index.join();
  CHECK(index.insert(me, 7, 42));
  CHECK(index.find(me, 7) == 42);
  index.read_no_values();
  CHECK(index.find(me, 7) == 0);
  CHECK_FALSE(index.find(me, 8));
  std::vector<Found> found(2);
  index.find_batch(me, std::vector<u64>{8, 7}, found);
  CHECK_FALSE(found[0]);
  CHECK(found[1] == 0);
}

}  // namespace
}  // namespace latchlab
