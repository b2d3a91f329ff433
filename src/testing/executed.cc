#include "src/testing/executed.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace latchlab::testing {

namespace {

[[noreturn]] void run_traced(const std::function<void()>& run) {
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
  asm volatile("int3" ::: "memory");
  run();
  asm volatile("int3" ::: "memory");
  _exit(0);
}

/// Returns true if the child has stopped at an int3 rather than after a single step.
bool at_breakpoint(pid_t child) {
  siginfo_t info;
  return ptrace(PTRACE_GETSIGINFO, child, nullptr, &info) == 0 && info.si_code == SI_KERNEL;
}

}  // namespace

std::optional<u64> executed_instructions(const std::function<void()>& run) {
  const pid_t child = fork();
  if (child == 0) run_traced(run);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return std::nullopt;
  u64 executed = 0;
  bool traced = true;
  do {
    ++executed;
    traced = ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) == 0 && waitpid(child, &status, 0) == child &&
             WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
  } while (traced && !at_breakpoint(child));
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return traced ? std::optional(executed) : std::nullopt;
}

}  // namespace latchlab::testing
