// Recorded calls of a run: what is recorded, what the check finds, and that nothing else changes.
#include "harness/trial/recorded_run.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "harness/host/native_team.h"
#include "harness/loop/toy_index_testing.h"
#include "harness/trial/trial_testing.h"
#include "src/history/check_history.h"
#include "src/history/history_file.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using testing::phases_of;
using testing::plan_of;
using testing::run_of;
using testing::run_on_threads;
using testing::small;
using toy::Mistake;
using toy::Plant;
using toy::Toy;

constexpr const char* kEveryKind = "mix:read=20,update=15,upsert=10,insert=10,erase=10,rmw=10,multi_get=15,modify=10";

/// A short run whose calls on one key in `one_in` are recorded and checked.
Config recorded(std::string_view workload, u64 one_in = 1) {
  Config config = small(workload);
  config.records = 2'000;
  config.warmup_ns = 500'000;
  config.time_ns = 0;
  config.ops = 20'000;
  config.validate = Validate::kHistory;
  config.history = Recording{.file = "", .keys = {.one_in = one_in}, .calls = 0};
  return config;
}

/// A file for a history, whose name differs between processes.
class HistoryFile {
 public:
  HistoryFile() : path_("/tmp/latchlab_recorded_run_test_" + std::to_string(::getpid())) {}
  ~HistoryFile() { std::remove(path_.c_str()); }
  HistoryFile(const HistoryFile&) = delete;
  HistoryFile& operator=(const HistoryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Runs the config and returns the history that it writes.
template <class Index>
std::vector<KeyedCall> history_of(Config config) {
  const HistoryFile file;
  config.history->file = file.path();
  const TrialResult result = run_of<Index>(config);
  INFO(result.reason);
  CHECK(result.status == Status::kOk);
  std::vector<KeyedCall> history = read_history(file.path());
  REQUIRE(result.history);
  CHECK(result.history->calls == history.size());
  return history;
}

TEST_CASE("calls of every kind are recorded, and are linearizable") {
  const TrialResult result = run_of<Toy<u64>>(recorded(kEveryKind));
  INFO(result.reason);
  CHECK(result.status == Status::kOk);
  CHECK(*result.validation.passed);
  CHECK(result.validation.mode == Validate::kHistory);
  REQUIRE(result.history);
  CHECK(result.history->linearizable.value == true);
  CHECK(result.history->keys == "all");
  CHECK(result.history->calls > 22'000);
  CHECK(result.history->pending == 0);
  CHECK(*result.history->wrong_keys == 0);
  CHECK_FALSE(result.history->ended_in);
  CHECK_FALSE(result.history->witness);
  CHECK(phases_of(result) ==
        std::vector<std::string>{"load", "verify", "warmup", "measure", "validate", "history", "limits"});
}

TEST_CASE("keys may be strings, and threads those of the system") {
  const testing::Lines lines(3000);
  Config config = recorded(kEveryKind, 2);
  config.keys = Spec::parse("file:" + lines.path());
  config.records = 1500;
  const TrialResult result = run_on_threads<Toy<std::string_view>>(config);
  INFO(result.reason);
  REQUIRE(result.history);
  CHECK(result.history->linearizable.value == true);
  CHECK(*result.validation.passed);
  CHECK(*result.history->checked_keys > 1000);
  CHECK(*result.history->checked_keys < 2000);
}

TEST_CASE("a recorded run does the same operations, with the same results") {
  // The index is a function of the operations only if one thread does them.
  for (const char* workload : {kEveryKind, "lookup", "insert", "mix:read=50,scan=50"}) {
    CAPTURE(workload);
    Config config = recorded(workload, 3);
    config.threads = 1;
    config.warmup_ns = 0;
    const TrialResult with = run_of<Toy<u64>>(config);
    config.history.reset();
    config.validate = Validate::kTally;
    const TrialResult without = run_of<Toy<u64>>(config);
    CHECK(with.status == Status::kOk);
    REQUIRE(with.throughput);
    REQUIRE(without.throughput);
    CHECK(with.throughput->operations == without.throughput->operations);
    CHECK(*with.validation.found_keys == *without.validation.found_keys);
    REQUIRE(with.throughput->per_operation.size() == without.throughput->per_operation.size());
    for (std::size_t i = 0; i < with.throughput->per_operation.size(); ++i) {
      const OperationRate &a = with.throughput->per_operation[i], &b = without.throughput->per_operation[i];
      CAPTURE(a.name);
      CHECK(a.count == b.count);
      CHECK(a.succeeded == b.succeeded);
      CHECK(a.keys == b.keys);
      CHECK(a.found == b.found);
    }
  }
}

TEST_CASE("a history has the calls of chosen keys and no others, from loading on") {
  const Config config = recorded("mix:read=50,update=50", 16);
  const std::vector<KeyedCall> history = history_of<Toy<u64>>(config);
  u64 inserts = 0;
  std::set<u64> keys;
  for (const auto& [key, call] : history) {
    CHECK(config.history->keys.has(key));
    inserts += call.kind == CallKind::kInsert;
    keys.insert(key);
  }
  CHECK(inserts == keys.size());
  CHECK(keys.size() > 60);
  CHECK(keys.size() < 200);
}

TEST_CASE("each value of a key is written once: loading, warm-up and measuring have stamps of their own") {
  for (const char* workload : {kEveryKind, "mix:update=100", "mix:read=50,insert=25,erase=25"}) {
    CAPTURE(workload);
    Config config = recorded(workload);
    config.records = 64;  // so that keys are written often
    config.warmup_ns = 2'000'000;
    std::map<u64, std::set<u64>> values;
    u64 repeated = 0, written = 0;
    for (const auto& [key, call] : history_of<Toy<u64>>(config)) {
      if (call.kind == CallKind::kFind || call.kind == CallKind::kErase) continue;
      repeated += !values[key].insert(call.value).second;
      ++written;
    }
    CHECK(repeated == 0);
    CHECK(written > 5'000);
  }
}

TEST_CASE("a history finds what the tally does not: lost updates and stale reads") {
  for (const Mistake mistake : {Mistake::kLostUpdate, Mistake::kStaleRead}) {
    const Plant plant(mistake);
    for (const auto& [workload, sees] :
         {std::pair{"mix:read=50,update=50", true}, std::pair{"mix:read=50,upsert=50", mistake == Mistake::kLostUpdate},
          std::pair{"mix:read=50,rmw=50", true}}) {
      CAPTURE(workload, mistake);
      Config config = recorded(workload);
      config.records = 200;  // so that the key is read between two updates
      config.warmup_ns = 0;
      config.validate = Validate::kTally;
      CHECK(run_of<Toy<u64>>(config).status == Status::kOk);
      config.validate = Validate::kHistory;
      const TrialResult result = run_of<Toy<u64>>(config);
      INFO(result.reason);
      CHECK(result.status == (sees ? Status::kInvalid : Status::kOk));
      if (!sees) continue;
      CHECK_THAT(result.reason, Catch::Contains("are not linearizable; key "));
      CHECK(result.validation.passed.value == false);
      CHECK(result.history->linearizable.value == false);
      CHECK(*result.history->wrong_keys > 0);
      REQUIRE(result.history->witness);
      CHECK_THAT(*result.history->witness, Catch::Contains("|"));
    }
  }
}

TEST_CASE(
    "updates, upserts, erases and modifies say which value they removed, and the check believes none that is wrong") {
  constexpr const char* kMix = "mix:update=25,upsert=20,insert=20,erase=25,modify=10";
  Config config = recorded(kMix);
  config.records = 200;
  u64 removals = 0;
  for (const auto& [key, call] : history_of<Toy<u64>>(config)) {
    const bool removes = call.kind != CallKind::kFind && call.kind != CallKind::kInsert && call.was_there();
    CAPTURE(call.str());
    CHECK(call.was.has_value() == removes);
    removals += removes;
  }
  CHECK(removals > 5'000);

  const Plant plant(Mistake::kWrongRemoved);
  for (const char* workload : {"mix:insert=50,erase=50", "mix:update=100", "mix:upsert=50,update=50"}) {
    CAPTURE(workload);
    Config wrong = recorded(workload);
    wrong.records = 200;
    wrong.validate = Validate::kTally;
    CHECK(run_of<Toy<u64>>(wrong).status == Status::kOk);
    wrong.validate = Validate::kHistory;
    const TrialResult result = run_of<Toy<u64>>(wrong);
    INFO(result.reason);
    CHECK(result.status == Status::kInvalid);
    CHECK(result.history->linearizable.value == false);
  }
}

TEST_CASE("a wrong history names its file, which is written all the same") {
  const Plant plant(Mistake::kStaleRead);
  const HistoryFile file;
  Config config = recorded("mix:read=50,update=50");
  config.records = 200;
  config.history->file = file.path();
  const TrialResult result = run_of<Toy<u64>>(config);
  CHECK_THAT(result.reason, Catch::Contains("the history is in " + file.path()));
  std::vector<KeyedCall> history = read_history(file.path());
  CHECK(check_history(history).answer == Linearizable::kNo);
}

TEST_CASE("a full buffer ends the recording, which the result says, and the beginning is checked") {
  Config config = recorded("mix:read=50,update=50");
  config.history->calls = 10'000;
  const TrialResult result = run_of<Toy<u64>>(config);
  INFO(result.reason);
  CHECK(result.status == Status::kOk);
  REQUIRE(result.history);
  CHECK(result.history->room == 10'000);
  CHECK(result.history->calls <= 10'000);
  CHECK(result.history->calls > 5'000);
  CHECK(*result.history->ended_in == "measure");
  CHECK(*result.history->ended_s > 0);
  CHECK(result.history->linearizable.value == true);
  const std::vector<std::string>& notes = result.health.notes;
  CHECK(std::ranges::any_of(notes, [](const auto& note) { return note.starts_with("the recording was full with "); }));

  config.history->calls = 1'000;
  const TrialResult early = run_of<Toy<u64>>(config);
  CHECK(early.status == Status::kDegraded);
  CHECK(*early.history->ended_in == "load");
  CHECK_THAT(early.reason, Catch::Contains("and so none that was measured"));
}

TEST_CASE("a call that throws has no answer in the history") {
  const Plant plant(Mistake::kLateThrow);
  Config config = recorded("insert");
  config.records = 10'000;
  const TrialResult result = run_of<Toy<u64>>(config);
  CHECK_THAT(result.reason, Catch::Contains("memory ran out") || Catch::Contains("tally"));
  REQUIRE(result.history);
  CHECK(result.history->pending >= 1);
  CHECK(result.history->linearizable.value == true);
}

TEST_CASE("a history without a call says nothing, and the run says that") {
  Config config = recorded("lookup", 1'000'000);
  config.records = 8;
  const TrialResult result = run_of<Toy<u64>>(config);
  REQUIRE(result.history);
  CHECK(result.history->calls == 0);
  CHECK(result.status == Status::kDegraded);
  CHECK_THAT(result.reason, Catch::Contains("no call was on the recorded share of the keys, 1/1000000, so"));
}

TEST_CASE("a file that cannot be written fails the run") {
  Config config = recorded("lookup");
  config.history->file = "/nowhere/calls.history";
  const TrialResult result = run_of<Toy<u64>>(config);
  CHECK(result.status == Status::kFailed);
  CHECK_THAT(result.reason, Catch::Contains("history file '/nowhere/calls.history': cannot be written"));
}

TEST_CASE("remarks say what is not recorded, and that recording all calls costs") {
  const auto has = [](const TrialResult& result, std::string_view text) {
    return std::ranges::any_of(result.health.notes, [&](const auto& note) { return note.starts_with(text); });
  };
  const TrialResult scans = run_of<Toy<u64>>(recorded("mix:read=50,scan=50", 4));
  CHECK(has(scans, "scans are not recorded"));
  CHECK_FALSE(has(scans, "all calls are recorded"));
  CHECK(has(run_of<Toy<u64>>(recorded("lookup")), "all calls are recorded, which costs throughput"));
  Config config = recorded("lookup");
  config.history.reset();
  CHECK(run_of<Toy<u64>>(config).history->keys == "1/64");
  config.validate = Validate::kTally;
  CHECK_THAT(run_of<Toy<u64>>(config).history.reason, Catch::Contains("--history"));
}

TEST_CASE("with a share of the keys the other calls are timed") {
  Config config = recorded("mix:read=50,update=50", 4);
  config.latency_every = 1;
  const TrialResult result = run_of<Toy<u64>>(config);
  REQUIRE(result.latency);
  CHECK(result.latency->all.count > 10'000);
  CHECK(result.latency->all.count < 20'000);
  CHECK(result.history->linearizable.value == true);

  config.latency_every = 0;
  config.rate = Rate{.law = Rate::Law::kPoisson, .per_second = 100'000};
  const TrialResult open = run_of<Toy<u64>>(config);
  INFO(open.reason);
  REQUIRE(open.history);
  CHECK(open.history->linearizable.value == true);
  CHECK(open.throughput->operations == 20'000);
}

/// A team whose clock gives each processor a time of its own.
class SkewedTeam final : public testing::VirtualTeam {
 public:
  [[nodiscard]] Clock& clock() override { return skewed_; }

 private:
  class Skewed final : public Clock {
   public:
    explicit Skewed(testing::VirtualTeam& team) : team_(team) {}
    u64 now() override {
      const u64 behind = World::inside() && World::get().fiber() == 1 ? 900'000 : 0;
      return team_.VirtualTeam::clock().now() - behind;
    }

   private:
    testing::VirtualTeam& team_;
  };
  Skewed skewed_{*this};
};

TEST_CASE("calls are not recorded by a clock that is not ordered between threads") {
  Config config = recorded("lookup");
  config.warmup_ns = 0;
  const TrialResult result = run_of<Toy<u64>, SkewedTeam>(config);
  CHECK(result.status == Status::kDegraded);
  CHECK_THAT(result.reason, Catch::Contains("no calls are recorded: the clock of this machine is not ordered"));
  CHECK_FALSE(result.history);
  CHECK_FALSE(result.validation.passed);
}

TEST_CASE("the clock of this machine is ordered between threads") {
  NativeTeam team;
  team.begin(2);
  ClockRelay relay(team, 2);
  CHECK(team.run_all([&](u32 t) { relay.run(t); }) == nullptr);
  team.end();
  CHECK(relay.why_unordered() == "");
}

TEST_CASE("marks are those of chosen keys, and a multi-get has one if a key of it is chosen") {
  const KeyShare share{.one_in = 8};
  std::vector<Request> requests(200), gets(400);
  for (u64 i = 0; i < gets.size(); ++i) gets[i].number = i * 31;
  for (u64 i = 0; i < requests.size(); ++i) {
    requests[i].number = i;
    if (i % 3 == 0) requests[i].kind = OpKind::kScan;
    if (i % 3 == 1) {
      requests[i].kind = OpKind::kMultiGet;
      requests[i].number = 2 * i;
      requests[i].limit = 2;
    }
  }
  std::vector<u8> marks(requests.size(), 7);
  mark_requests(requests, gets, share, true, marks);
  for (u64 i = 0; i < requests.size(); ++i) {
    CAPTURE(i);
    const bool any = share.has(2 * i * 31) || share.has((2 * i + 1) * 31);
    CHECK(marks[i] == (i % 3 == 0 ? 0 : i % 3 == 1 ? any : share.has(i)));
  }
}

}  // namespace
}  // namespace latchlab
