#pragma once
// How a test says that the race finder, or a history of threads, finds a bug that is seeded (sync/seeded_bugs.h).
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "indexes/explore_test.h"
#include "sync/seeded_bugs_testing.h"

namespace latchlab::testing {

/// Whether `run` finds a failure. Broken code may also run into a null pointer, so it runs in a process of its
/// own, whose report comes through a pipe; a crash is a find too.
template <class Run>
bool caught(const char* name, bool& bug, Run&& run) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    for (const int fatal : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE})
      std::signal(fatal, SIG_DFL);  // Catch would tell a story
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
  // Not any signal: what somebody else sends to the process is no find. SIGPROF: the search has put an end to itself.
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const bool stuck = signal == SIGPROF;
  const bool crashed =
      text.empty() && (signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT || signal == SIGILL || stuck);
  std::printf("seeded bug %-20s %s\n", name,
              !crashed ? text.c_str()
              : stuck  ? "caught: it does not end"
                       : "caught by a crash");
  return crashed || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/// A bug shows in some programs and not in others: a search goes on through more of them than sound code is run with,
/// and ends with the first find.
inline constexpr u32 kSearchedPrograms = 4 * kRacePrograms;

template <class Index>
auto find_in_mixes(std::string policy, double abort_rate, std::vector<RaceMix<u64>> mixes) {
  return [=] {
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

}  // namespace latchlab::testing
