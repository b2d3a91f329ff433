#include "workloads/trace_times.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "src/base/rng.h"
#include "src/testing/catch.h"
#include "src/testing/temporary_file.h"
#include "workloads/trace_stream.h"

namespace latchlab {
namespace {

constexpr u64 kSecond = 1'000'000'000;

std::vector<TraceOp> ops_at(const std::vector<u64>& times) {
  std::vector<TraceOp> ops(times.size());
  for (std::size_t i = 0; i < times.size(); ++i) ops[i].time_ns = times[i];
  return ops;
}

std::vector<u64> all_of(const std::vector<TraceOp>& ops) {
  TraceTimes times(ops);
  std::vector<u64> all;
  for (u64 place = 0; place < ops.size(); ++place) all.push_back(times.at(place));
  return all;
}

TEST_CASE(
    "operations of one stamp are spread over the time to the next stamp, and the last stamp lasts as long as the "
    "previous one",
    "[trace]") {
  CHECK(all_of(ops_at({0, 0, 0, 0, kSecond, kSecond, 3 * kSecond, 3 * kSecond})) ==
        std::vector<u64>{0, kSecond / 4, kSecond / 2, kSecond * 3 / 4, kSecond, 2 * kSecond, 3 * kSecond, 4 * kSecond});
  CHECK(all_of(ops_at({0, 7, 9})) == std::vector<u64>{0, 7, 9});
  CHECK(all_of(ops_at({5, 5})) == std::vector<u64>{5, 5});
  CHECK(all_of(ops_at({0, ~u64{0} - 1, ~u64{0} - 1})) ==
        std::vector<u64>{0, ~u64{0} - 1, ~u64{0} - 1});  // no time wraps around
}

TEST_CASE("times do not depend on the order in which they are asked for", "[trace]") {
  Rng random(test_seed());
  std::vector<u64> stamps;
  for (u64 stamp = 0; stamps.size() < 20'000; stamp += 1 + random.below(5)) {
    stamps.insert(stamps.end(), 1 + random.below(random.below(8) == 0 ? 3000 : 3), stamp * kSecond);
  }
  const std::vector<TraceOp> ops = ops_at(stamps);
  const std::vector<u64> all = all_of(ops);
  CHECK(std::is_sorted(all.begin(), all.end()));
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto next = std::upper_bound(stamps.begin(), stamps.end(), stamps[i]);
    REQUIRE(all[i] >= stamps[i]);
    if (next != stamps.end()) REQUIRE(all[i] < *next);
  }
  TraceTimes times(ops);
  for (int i = 0; i < 20'000; ++i) {
    const u64 place = random.below(ops.size());
    REQUIRE(times.at(place) == all[place]);
  }
}

TEST_CASE("operations of a part have the same times as in the whole trace", "[trace]") {
  const TemporaryFile file("");
  TraceWriter writer;
  for (u64 i = 0; i < 5000; ++i) writer.add(i / 1000 * kSecond, "key" + std::to_string(i % 61), OpKind::kRead, 8);
  writer.write(file.path(), true);
  const auto trace = std::make_shared<const Trace>(file.path());
  const KeySet keys(Spec{.name = "trace", .arg = file.path(), .options = {}}, 1);
  const TraceStream stream(trace, 3, keys);
  std::vector<u64> all;
  for (u32 part = 0; part < 3; ++part) {
    // Every part begins near the beginning of the trace.
    CHECK(stream.times_from(stream.parts()[part])->next() < kSecond / 10);
    const auto times = stream.times_from(stream.parts()[part]);
    for (u64 n = stream.parts()[part]; n < stream.parts()[part + 1]; ++n) all.push_back(times->next());
  }
  std::sort(all.begin(), all.end());
  u64 wrong = 0;
  for (u64 i = 0; i < 5000; ++i) wrong += all[i] != i * kSecond / 1000;
  CHECK(wrong == 0);
  TraceWriter timeless;
  timeless.add(0, "key", OpKind::kRead, 8);
  timeless.write(file.path(), false);
  const KeySet one(Spec{.name = "trace", .arg = file.path(), .options = {}}, 1);
  CHECK(TraceStream(std::make_shared<const Trace>(file.path()), 1, one).times_from(0) == nullptr);
}

}  // namespace
}  // namespace latchlab
