#pragma once
// Checks that the race finder, or a history of threads, finds a seeded bug (sync/seeded_bugs.h).
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "indexes/explore_test.h"
#include "sync/seeded_bugs_testing.h"

namespace latchlab::testing {

/// Returns true if `run` finds a failure. Broken code may crash, so `run` has a process of its own and reports through
/// a pipe. A crash counts as a find.
template <class Run>
bool caught(const char* name, bool& bug, Run&& run) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    for (const int fatal : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE})
      std::signal(fatal, SIG_DFL);  // no report by Catch
    bug = true;
    const ProgramsReport report = run();
    const std::string text =
        (report.failures != 0 ? std::to_string(report.schedules) : std::string("-")) + " " + report.message;
    _exit(write(ends[1], text.data(), text.size()) < 0 || report.failures == 0 ? 1 : 0);
  }
  close(ends[1]);
  std::string text(2000, '\0');
  const ssize_t got = read(ends[0], text.data(), text.size());
  close(ends[0]);
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  int status = 0;
  waitpid(child, &status, 0);
  // Only these signals count: another process may send any signal. SIGPROF means that the search has ended itself.
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const bool stuck = signal == SIGPROF;
  const bool crashed =
      text.empty() && (signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT || signal == SIGILL || stuck);
  std::printf("seeded bug %-20s %s\n", name,
              !crashed ? text.c_str()
              : stuck  ? "caught: the threads do not end"
                       : "caught by a crash");
  return crashed || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/// A bug shows in some programs and not in others. So a search runs more programs than a test of sound code, and ends
/// with the first find.
inline constexpr u32 kSearchedPrograms = 4 * kRacePrograms;

template <class Index>
auto find_in_mixes(const std::string& policy, double abort_rate, const std::vector<RaceMix<u64>>& mixes) {
  return [=] {  // copies both
    ProgramsReport all;
    for (const auto& mix : mixes) {
      const ProgramsReport one = run_programs<Index>(
          mix, policy, kSearchedPrograms, {.schedules = kRaceSchedules / kRacePrograms, .abort_rate = abort_rate});
      all.schedules += one.schedules;
      all.failures += one.failures;
      all.message = one.message;
      if (all.failures != 0) break;
    }
    return all;
  };
}

/// Searches as find_in_mixes does, with programs that are scenarios of type S, and no aborts by injection.
template <class S>
auto search_in_mixes(const std::string& policy, const std::vector<RaceMix<u64>>& mixes) {
  return [=] { return run_mixes<S>(mixes, policy, kSearchedPrograms, {.schedules = kRaceSchedules / kRacePrograms}); };
}

}  // namespace latchlab::testing
