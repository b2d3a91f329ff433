#include "src/arch/features.h"

#include <cpuid.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>

#include <cstdio>
#include <exception>
#include <thread>
#include <vector>

#include "src/arch/hle.h"
#include "src/arch/sanitizer.h"

namespace latchlab {
namespace {

constexpr u32 kTries = 1000;
constexpr u32 kAtomicityTries = 2000;

// Marks code with transactions on plain memory as uninstrumented. A sanitizer's runtime call inside a transaction would
// abort it, and the thread sanitizer does not know that transactions synchronize.
#define LATCHLAB_UNINSTRUMENTED __attribute__((noinline, no_sanitize("address", "thread", "undefined")))

// The state of the thread that the signal handler reads: a handler has no arguments of ours. Fibers need none of their
// own. A probe runs on a thread of its own, or to its end without an access at which a fiber could be switched.
thread_local sigjmp_buf illegal_instruction;
thread_local volatile sig_atomic_t illegal_instruction_expected = 0;

extern "C" void on_sigill(int signal_number) {
  if (illegal_instruction_expected) siglongjmp(illegal_instruction, 1);
  // The signal is not the probe's: let the instruction run again under the default action.
  signal(signal_number, SIG_DFL);
}

class CatchIllegalInstruction {
 public:
  CatchIllegalInstruction() {
    struct sigaction action = {};
    action.sa_handler = on_sigill;
    sigemptyset(&action.sa_mask);
    sigaction(SIGILL, &action, &before_);
  }
  ~CatchIllegalInstruction() { sigaction(SIGILL, &before_, nullptr); }
  CatchIllegalInstruction(const CatchIllegalInstruction&) = delete;
  CatchIllegalInstruction& operator=(const CatchIllegalInstruction&) = delete;

 private:
  struct sigaction before_;
};

// Runs the body; returns false if it met an instruction that the processor does not have. The body owns nothing that a
// jump out of it would leak.
template <class Body>
bool executes(Body&& body) {
  if (sigsetjmp(illegal_instruction, 1)) {
    illegal_instruction_expected = 0;
    return false;
  }
  illegal_instruction_expected = 1;
  body();
  illegal_instruction_expected = 0;
  return true;
}

struct Seen {
  u32 commits = 0;
  u32 last_status = 0;
  bool effects_right = true;  // a commit leaves its store behind, an abort does not
  bool rollback_right = true;
};

LATCHLAB_UNINSTRUMENTED void try_transactions(volatile u64* word, Seen* seen) {
  for (u32 i = 0; i < kTries; ++i) {
    const u64 before = *word;
    const u32 status = rtm_begin();
    if (status == kCommitted) {
      *word = before + 1;
      rtm_end();
      ++seen->commits;
      seen->effects_right &= *word == before + 1;
    } else {
      seen->last_status = status;
      seen->effects_right &= *word == before;
    }
  }
  if (seen->commits == 0) return;

  // Interrupts abort too: the code must arrive in at least one try, the store in none.
  bool code_seen = false;
  for (u32 i = 0; i < kTries; ++i) {
    const u64 before = *word;
    const u32 status = rtm_begin();
    if (status == kCommitted) {
      *word = before + 1;
      rtm_abort<0x5a>();
    }
    code_seen |= (status & kAbortExplicit) && explicit_code(status) == 0x5a;
    seen->rollback_right &= *word == before;
  }
  seen->rollback_right &= code_seen;
}

// Two words on lines of their own; each transaction adds one to both.
struct Pair {
  alignas(kFalseSharingBytes) volatile u64 first = 0;
  alignas(kFalseSharingBytes) volatile u64 second = 0;
};

struct Added {
  u64 commits = 0;
  bool saw_difference = false;
};

LATCHLAB_UNINSTRUMENTED void add_to_both(Pair* pair, Added* added) {
  for (u32 i = 0; i < kAtomicityTries; ++i) {
    bool differ = false;
    if (rtm_begin() == kCommitted) {
      const u64 value = pair->first;
      pair->first = value + 1;
      differ = pair->second != value;
      pair->second = value + 1;
      rtm_end();
      ++added->commits;
      added->saw_difference |= differ;
    }
  }
}

// Returns the processors that this process may use, never none. If the kernel has more processors than the set can
// hold, the current one stands for all.
std::vector<int> allowed_processors() {
  std::vector<int> allowed;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {sched_getcpu()};
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) allowed.push_back(cpu);
  }
  return allowed;
}

void pin_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  // If this is forbidden, the transactions still run, on a processor of the kernel's choice.
  (void)sched_setaffinity(0, sizeof set, &set);
}

std::string hex(u32 value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", value);
  return text;
}

std::string what_cpuid_says() {
  const CpuFlags flags = cpu_flags();
  if (flags.rtm_always_abort) return "CPUID says that RTM always aborts";
  return flags.rtm ? "CPUID lists RTM" : "CPUID lists no RTM";
}

