// Trials of what a file describes: traces, and Wiscer files that begin with nothing.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "harness/toy_index.h"
#include "harness/trial.h"
#include "harness/trial_testing.h"
#include "src/testing/catch.h"
#include "src/testing/temporary_file.h"
#include "workloads/trace.h"

namespace latchlab {
namespace {

using Catch::Matchers::Contains;
using testing::rate_of;
using testing::run_of;
using testing::small;
using toy::Toy;

/// A trace in a file, and runs of it as the command line would have them.
class Recorded {
 public:
  void add(const std::string& key, OpKind kind) { writer_.add(0, key, kind, 8); }

  /// To its end, without a warm-up.
  Config config(u32 threads) {
    writer_.write(file_.path(), false);
    const Trace trace(file_.path());
    Config config = small("trace:" + file_.path());
    config.keys = Spec{.name = "trace", .arg = file_.path(), .options = {}};
    config.records = trace.loaded();
    config.warmup_ns = config.time_ns = 0;
    config.ops = trace.ops().size();
    config.threads = threads;
    return config;
  }

 private:
  TemporaryFile file_{""};
  TraceWriter writer_;
};

TrialResult run(const Config& config) { return run_of<Toy<std::string_view>>(config); }

std::string key(u64 n) { return "key" + std::to_string(n); }

std::string notes_of(const TrialResult& result) {
  std::string all;
  for (const std::string& note : result.health.notes) all += note + '\n';
  return all;
}

TEST_CASE("a trace that begins with nothing is replayed from an empty index") {
  Recorded recorded;
  for (u64 n = 0; n < 1000; ++n) recorded.add(key(n), OpKind::kInsert), recorded.add(key(n), OpKind::kRead);
  for (const u32 threads : {1u, 3u}) {
    const Config config = recorded.config(threads);
    REQUIRE(config.records == 0);
    const TrialResult result = run(config);
    CAPTURE(threads, result.reason);
    REQUIRE(result.status == Status::kOk);
    CHECK(result.throughput->operations == 2000);
    CHECK(result.throughput->ended_by == Ending::kTrace);
    CHECK(result.trace->operations == 2000);
    CHECK(result.trace->keys == 1000);
    CHECK(result.trace->checksum != 0);
    CHECK(result.wiscer.reason == "the workload is no file of Wiscer");
    CHECK(rate_of(result, "insert")->succeeded == 1000);
    CHECK(rate_of(result, "read")->succeeded == 1000);   // each of a key that its own thread has added before
    CHECK(*result.validation.found_keys == 1000);
    CHECK_THAT(notes_of(result), !Contains("were in the index"));   // no note that no key was left: none is missing
  }
}

TEST_CASE("keys that are looked up before they are added may be added all the same") {
  Recorded recorded;
  for (u64 n = 0; n < 1000; ++n) recorded.add(key(n), OpKind::kRead);
  for (u64 n = 0; n < 1000; ++n) recorded.add(key(n), OpKind::kInsert);
  const Config config = recorded.config(2);
  CHECK(config.records == 1000);   // a replay cannot know that the first lookups missed
  const TrialResult result = run(config);
  CAPTURE(result.reason);
  REQUIRE(result.status == Status::kOk);
  CHECK(rate_of(result, "insert")->succeeded == 0);
  CHECK_THAT(notes_of(result), !Contains("were in the index"));
}

TEST_CASE("a trace ends by itself where time or operations would have it go on, and says what a warm-up took of it") {
  Recorded recorded;
  for (u64 n = 0; n < 30'000; ++n) recorded.add(key(n % 500), n % 3 == 0 ? OpKind::kUpsert : OpKind::kRead);
  const Config whole = recorded.config(2);

  Config config = whole;
  config.ops = 0;
  config.time_ns = 3600'000'000'000;
  TrialResult result = run(config);
  CHECK(result.throughput->ended_by == Ending::kTrace);
  CHECK_THAT(notes_of(result), Contains("the trace ended before the end that --time sets"));

  config = whole;
  config.ops = 40'000;
  result = run(config);
  CHECK(result.throughput->operations == 30'000);
  CHECK(result.throughput->ended_by == Ending::kTrace);
  CHECK_THAT(notes_of(result), Contains("the trace ended before the end that --ops sets"));

  config.ops = 10'000;
  result = run(config);
  CHECK(result.throughput->ended_by == Ending::kOperations);
  CHECK_THAT(notes_of(result), !Contains("the trace ended"));

  config = whole;
  config.warmup_ns = 1'000;   // one slice of each thread at least
  result = run(config);
  if (result.throughput) {    // but the warm-up may have been all
    CHECK(result.throughput->operations < 30'000);
    CHECK(result.throughput->ended_by == Ending::kTrace);
    CHECK_THAT(notes_of(result), Contains("of the trace's 30000"));
  }

  config.warmup_ns = 3600'000'000'000;
  result = run(config);
  CHECK(result.status == Status::kFailed);
  CHECK_THAT(result.reason, Contains("the warm-up did all 30000 operations of the trace; --warmup=0 leaves it out"));
}

TEST_CASE("a trace comes as it is offered, to its end") {
  Recorded recorded;
  for (u64 n = 0; n < 2000; ++n) recorded.add(key(n % 50), n % 2 == 0 ? OpKind::kUpsert : OpKind::kRead);
  Config config = recorded.config(2);
  config.rate = Rate{.law = Rate::Law::kPoisson, .per_second = 1'000'000};
  config.latency_every = 1;
  const TrialResult result = run(config);
  CAPTURE(result.reason);
  REQUIRE(result.throughput);
  CHECK(result.throughput->operations == 2000);
  CHECK(result.throughput->ended_by == Ending::kTrace);
  CHECK(*result.validation.passed);
}

TEST_CASE("a Wiscer file may begin with an empty index") {
  const TemporaryFile file("initialSize=0\noperationCount=20000\nfetchProportion=.5\ninsertProportion=.4\ndeleteProportion=.1\n");
  for (const u32 threads : {1u, 2u}) {
    Config config = small("wiscer:" + file.path());
    config.keys = Spec::parse("affine");
    config.records = 0;
    config.warmup_ns = config.time_ns = 0;
    config.ops = 20'000;
    config.threads = threads;
    const TrialResult result = run_of<Toy<u64>>(config);
    CAPTURE(threads, result.reason);
    REQUIRE(result.status == Status::kOk);
    CHECK(result.throughput->ended_by == Ending::kOperations);
    CHECK(result.wiscer->insert == .4);
    CHECK(rate_of(result, "insert")->succeeded == Approx(8000).margin(200));
    CHECK(*result.validation.found_keys > 5000);
  }
}

}  // namespace
}  // namespace latchlab
