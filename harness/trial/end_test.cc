// The ends of a trial: a number of operations, all records inserted, time, an interruption.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/host/environment.h"
#include "harness/host/interrupt.h"
#include "harness/host/progress.h"
#include "harness/loop/toy_index_testing.h"
#include "harness/loop/trial.h"
#include "harness/trial/trial_testing.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using testing::rate_of;
using testing::run_of;
using testing::small;
using toy::Toy;

TrialResult run(const Config& config) { return run_of<Toy<u64>>(config); }

TEST_CASE("a trial with a number of operations does exactly that many, with any number of threads") {
  for (const u32 threads : {1U, 2U, 3U, 8U}) {
    for (const u64 ops : {1ULL, 4095ULL, 4097ULL, 30'000ULL}) {
      Config config = small("mix:read=50,insert=20,update=10,erase=20");
      config.threads = threads;
      config.time_ns = 0;
      config.ops = ops;
      const TrialResult result = run(config);
      CAPTURE(threads, ops, result.reason);
      REQUIRE(result.status == Status::kOk);
      CHECK(result.throughput->operations == ops);
      CHECK(result.throughput->ended_by == Ending::kOperations);
      const u64 sum = std::accumulate(result.throughput->per_operation.begin(), result.throughput->per_operation.end(),
                                      u64{0}, [](u64 s, const OperationRate& rate) { return s + rate.count; });
      CHECK(sum == ops);
    }
  }
}

TEST_CASE("a trial with a number of operations does the first ones of the stream, with any number of threads") {
  const auto counts_of = [](u32 threads) {
    Config config = small("mix:read=50,insert=20,update=10,erase=20");
    config.threads = threads;
    config.warmup_ns = 0;
    config.time_ns = 0;
    config.ops = 30'001;
    const TrialResult result = run(config);
    std::vector<u64> counts;
    for (const OperationRate& rate : result.throughput->per_operation) counts.push_back(rate.count);
    return counts;
  };
  const std::vector<u64> alone = counts_of(1);
  CHECK(std::accumulate(alone.begin(), alone.end(), u64{0}) == 30'001);
  CHECK(counts_of(2) == alone);
  CHECK(counts_of(3) == alone);
  CHECK(counts_of(8) == alone);
}

TEST_CASE("a trial of inserts fills an empty index and ends by itself") {
  Config config = small("insert");
  config.time_ns = 0;
  config.threads = 3;
  const TrialResult result = run(config);
  CAPTURE(result.reason);
  REQUIRE(result.status == Status::kOk);
  CHECK(result.throughput->operations == 20'000);
  CHECK(rate_of(result, "insert")->succeeded == 20'000);
  CHECK(result.throughput->ended_by == Ending::kRecords);
  std::vector<std::string> notes = result.health.notes;
  // Other programs on this machine may make the run noisy.
  std::erase_if(notes, [](std::string_view note) {
    return note.starts_with("the load average") || note.starts_with("the host took");
  });
  CHECK(notes == disturbances(false));  // small() has no policy that elides
  CHECK(*result.validation.found_keys == 20'000);
}

TEST_CASE("an insert trial says which of its two ends came first") {
  const auto note_of = [](u64 records, u64 time_ns, u64 ops, Ending expected) {
    Config config = small("insert");
    config.records = records;
    config.time_ns = time_ns;
    config.ops = ops;
    const TrialResult result = run(config);
    REQUIRE(result.throughput);
    CHECK(result.throughput->ended_by == expected);
    std::string notes;
    for (const std::string& note : result.health.notes) notes += note;
    return notes;
  };
  CHECK_THAT(note_of(100'000'000, 10'000'000, 0, Ending::kTime),
             Catch::Contains("--time=10ms ended the run") && Catch::Contains("of 100000000 records"));
  CHECK_THAT(note_of(1000, 3600'000'000'000, 0, Ending::kRecords), Catch::Contains("before the end that --time"));
  CHECK_THAT(note_of(1000, 0, 2000, Ending::kRecords), Catch::Contains("before the end that --ops"));
  CHECK_THAT(note_of(1000, 0, 500, Ending::kOperations), !Catch::Contains("before the end"));
}

TEST_CASE("a trial whose warm-up leaves no key to insert fails and says so") {
  Config config = small("mix:insert=100");
  config.threads = 1;  // so that the first operation, which inserts the last key, is done first
  config.keys = Spec::parse("u16");
  config.records = (1 << 15) - 1;
  const TrialResult result = run(config);
  CHECK(result.status == Status::kFailed);
  CHECK_THAT(result.reason, Catch::Contains("no key is left to insert: all 32768 of --keys=u16"));
  CHECK_FALSE(result.throughput);
  config.warmup_ns = 0;
  const TrialResult late = run(config);
  CHECK(late.status == Status::kOk);
  CHECK(std::ranges::count_if(late.health.notes, [](const std::string& note) {
          return note.starts_with("at the end all 32768 of --keys=u16 were in the index");
        }) == 1);
  config.warmup_ns = 2'000'000;
  config.workload = Spec::parse("mix:insert=50,erase=50");
  CHECK(run(config).status == Status::kOk);
}

/// An index that interrupts the run as soon as an operation was measured.
class StopOnceMeasured final : public Progress {
 public:
  void begin(std::string_view phase, u64, u64) override { measuring_ = phase == "measure"; }
  void advance(u64 done) override {
    if (measuring_ && done > 0) request_stop();
  }
  void end() override { measuring_ = false; }
  void title(std::string) override {}

 private:
  bool measuring_ = false;
};

TEST_CASE("an interrupted run keeps what was measured, and has no throughput before the measured phase") {
  // In a process of its own, since a request to stop cannot be taken back.
  const auto child = [](bool before) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      if (before) request_stop();
      Config config = small("lookup");
      config.time_ns = 3600'000'000'000;
      StopOnceMeasured progress;
      const TrialResult result = run_of<Toy<u64>>(config, progress);
      const bool measured = result.throughput && result.throughput->operations > 0 && result.status == Status::kOk;
      ::_exit(!result.interrupted                                          ? 3
              : measured                                                   ? 0
              : result.status == Status::kFailed && !result.reason.empty() ? 1
                                                                           : 2);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  CHECK(child(false) == 0);
  CHECK(child(true) == 1);
}

/// An index whose first lookup of the measured phase lasts until long after the end of the phase.
struct Late : Toy<u64> {
  using Toy<u64>::Toy;
  static inline bool measuring = false;

  std::optional<u64> find(ThreadState& me, u64 key) {
    if (std::exchange(measuring, false)) testing::VirtualTeam::spend(50'000'000);
    return Toy<u64>::find(me, key);
  }
};

class TellsLate final : public Progress {
 public:
  void begin(std::string_view phase, u64, u64) override { Late::measuring = phase == "measure"; }
  void advance(u64) override {}
  void end() override {}
  void title(std::string) override {}
};

TEST_CASE("time ends no phase before an operation was done in it") {
  Config config = small("lookup");
  config.threads = 1;
  config.time_ns = 1'000'000;
  TellsLate progress;
  const TrialResult result = run_of<Late>(config, progress);
  REQUIRE(result.throughput);
  CHECK(result.throughput->operations >= kSliceRequests);  // a stop inside would cut the first slice short
}

}  // namespace
}  // namespace latchlab
