#pragma once
// Searches for seeded bugs by histories of real threads.
#include <sys/time.h>

#include <string>
#include <string_view>
#include <vector>

#include "indexes/erased.h"
#include "indexes/explore_test.h"
#include "indexes/threads_history_test.h"

namespace latchlab::testing {

/// Limits the time of a history. In a broken index threads may wait for each other without end. A history takes some
/// milliseconds of processor time, and SIGPROF ends the process after a hundred times as much.
inline void watch_history() {
  const itimerval watch{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 300'000}};
  setitimer(ITIMER_PROF, &watch, nullptr);
}

/// Runs up to `most` histories, of the mixes in turn. Ends with the first impossible one.
template <class Index>
ProgramsReport run_histories(std::string_view policy, const std::vector<RaceMix<u64>>& mixes, u32 most,
                             void (*before_each)()) {
  ProgramsReport report;
  for (u32 number = 0; number < most && report.failures == 0; ++number) {
    const RaceMix<u64>& mix = mixes[number % mixes.size()];
    const auto program = draw_program(for_threads(mix, 200), draw(test_seed(), 0, number), kHistoryThreads);
    ErasedOf<Index> index(Spec::parse(policy), {}, Spec::parse("index"));
    before_each();
    const std::string complaint = ThreadsHistory(index, program).run(draw(test_seed(), 1, number));
    ++report.schedules;
    if (complaint.empty()) continue;
    ++report.failures;
    report.message = "mix \"" + mix.name + "\": " + complaint;
  }
  return report;
}

}  // namespace latchlab::testing
