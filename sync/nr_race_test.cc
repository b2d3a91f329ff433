// Node replication on the race finder: replicas run each operation once and in one order, a lookup sees all that was
// known before it, and the ring of the log is not overwritten too early. Seeded bugs of each step are found.
#include "sync/nr.h"

#include <array>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "sync/parked_test.h"
#include "sync/race_crew_test.h"

namespace latchlab::testing {
namespace {

using BugsOfNr = nr::BugFlags<bool>;

/// A replica with a register for each fiber, twice, and a journal of what it has run.
struct Registers {
  struct Twin {
    Simulated::Plain<u64> first, second;
  };
  std::array<Twin, kFibers> twins;
  std::vector<std::pair<u64, u64>> journal;

  nr::Answer run(const nr::Operation& operation) {
    Twin& twin = twins[operation.key % kFibers];
    const bool rises = twin.first.load() < operation.value;
    twin.first.store(operation.value);
    twin.second.store(operation.value);
    journal.emplace_back(operation.key, operation.value);
    return rises ? nr::Answer::kYes : nr::Answer::kNo;
  }
};

/// Fibers on two nodes, each of which sets its register to 1, 2 and so on, and reads all registers in between. `known`
/// is what an answer or a lookup has told: every lookup that begins later must see as much.
template <u32 kReplicas, u32 kEntries, u32 kMost, u32 kWriters = kFibers, class M = Simulated>
struct Replicating {
  static constexpr std::string_view kPolicy = "nr";
  using Log = NodeReplication<M, Registers, BugsOfNr, kEntries, kMost>;

  Log log{replicas()};
  std::deque<typename Log::Thread> threads{kFibers};
  std::array<std::array<typename Log::Lock::Reader, kReplicas>, kFibers> readers;
  std::array<nr::Counters, kFibers> counters;
  std::array<u64, kFibers> known{};

  Replicating() {
    for (auto& of_fiber : readers) {
      for (u32 i = 0; i < kReplicas; ++i) of_fiber[i].sit(log.lock(i));
    }
  }

  static std::vector<std::unique_ptr<Registers>> replicas() {
    std::vector<std::unique_ptr<Registers>> all;
    for (u32 i = 0; i < kReplicas; ++i) all.push_back(std::make_unique<Registers>());
    return all;
  }

  void fiber(u32 id) {
    for (u64 turn = 1; turn <= kTurns; ++turn) {
      if (id < kWriters) {
        const nr::Answer answer =
            log.run(threads[id], counters[id], {.kind = nr::Operation::Kind::kUpsert, .key = id, .value = turn});
        expect(answer == nr::Answer::kYes, "an operation had another answer");
        known[id] = turn;
      }
      look(id);
    }
  }
  void look(u32 id) {
    const auto before = known;
    std::array<u64, kFibers> seen;
    {
      const u32 home = log.ready(threads[id], counters[id]);
      const typename Log::Lock::Reading reading(readers[id][home]);
      for (u32 i = 0; i < kFibers; ++i) {
        const auto& twin = log.replica(home).twins[i];
        seen[i] = twin.first.load();
        expect(twin.second.load() == seen[i], kHalf);
      }
    }
    for (u32 i = 0; i < kFibers; ++i) {
      expect(seen[i] >= before[i], "a lookup missed what was known before it began");
      known[i] = std::max(known[i], seen[i]);
    }
  }

  std::string check() {
    log.catch_up_all();
    const auto& journal = log.replica(0).journal;
    for (u32 i = 1; i < kReplicas; ++i) {
      if (log.replica(i).journal != journal) return "replicas ran other operations, or in another order";
    }
    if (journal.size() != kWriters * kTurns) return std::string(kLost);
    std::array<u64, kFibers> last{};
    for (const auto& [key, value] : journal) {
      if (value != ++last[key]) return "operations of a thread ran in another order";
    }
    u64 led = 0, others = 0;
    for (const auto& of_fiber : counters) led += of_fiber.batches, others += of_fiber.combined;
    return led + others == journal.size() ? "" : "an operation was not counted";
  }
};
using TwoNodes = Replicating<2, 4, 2>;

TEST_CASE("Races: replicas of nr run the same operations in one order, and lookups miss nothing", "[race]") {
  check_no_race<TwoNodes>();
  check_no_race<Replicating<1, 4, 2>>();
  check_no_race<Replicating<2, 2, 2>>();     // a batch fills the whole log
  check_no_race<Replicating<2, 64, 8>>();    // the log has room for all
  check_no_race<Replicating<3, 4, 1>>();     // a replica without threads
  check_no_race<Replicating<2, 2, 1, 1>>();  // all but one fiber look
}

TEST_CASE("Races: no fiber that sleeps for nr is forgotten", "[race]") {
  check_no_race<InLot<Replicating<2, 4, 2, kFibers, Parked>>>();
  check_no_race<InLot<Replicating<2, 2, 1, 1, Parked>>>();
  const Seeded seeded(Parked::deaf);
  CHECK(fails_with<InLot<Replicating<2, 4, 2, kFibers, Parked>>>("deadlock"));
}

/// Returns after how many schedules the bug is found; 0 if it is not.
template <class Scenario = TwoNodes>
u64 found_after(bool& bug) {
  const Seeded seeded(bug);
  const RaceReport report = find_races<Scenario>(kSearch);
  INFO(report.str());
  CHECK(report.failures > 0);
  return report.failures > 0 ? report.schedules : 0;
}

TEST_CASE("Seeded bugs: entries of nr that are not full, or overwritten too early, are found", "[race]") {
  CHECK(found_after(BugsOfNr::kTakeUnfilled) > 0);
  CHECK(found_after(BugsOfNr::kOverwrite) > 0);
}

TEST_CASE("Seeded bugs: lookups of nr that miss completed operations, or see half of one, are found", "[race]") {
  CHECK(found_after(BugsOfNr::kReadAtOnce) > 0);
  CHECK(found_after(BugsOfNr::kCompleteLate) > 0);
  CHECK(found_after(BugsOfNr::kMissReaders) > 0);
}

}  // namespace
}  // namespace latchlab::testing
