#include "workloads/trace_stream.h"

#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/base/rng.h"
#include "src/testing/catch.h"
#include "src/testing/temporary_file.h"
#include "workloads/no_gets_testing.h"
#include "workloads/trace_testing.h"

namespace latchlab {
namespace {

using testing::no_gets;

/// A trace of 20,000 operations on 500 keys.
std::string random_trace() {
  Rng rng(test_seed());
  TraceWriter writer;
  for (u64 i = 0; i < 20'000; ++i) {
    writer.add(i, "key" + std::to_string(rng.below(500)), testing::random_trace_kind(rng), 0);
  }
  const TemporaryFile file("");
  writer.write(file.path(), true);
  std::ifstream bytes(file.path(), std::ios::binary);
  return {std::istreambuf_iterator<char>(bytes), {}};
}

struct Replay {
  explicit Replay(u32 parts)
      : trace(std::make_shared<const Trace>(file.path())),
        keys(Spec{.name = "trace", .arg = file.path(), .options = {}}, 1),
        stream(trace, parts, keys) {}

  TemporaryFile file{random_trace()};
  std::shared_ptr<const Trace> trace;
  KeySet keys;
  TraceStream stream;
};

TEST_CASE("a stream of one part is the trace itself", "[trace]") {
  const Replay replay(1);
  REQUIRE(replay.stream.size() == replay.trace->ops().size());
  CHECK(replay.stream.parts() == std::vector<u64>{0, 20'000});
  CHECK(replay.keys.capacity() == replay.trace->keys());
  std::vector<Op> ops(20'000);
  replay.stream.fill(0, ops, no_gets);
  const std::unique_ptr<RecordedTimes> times = replay.stream.times_from(0);
  u64 wrong = 0;
  for (u64 i = 0; i < ops.size(); ++i) {
    const TraceOp& recorded = replay.trace->ops()[i];
    wrong += ops[i].kind != static_cast<OpKind>(recorded.kind);
    wrong += replay.keys.raw<std::string_view>(ops[i]) != replay.trace->key(recorded.key);
    wrong += times->next() != recorded.time_ns;  // all operations have different stamps
  }
  CHECK(wrong == 0);
}

TEST_CASE("parts hold every operation once, and those on a key in one part and in order", "[trace]") {
  for (const u32 parts : {2u, 3u, 7u}) {
    const Replay replay(parts);
    const std::vector<u64> begins = replay.stream.parts();
    REQUIRE(begins.size() == parts + 1);
    CHECK(begins.front() == 0);
    CHECK(begins.back() == 20'000);
    std::map<std::string, u32> part_of;
    std::map<std::string, u64> last_of;  // time of the last operation on a key; all operations have different times
    u64 times = 0;
    for (u32 part = 0; part < parts; ++part) {
      CHECK(begins[part + 1] - begins[part] > 20'000 / parts / 2);
      std::vector<Op> ops(begins[part + 1] - begins[part]);
      // The part is read in two calls, as any thread may do.
      replay.stream.fill(begins[part], std::span(ops).first(100), no_gets);
      replay.stream.fill(begins[part] + 100, std::span(ops).subspan(100), no_gets);
      const std::unique_ptr<RecordedTimes> own = replay.stream.times_from(begins[part]);
      for (u64 i = 0; i < ops.size(); ++i) {
        const std::string key(replay.keys.raw<std::string_view>(ops[i]));
        const u64 time = own->next();
        REQUIRE(part_of.emplace(key, part).first->second == part);
        if (const auto [last, is_first] = last_of.emplace(key, time); !is_first) {
          REQUIRE(last->second < time);
          last->second = time;
        }
        REQUIRE(ops[i].kind == static_cast<OpKind>(replay.trace->ops()[time].kind));
        times += time;
      }
    }
    CHECK(times == u64{20'000} * 19'999 / 2);
  }
}

}  // namespace
}  // namespace latchlab
