#include "src/testing/executed.h"

#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <vector>

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

/// Returns true if the instruction that the child will execute next is locked. The child is a fork, so its code is at
/// the same address here.
bool next_is_locked(pid_t child) {
  const auto at =
      reinterpret_cast<const unsigned char*>(ptrace(PTRACE_PEEKUSER, child, offsetof(user_regs_struct, rip), nullptr));
  u32 i = 0;
  for (; std::strchr("\x66\x67\xf2\xf3\x2e\x36\x3e\x26\x64\x65", at[i]) != nullptr && at[i] != 0; ++i) {}
  if (at[i] == 0xf0) return true;
  if ((at[i] & 0xf0) == 0x40) ++i;  // a REX prefix
  const bool exchanges = at[i] == 0x86 || at[i] == 0x87;
  return exchanges && at[i + 1] >> 6 != 3;  // with a register, it locks nothing
}

}  // namespace

std::optional<Executed> executed(const std::function<void()>& run) {
  const pid_t child = fork();
  if (child == 0) run_traced(run);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return std::nullopt;
  Executed executed{};
  bool traced = true;
  do {
    ++executed.instructions;
    executed.locked += next_is_locked(child) ? 1 : 0;
    traced = ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) == 0 && waitpid(child, &status, 0) == child &&
             WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
  } while (traced && !at_breakpoint(child));
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return traced ? std::optional(executed) : std::nullopt;
}

std::optional<Executed> executed_by_most(const std::function<void(u64 i)>& operation) {
  constexpr u64 kTimes = 25;
  std::vector<u64> instructions, locked;
  for (u64 i = 0; i < kTimes; ++i) {
    const auto one = executed([&] { operation(i); });
    if (!one) return std::nullopt;
    instructions.push_back(one->instructions);
    locked.push_back(one->locked);
  }
  std::ranges::sort(instructions);
  std::ranges::sort(locked);
  return Executed{instructions[kTimes / 2], locked[kTimes / 2]};
}

}  // namespace latchlab::testing
