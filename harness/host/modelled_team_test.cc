// Tests of the team on a modelled machine: its threads, its clock, and loading.
#include "harness/host/modelled_team.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "src/base/error.h"
#include "src/base/spec.h"
#include "src/machine/modelled.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

model::MachineFile machine_of_team() { return model::MachineFile::of(Spec::parse("haswell-ep")); }

struct alignas(64) Shared {
  Modelled::Atomic<u64> value{0};
};

/// Returns the ns that a phase takes in which every thread adds 100 times to one counter.
u64 ns_of_phase(ModelledTeam& team, Shared& shared) {
  const u64 begin = team.clock().now();
  const auto failure = team.run_all([&](u32) {
    for (u32 i = 0; i < 100; ++i) shared.value.fetch_add(1, kRelaxed);
  });
  CHECK_FALSE(failure);
  return team.clock().now() - begin;
}

TEST_CASE("a modelled team: phases take the time of their references, loading takes none") {
  ModelledWorld::get().reset();
  ModelledTeam team(machine_of_team(), {0, 1, 14, 15}, 1);
  Shared shared;
  team.begin(4);
  team.load(true);
  CHECK(ns_of_phase(team, shared) == 0);
  team.load(false);
  const u64 first = ns_of_phase(team, shared), second = ns_of_phase(team, shared);
  CHECK(first > 400 * 20);
  CHECK(first < 400 * 500);
  CHECK(second > first / 2);
  CHECK(second < first * 2);
  CHECK(shared.value.load(kRelaxed) == 1200);
  team.end();
}

TEST_CASE("a modelled team: virtual time begins before the first mark of NUMA balancing, and not at 0") {
  const model::MachineFile machine = machine_of_team();
  ModelledTeam team(machine, {0}, 1);
  CHECK(team.clock().now() > 0);
  CHECK(static_cast<double>(team.clock().now()) < 1e9 / machine.parameters().kernel.marks_per_s);
}

TEST_CASE("a modelled team: refuses places that the machine lacks, and threads without a place") {
  CHECK_THROWS_AS(ModelledTeam(machine_of_team(), {56}, 1), InputError);
  ModelledTeam team(machine_of_team(), {0, 55}, 1);
  team.begin(2);
  team.end();
  CHECK_THROWS_AS(team.begin(3), std::invalid_argument);
}

TEST_CASE("a modelled team: waits pass virtual time, and looks at the clock pass none") {
  ModelledWorld::get().reset();
  ModelledTeam team(machine_of_team(), {0, 1}, 1);
  team.begin(2);
  std::vector<u64> looks(2), ends(2);
  CHECK_FALSE(team.run_all([&](u32 thread) {
    const u64 begin = team.clock().now();
    looks[thread] = team.clock().now() - begin;
    while (team.clock().now() < begin + 5000) team.idle(begin + 5000, true);
    ends[thread] = team.clock().now() - begin;
  }));
  CHECK(looks == std::vector<u64>(2, 0));
  CHECK(ends == std::vector<u64>(2, 5000));
  team.end();
}

}  // namespace
}  // namespace latchlab
