// Delegation on the race finder: the server runs each operation once, alone, and before its client goes on. Seeded bugs
// of each step are found.
#include "sync/ffwd.h"

#include <array>
#include <deque>

#include "sync/race_crew_test.h"

namespace latchlab::testing {
namespace {

using BugsOfFfwd = ffwd::BugFlags<bool>;

/// Clients that count the runs of each operation. The operations have no reference to a client's stack, so that one
/// that runs at the wrong time does no harm.
template <u32 kClients, u32 kOperations, bool kLarge = false>
struct Delegating {
  static constexpr std::string_view kPolicy = "ffwd";

  Delegation<Simulated, BugsOfFfwd> server;
  std::deque<typename Delegation<Simulated, BugsOfFfwd>::Client> clients{kClients};
  u32 inside = 0, sum = 0;
  std::array<std::array<u32, kOperations>, kClients> runs{};

  struct Operation {
    Delegating* all;
    u32 id, turn;
    std::array<u64, kLarge ? 8 : 1> filling{};

    void operator()() const {
      expect(World::get().fiber() == kClients, "an operation ran on another fiber than the server");
      expect(all->inside++ == 0, "two operations ran at once");
      ++all->runs[id][turn];
      const u32 before = all->sum;
      Simulated::pause();
      all->sum = before + 1;
      --all->inside;
    }
  };

  void fiber(u32 id) {
    for (u32 turn = 0; turn < kOperations; ++turn) {
      server.run(clients[id], Operation{this, id, turn});
      expect(runs[id][turn] == 1, "a client went on before its operation had run once");
    }
  }
  std::string check() {
    for (const auto& of_client : runs) {
      for (const u32 count : of_client) {
        if (count != 1) return "an operation ran twice, or not at all";
      }
    }
    return sum == kClients * kOperations ? "" : std::string(kLost);
  }
};
using FourClients = Delegating<kFibers, kTurns>;

TEST_CASE("Races: the server of ffwd runs each operation once, alone, and before its client goes on", "[race]") {
  check_no_race<FourClients>();
  check_no_race<Delegating<kFibers, kTurns, true>>();  // the line has no room for these operations
  check_no_race<WriteAndRead<Ffwd<Simulated>>>();
}

TEST_CASE("Races: clients of ffwd beyond one group, and clients that come and go", "[race]") {
  const auto clean = [](const RaceReport& report) {
    INFO(report.str());
    CHECK(report.failures == 0);
  };
  RaceOptions options = kProof;
  options.schedules /= 4;
  options.fibers = 17;
  clean(find_races<Delegating<17, 2>>(options));

  struct ComeAndGo : FourClients {
    void fiber(u32 id) {
      for (u32 turn = 0; turn < kTurns; ++turn) {
        typename Delegation<Simulated, BugsOfFfwd>::Client passing;
        server.run(passing, Operation{this, id, turn});
        expect(runs[id][turn] == 1, "a client went on before its operation had run once");
      }
    }
  };
  check_no_race<ComeAndGo>();
}

TEST_CASE("Outside virtual time, where nobody serves, the caller of ffwd runs its operation itself") {
  World::get().reset();
  Delegation<Simulated> server;
  Delegation<Simulated>::Client me;
  int runs = 0;
  server.run(me, [&] { ++runs; });
  CHECK(runs == 1);
}

/// Returns after how many schedules the bug is found; 0 if it is not.
u64 found_after(bool& bug) {
  const Seeded seeded(bug);
  const RaceReport report = find_races<FourClients>(kSearch);
  INFO(report.str());
  CHECK(report.failures > 0);
  return report.failures > 0 ? report.schedules : 0;
}

TEST_CASE("Seeded bugs: an answer, a request and a round of ffwd, each out of order, are found", "[race]") {
  CHECK(found_after(BugsOfFfwd::kAnswerFirst) > 0);
  CHECK(found_after(BugsOfFfwd::kAskFirst) > 0);
  CHECK(found_after(BugsOfFfwd::kAnswerUnseen) > 0);
}

}  // namespace
}  // namespace latchlab::testing
