// Trials of workloads from files: traces, and Wiscer files that begin with an empty index.
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "harness/loop/toy_index_testing.h"
#include "harness/loop/trial.h"
#include "harness/trial/trial_testing.h"
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

/// A trace in a file, and the Configs with which the command line would run it.
class Recorded {
 public:
  void add(const std::string& key, OpKind kind, u64 time_ns = 0, u64 value_bytes = 8) {
    writer_.add(time_ns, key, kind, value_bytes);
    has_times_ |= time_ns != 0;
  }

  /// Returns a run of the whole trace without a warm-up.
  Config config(u32 threads) {
    writer_.write(file_.path(), has_times_);
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
  bool has_times_ = false;
};

TrialResult run(const Config& config) { return run_of<Toy<std::string_view>>(config); }

std::string key(u64 n) { return "key" + std::to_string(n); }

std::string notes_of(const TrialResult& result) {
  std::string all;
  for (const std::string& note : result.health.notes) all += note + '\n';
  return all;
}

TEST_CASE("a trace that loads no key is replayed from an empty index") {
  Recorded recorded;
  for (u64 n = 0; n < 1000; ++n) recorded.add(key(n), OpKind::kInsert), recorded.add(key(n), OpKind::kRead);
  for (const u32 threads : {1u, 3u}) {
    const Config config = recorded.config(threads);
    REQUIRE(config.records == 0);
    const TrialResult result = run(config);
    CAPTURE(threads, result.reason);
    REQUIRE(result.status == Status::kOk);
    CHECK(result.throughput->operations == 2000);
    CHECK(result.throughput->ended_by == Ending::kWorkload);
    CHECK(result.trace->operations == 2000);
    CHECK(result.trace->keys == 1000);
    CHECK(result.trace->checksum != 0);
    CHECK(result.wiscer.reason == "the workload is no file of Wiscer");
    CHECK(rate_of(result, "insert")->succeeded == 1000);
    CHECK(rate_of(result, "read")->succeeded == 1000);  // each read is of a key that the same thread has added before
    CHECK(*result.validation.found_keys == 1000);
    CHECK_THAT(notes_of(result), !Contains("were in the index"));  // no note that keys ran out, since none is missing
  }
}

TEST_CASE("an insert in a trace may find its key present if the trace has looked it up before") {
  Recorded recorded;
  for (u64 n = 0; n < 1000; ++n) recorded.add(key(n), OpKind::kRead);
  for (u64 n = 0; n < 1000; ++n) recorded.add(key(n), OpKind::kInsert);
  const Config config = recorded.config(2);
  CHECK(config.records == 1000);  // a replay cannot know that the first lookups missed
  const TrialResult result = run(config);
  CAPTURE(result.reason);
  REQUIRE(result.status == Status::kOk);
  CHECK(rate_of(result, "insert")->succeeded == 0);
  CHECK_THAT(notes_of(result), !Contains("were in the index"));
}

TEST_CASE("a note says how a replay changes the sizes of a trace's values") {
  for (const auto& [read, written, note] :
       {std::tuple(0, 300, "values have 300 bytes, 300.0 on average, and those of its replay 8 each"),
        std::tuple(8, 5, "values have 5 to 8 bytes"), std::tuple(8, 8, ""), std::tuple(0, 0, ""),
        std::tuple(1, 15, "values have 1 to 15 bytes, 8.0 on average"), std::tuple(16, 16, "values have 16")}) {
    Recorded recorded;
    for (u64 n = 0; n < 100; ++n) {
      recorded.add(key(n), OpKind::kInsert, 0, static_cast<u64>(written));
      recorded.add(key(n), OpKind::kRead, 0, static_cast<u64>(read));
    }
    const std::string notes = notes_of(run(recorded.config(1)));
    CHECK(Contains("the trace's values").match(notes) == (*note != '\0'));
    CHECK_THAT(notes, Contains(note));
  }
}

TEST_CASE("a trace ends before --time or --ops if it is shorter, and a note says what the warm-up took of it") {
  Recorded recorded;
  for (u64 n = 0; n < 30'000; ++n) recorded.add(key(n % 500), n % 3 == 0 ? OpKind::kUpsert : OpKind::kRead);
  const Config whole = recorded.config(2);

  Config config = whole;
  config.ops = 0;
  config.time_ns = 3600'000'000'000;
  TrialResult result = run(config);
  CHECK(result.throughput->ended_by == Ending::kWorkload);
  CHECK_THAT(notes_of(result), Contains("the trace ended before the end that --time sets"));

  config = whole;
  config.ops = 40'000;
  result = run(config);
  CHECK(result.throughput->operations == 30'000);
  CHECK(result.throughput->ended_by == Ending::kWorkload);
  CHECK_THAT(notes_of(result), Contains("the trace ended before the end that --ops sets"));

  config.ops = 10'000;
  result = run(config);
  CHECK(result.throughput->ended_by == Ending::kOperations);
  CHECK_THAT(notes_of(result), !Contains("the trace ended"));

  config = whole;
  config.warmup_ns = 1'000'000;
  result = run(config);
  REQUIRE(result.throughput);
  CHECK(result.throughput->operations < 30'000);
  CHECK(result.throughput->ended_by == Ending::kWorkload);
  CHECK_THAT(notes_of(result), Contains("of the trace's 30000"));

  config.warmup_ns = 3600'000'000'000;
  result = run(config);
  CHECK(result.status == Status::kFailed);
  CHECK_THAT(result.reason, Contains("the warm-up did all 30000 operations of the trace; --warmup=0 leaves it out"));
}

TEST_CASE("a trace comes at the offered rate, to its end") {
  Recorded recorded;
  for (u64 n = 0; n < 2000; ++n) recorded.add(key(n % 50), n % 2 == 0 ? OpKind::kUpsert : OpKind::kRead);
  Config config = recorded.config(2);
  config.rate = Rate{.law = Rate::Law::kPoisson, .per_second = 1'000'000};
  config.latency_every = 1;
  const TrialResult result = run(config);
  CAPTURE(result.reason);
  REQUIRE(result.throughput);
  CHECK(result.throughput->operations == 2000);
  CHECK(result.throughput->ended_by == Ending::kWorkload);
  CHECK(*result.validation.passed);
}

/// Adds operations at an uneven rate: 900 in the first second, 1 in the next two, 99 in what follows.
void add_uneven(Recorded& recorded) {
  for (u64 n = 0; n < 1000; ++n) {
    recorded.add(key(n % 50), n % 2 == 0 ? OpKind::kUpsert : OpKind::kRead,
                 (n < 900    ? 0
                  : n == 900 ? 1
                             : 3) *
                     testing::kSecond);
  }
}

TEST_CASE("in an open loop a trace comes at its own times, with any number of threads") {
  for (const u32 threads : {1u, 3u}) {
    Recorded recorded;
    add_uneven(recorded);
    Config config = recorded.config(threads);
    config.rate = Rate::parse("trace:20");
    config.latency_every = 1;
    TrialResult result = run(config);
    CAPTURE(threads, result.reason);
    REQUIRE(result.throughput);
    CHECK(result.throughput->operations == 1000);
    CHECK(result.throughput->ended_by == Ending::kWorkload);
    CHECK(*result.validation.passed);
    CHECK(*result.offer->arrivals == 1000);
    CHECK(result.offer->per_second == Approx(1000 / result.throughput->seconds));
    // The 99 operations with the last time stamp are spread over two seconds, as long as the stamp before lasted.
    CHECK(result.throughput->seconds >= (5 - 2. / 99) / 20);
    CHECK(result.latency->response->count == 1000);
    // Nine operations in ten come within half of the time.
    config.ops = 0;
    config.time_ns = testing::kSecond / 20 * 2;
    result = run(config);
    CHECK(result.throughput->ended_by == Ending::kTime);
    CHECK(*result.offer->arrivals == 901);
    CHECK(result.throughput->operations == 901);
  }
}

/// An index whose lookups take 300 us.
struct SlowBytes : Toy<std::string_view> {
  using Toy<std::string_view>::Toy;
  std::optional<u64> find(ThreadState& me, std::string_view key) {
    testing::VirtualTeam::spend(300'000);
    return Toy<std::string_view>::find(me, key);
  }
};

TEST_CASE("a trace that comes faster than threads can do it reports all arrivals") {
  Recorded recorded;
  for (u64 n = 0; n < 1000; ++n) recorded.add(key(n % 50), OpKind::kRead, n / 500 * testing::kSecond);
  Config config = recorded.config(2);
  config.rate = Rate::parse("trace:1000000");  // all operations come within two microseconds
  config.latency_every = 1;
  config.ops = 0;
  config.time_ns = 60'000'000;
  const TrialResult result = run_of<SlowBytes>(config);
  CHECK(result.status == Status::kDegraded);
  CHECK_THAT(result.reason, Contains("the threads could not keep up with the rate: "));
  REQUIRE(result.offer);
  CHECK(*result.offer->arrivals == 1000);
  CHECK(result.offer->per_second == Approx(1000 / result.throughput->seconds));
  CHECK(result.offer->late);
  CHECK(result.throughput->operations < 1000);
}

TEST_CASE("after a warm-up the times of a trace count from the first operation that is left") {
  Recorded recorded;
  for (u64 n = 0; n < 200'000; ++n)
    recorded.add(key(n % 50), OpKind::kRead, (n < 256 ? 0 : 1000 + n / 100'000) * testing::kSecond);
  Config config = recorded.config(1);
  config.rate = Rate::parse("trace:1000");  // the first 256 operations, which the warm-up uses, last a second
  config.ops = 0;
  config.warmup_ns = 100'000;  // enough for one slice
  config.time_ns = 20'000'000;
  const TrialResult result = run(config);
  CAPTURE(result.reason);
  CHECK(result.throughput->ended_by != Ending::kSignal);
  CHECK(*result.offer->arrivals > 100);
}

TEST_CASE("a Wiscer file may begin with an empty index") {
  const TemporaryFile file(
      "initialSize=0\noperationCount=20000\nfetchProportion=.5\ninsertProportion=.4\ndeleteProportion=.1\n");
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

TEST_CASE("a note says which settings of a Wiscer file options override") {
  const auto said = [](const std::string& lines, const char* index) {
    const TemporaryFile file("initialSize=100\noperationCount=1000\n" + lines);
    Config config = small("wiscer:" + file.path());
    config.index = Spec::parse(index);
    config.keys = Spec::parse("affine");
    config.records = 100;
    config.warmup_ns = config.time_ns = 0;
    config.ops = 1000;
    const TrialResult result = run_of<Toy<u64>>(config);
    std::vector<std::string> notes;
    for (const std::string& note : result.health.notes) {
      if (note.find("the file's") != std::string::npos) notes.push_back(note);
    }
    return notes;
  };
  using Notes = std::vector<std::string>;
  CHECK(said("", "vip").empty());
  CHECK(said("storageEngine=VIPHashing", "vip:60").empty());
  CHECK(said("storageEngine=VIPHashing", "chained") ==
        Notes{"--index=chained overrides the file's storageEngine=VIPHashing"});
  CHECK(said("storageEngine=none\noutputFile=o.txt", "art") ==
        Notes{"--index=art overrides the file's storageEngine=none",
              "the file's outputFile=o.txt is not written: --out=FOLDER keeps results, and harness rows prints them in "
              "Wiscer's columns"});
}

}  // namespace
}  // namespace latchlab
