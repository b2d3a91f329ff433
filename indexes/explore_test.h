#pragma once
// Runs mixes of operations on the race finder, for any index under any policy.
#include <cstdio>
#include <string_view>
#include <vector>

#include "src/arch/sanitizer.h"
#include "src/testing/catch.h"
#include "src/testing/race_program.h"
#include "sync/tiny_testing.h"

namespace latchlab::testing {

/// Number of programs for one mix under one policy, and the number of schedules that they share.
inline constexpr u32 kRacePrograms = 40;
/// A search for a seeded bug has all schedules in every build, since it ends at the first failure. A race without a
/// failure runs them all, and so has fewer under sanitizers.
inline constexpr u32 kRaceSchedules = 10'000;
inline constexpr u32 kProofShare = kSanitized ? 20 : 1;

/// Runs every mix on `Index`, each under `schedules` schedules; under sanitizers under fewer.
template <class Index, class Raw>
void explore(const std::vector<RaceMix<Raw>>& mixes, std::string_view policy, RaceOptions options,
             u32 schedules = kRaceSchedules) {
  options.schedules = schedules / kRacePrograms / kProofShare;
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
  options.schedules = kRaceSchedules / kRacePrograms / kProofShare;
  const ProgramsReport report = run_mixes<S>(mixes, policy, kRacePrograms / 4, options);
  INFO(policy << ": " << report.message);
  CHECK(report.failures == 0);
  CHECK(report.schedules > 0);
}

}  // namespace latchlab::testing
