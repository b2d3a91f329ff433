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
inline constexpr u32 kRaceSchedules = 10'000;

/// Runs every mix on `Index`, each under `schedules` schedules; under sanitizers under a twentieth of them.
template <class Index, class Raw>
void explore(const std::vector<RaceMix<Raw>>& mixes, std::string_view policy, RaceOptions options,
             u32 schedules = kRaceSchedules) {
  options.schedules = schedules / kRacePrograms / (kSanitized ? 20 : 1);
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

}  // namespace latchlab::testing