RtmProbe run_probe() {
  const std::string says = what_cpuid_says() + "; ";
  const CatchIllegalInstruction guard;
  const std::vector<int> processors = allowed_processors();
  u64 tries = 0, commits = 0;

  for (const int cpu : processors) {
    alignas(kFalseSharingBytes) volatile u64 word = 1;
    Seen seen;
    bool executed = false;
    std::thread([&] {
      pin_to(cpu);
      executed = executes([&] { try_transactions(&word, &seen); });
    }).join();

    tries += kTries;
    commits += seen.commits;
    const std::string where = " on processor " + std::to_string(cpu);
    if (!executed) return {RtmOutcome::kAbsent, says + "XBEGIN raised an illegal instruction" + where};
    if (!seen.effects_right) {
      return {RtmOutcome::kAbsent, says + "the stores of a transaction contradicted its status" + where};
    }
    if (seen.commits < kTries / 2) {
      const std::string outcome = std::to_string(seen.commits) + " commits, last status " + hex(seen.last_status);
      return {RtmOutcome::kAlwaysAborts,
              says + "XBEGIN executed " + std::to_string(kTries) + " times" + where + ": " + outcome};
    }
    if (!seen.rollback_right) {
      return {RtmOutcome::kAbsent, says + "XABORT did not undo a transaction" + where};
    }
  }

  Pair pair;
  Added added[2];
  {
    std::thread other([&] { add_to_both(&pair, &added[1]); });
    std::thread one([&] { add_to_both(&pair, &added[0]); });
    other.join();
    one.join();
  }
  const u64 additions = added[0].commits + added[1].commits;
  const bool saw_difference = added[0].saw_difference || added[1].saw_difference;
  if (saw_difference || pair.first != additions || pair.second != additions) {
    return {RtmOutcome::kAbsent, says + "transactions of two threads were not atomic"};
  }
  return {RtmOutcome::kWorks, says + std::to_string(commits) + " of " + std::to_string(tries) +
                                  " transactions committed on " + std::to_string(processors.size()) +
                                  " processors, rollback and atomicity of two threads seen"};
}

LATCHLAB_UNINSTRUMENTED u32 count_elided(std::atomic<u32>* word) {
  u32 elided = 0;
  for (u32 i = 0; i < kTries; ++i) {
    (void)hle_exchange(*word, 1);
    const bool inside = rtm_test();
    hle_store(*word, 0);
    elided += inside;
  }
  return elided;
}

HleProbe run_hle_probe() {
  const CatchIllegalInstruction guard;
  alignas(kFalseSharingBytes) std::atomic<u32> word{0};
  u32 elided = 0;
  // A processor without XTEST has neither RTM nor HLE.
  if (!executes([&] { elided = count_elided(&word); })) return {false, "XTEST raised an illegal instruction"};
  const std::string seen = std::to_string(elided) + " of " + std::to_string(kTries) + " times";
  return {elided >= kTries / 2, "XTEST said that XACQUIRE had begun an elision " + seen};
}

}  // namespace

CpuFlags cpu_flags() {
  CpuFlags flags;
  unsigned a, b, c, d;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
    flags.hle = b >> 4 & 1;
    flags.rtm = b >> 11 & 1;
    flags.rtm_always_abort = d >> 11 & 1;
    flags.tsxldtrk = d >> 16 & 1;
  }
  flags.avx2 = __builtin_cpu_supports("avx2");
  flags.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  return flags;
}

const RtmProbe& rtm_probe() {
  static const RtmProbe probe = [] {
    try {
      return run_probe();
    } catch (const std::exception& error) {
      return RtmProbe{RtmOutcome::kAbsent, std::string("the probe could not run: ") + error.what()};
    }
  }();
  return probe;
}

std::optional<std::string> why_no_rtm(const RtmProbe& probe) {
  if (probe.outcome != RtmOutcome::kWorks) {
    return "hardware transactions: " + std::string(word(probe.outcome)) + " (" + probe.evidence + ")";
  }
  if (kSanitized) return "hardware transactions are not used in a sanitizer build";
  return std::nullopt;
}

const HleProbe& hle_probe() {
  static const HleProbe probe = run_hle_probe();
  return probe;
}

std::optional<std::string> why_no_hle() {
  if (kSanitized) return "hardware transactions are not used in a sanitizer build";
  if (hle_probe().elides) return std::nullopt;
  return "the processor does not elide: " + hle_probe().evidence;
}

std::optional<std::string> why_no_rtm() { return why_no_rtm(rtm_probe()); }

std::optional<std::string> why_no_suspended_loads(const RtmProbe& probe, const CpuFlags& flags) {
  if (auto why = why_no_rtm(probe)) return why;
  if (!flags.tsxldtrk) return "the processor has no TSXLDTRK";
  return std::nullopt;
}

std::optional<std::string> why_no_suspended_loads() { return why_no_suspended_loads(rtm_probe(), cpu_flags()); }

bool rtm_detail::probe_usable() {
  const bool yes = !why_no_rtm();
  usable.store(yes ? Usable::kYes : Usable::kNo, kRelaxed);  // as in rtm_works: the byte is the whole message
  return yes;
}

}  // namespace latchlab
