#pragma once
// Runs mixes of operations on the race finder, for any index under any policy.
#include <cstdio>
#include <string_view>
#include <vector>

#include "src/arch/sanitizer.h"
#include "src/testing/catch.h"
#include "src/testing/race_program.h"
#include "src/testing/thorough.h"
#include "sync/tiny_testing.h"

namespace latchlab::testing {

/// Number of programs for one mix under one policy, and the number of schedules that they share.
inline constexpr u32 kRacePrograms = 40;
/// A search for a seeded bug has all schedules, since it ends at the first failure. A race without a failure runs all
/// that it has: a quarter of them, or all of them in ./test --all; under sanitizers a twentieth.
inline constexpr u32 kRaceSchedules = 10'000;
inline u32 schedules_of_a_proof(u32 schedules = kRaceSchedules) {
  return schedules / kRacePrograms / (kSanitized ? 20 : thorough() ? 1 : 4);
}

/// Runs every mix on `Index`, each under the share of `schedules` schedules that a proof has.
template <class Index, class Raw>
void explore(const std::vector<RaceMix<Raw>>& mixes, std::string_view policy, RaceOptions options,
             u32 schedules = kRaceSchedules) {
  options.schedules = schedules_of_a_proof(schedules);
  REQUIRE(options.schedules > 0);
  REQUIRE_FALSE(mixes.empty());
  for (const auto& mix : mixes) {
    const ProgramsReport report = run_programs<Index>(mix, policy, kRacePrograms, options);
    INFO(report.message);
    CHECK(report.failures == 0);
    if (report.failures == 0) CHECK(report.schedules == u64{options.schedules} * kRacePrograms);
    std::printf("%s\n", report.message.c_str());
  }
}

/// Runs `programs` programs of every mix as scenarios of type S, each under `options.schedules` schedules; ends at the
/// first failure.
template <class S, class Raw>
ProgramsReport run_mixes(const std::vector<RaceMix<Raw>>& mixes, std::string_view policy, u32 programs,
                         RaceOptions options) {
  ProgramsReport all;
  for (const auto& mix : mixes) {
    for (u32 number = 0; number < programs && all.failures == 0; ++number) {
      const RaceProgram<Raw> program = draw_program(mix, number, options.fibers);
      options.fibers = static_cast<u32>(program.fibers.size());
      const RaceReport one = find_races<S>(options, program, policy);
      all.schedules += one.schedules;
      all.failures += one.failures;
      if (one.failures != 0) all.message = "mix \"" + mix.name + "\": " + one.str();
    }
  }
  return all;
}

/// Runs a quarter of the programs of every mix as scenarios of type S, none of which may fail.
template <class S, class Raw>
void explore_mixes(const std::vector<RaceMix<Raw>>& mixes, std::string_view policy, RaceOptions options) {
  options.schedules = schedules_of_a_proof();
  const ProgramsReport report = run_mixes<S>(mixes, policy, kRacePrograms / 4, options);
  INFO(policy << ": " << report.message);
  CHECK(report.failures == 0);
  CHECK(report.schedules > 0);
}

}  // namespace latchlab::testing
