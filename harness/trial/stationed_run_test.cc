// Runs whose batches meet in a reservation station: contents, counts, and detected mistakes.
#include <string>
#include <string_view>

#include "harness/loop/toy_index_testing.h"
#include "harness/trial/trial_testing.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using testing::rate_of;
using testing::run_of;
using testing::small;
using toy::Mistake;
using toy::Plant;
using toy::Toy;

Config stationed(std::string_view workload, const StationOptions& station) {
  Config config = small(workload);
  config.ops = 20'000;
  config.time_ns = 0;
  config.batch = {.keys = 64, .order = BatchOrder::kInTurn};
  config.station = station;
  return config;
}

TEST_CASE("the operations of a batch meet in a station, and the contents are right", "[station]") {
  for (const StationMode mode : {StationMode::kOn, StationMode::kStall, StationMode::kAuto}) {
    for (const StationOrder order : {StationOrder::kRequest, StationOrder::kCompletion}) {
      INFO(word(mode) << ", " << word(order));
      Config config =
          stationed("mix:read=20,insert=20,update=20,upsert=20,erase=10,modify=5,increment=5", {mode, order});
      config.distribution = Spec::parse("zipf:1.2");
      const TrialResult result = run_of<Toy<u64>>(config);
      CHECK(result.status == Status::kOk);
      CHECK(result.reason.empty());
      REQUIRE(result.throughput);
      CHECK(result.throughput->operations == config.ops);
      for (const char* kind : {"read", "insert", "update", "upsert", "erase", "modify", "increment"})
        CHECK(rate_of(result, kind));
      REQUIRE(result.throughput->station_issued);
      const u64 issued = *result.throughput->station_issued.value, applied = *result.throughput->station_applied.value;
      CHECK(issued <= config.ops);
      if (mode != StationMode::kAuto) CHECK(issued == config.ops);
      if (mode == StationMode::kOn) CHECK(applied < issued);
      if (mode == StationMode::kStall) CHECK(applied == issued);
      CHECK(applied <= issued);
    }
  }
}

TEST_CASE("64 operations on one key are one operation of the index", "[station]") {
  Config config = stationed("mix:update=100", {.mode = StationMode::kOn});
  config.records = 1;
  config.warmup_ns = 0;
  config.ops = 64 * 1000;
  const TrialResult result = run_of<Toy<u64>>(config);
  CHECK(result.status == Status::kOk);
  CHECK(*result.throughput->station_applied.value == 1000);
}

/// A toy that keeps the value that was walked over last.
struct Shown : Toy<u64> {
  using Toy<u64>::Toy;
  template <class Visit>
  void for_each(ThreadState& me, Visit&& visit) {
    Toy<u64>::for_each(me, [&](u64 key, u64 value) { visit(key, last = value); });
  }
  static inline u64 last = 0;
};

TEST_CASE("increments of one key add up in a station", "[station]") {
  for (const StationOrder order : {StationOrder::kRequest, StationOrder::kCompletion}) {
    Config config = stationed("mix:increment=100", {StationMode::kOn, order});
    config.records = 1;
    config.warmup_ns = 0;
    config.ops = 64 * 1000;
    CHECK(run_of<Shown>(config).status == Status::kOk);
    CHECK((Shown::last & ~u32{0}) == config.ops);  // loading wrote the stamp 0
  }
}

TEST_CASE("keys that are strings meet in a station, too", "[station]") {
  Config config = stationed("mix:read=50,upsert=50", {.mode = StationMode::kOn});
  config.keys = Spec::parse("email");
  const TrialResult result = run_of<Toy<std::string_view>>(config);
  CHECK(result.status == Status::kOk);
  CHECK(*result.throughput->station_issued.value == config.ops);
}

TEST_CASE("a wrong or missing value behind a station makes the run invalid", "[station]") {
  for (const Mistake mistake : {Mistake::kWrongValue, Mistake::kMissedKey}) {
    const Plant plant(mistake);
    Config config = stationed("mix:read=100", {.mode = StationMode::kOn});
    config.records = 900;  // fewer than 1000, so that verifying them meets no mistake
    config.warmup_ns = 0;
    CHECK(run_of<Toy<u64>>(config).status == Status::kInvalid);
  }
}

TEST_CASE("an automatic station rests across slices while few keys are equal", "[station]") {
  Config config = stationed("mix:read=50,update=50", {.mode = StationMode::kAuto});
  config.ops = 400'000;
  config.records = 100'000;
  const TrialResult result = run_of<Toy<u64>>(config);
  CHECK(result.status == Status::kOk);
  CHECK(*result.throughput->station_issued.value > 0);
  CHECK(*result.throughput->station_issued.value <= config.ops / 100);  // one batch in 256
}

TEST_CASE("without a station nothing is counted of one", "[station]") {
  Config config = stationed("mix:update=100", {});
  const TrialResult result = run_of<Toy<u64>>(config);
  CHECK(result.throughput->station_issued.reason == "--station=off");
}

}  // namespace
}  // namespace latchlab
