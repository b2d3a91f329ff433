// The processor's features: the flags of CPUID and, for hardware transactions, a probe of what really happens.
//
// CPUID and kernel settings lie in both directions about RTM. Microcode leaves the flag and aborts every transaction;
// hypervisors hide the flag and execute the instructions; emulators accept XBEGIN and always abort with status 0.
// So the probe runs transactions on every processor that this process may use, over memory that it has touched.
// It believes only what it sees:
//
//   1 commits    at least half of the transactions on each processor commit and leave their store behind
//   2 rollback   the store before an XABORT is gone, and the status carries the code
//   3 atomicity  two threads add to two words in transactions; neither sees them differ, and no addition is lost
//
// A missing instruction raises SIGILL; the probe catches the signal and answers "absent". The probe restores the
// caller's signal handler and runs on threads of its own, so the caller's affinity stays as it was. It takes a few
// milliseconds and runs once per process. Valgrind and other emulators take the same paths.
#pragma once

#include <optional>
#include <string>

#include "src/arch/rtm.h"
#include "src/base/words.h"

namespace latchlab {

/// The flags of CPUID. avx2 and avx512 are set only if the operating system saves the registers as well.
struct CpuFlags {
  bool rtm = false;
  bool hle = false;
  bool rtm_always_abort = false;  // the processor aborts every transaction at XBEGIN
  bool tsxldtrk = false;          // suspend load address tracking
  bool avx2 = false;
  bool avx512 = false;  // F, BW, VL and DQ
};

CpuFlags cpu_flags();

enum class RtmOutcome {
  kWorks,
  kAlwaysAborts,  // XBEGIN executes, but transactions do not commit
  kAbsent,        // XBEGIN does not execute, or does something that is not a transaction
};

template <>
inline constexpr std::array kWords<RtmOutcome>{"works"sv, "always-aborts"sv, "absent"sv};

struct RtmProbe {
  RtmOutcome outcome = RtmOutcome::kAbsent;
  std::string evidence;  // one sentence about what the probe saw, without a full stop
};

/// Returns the result of the probe; the first call runs it. Thread-safe; never throws and never ends the process.
const RtmProbe& rtm_probe();

/// The result of trying lock elision by the prefixes of hle.h.
struct HleProbe {
  bool elides = false;   // XTEST was true between the prefixes
  std::string evidence;  // one sentence about what the probe saw, without a full stop
};

/// Returns the result of the probe on the calling thread's processor; the first call runs it. Thread-safe; never throws
/// and never ends the process.
const HleProbe& hle_probe();

/// Returns the reason why the prefixes elide nothing in this process, as one clause, or nothing if they elide.
std::optional<std::string> why_no_hle();

/// Returns the reason why a process with this probe must not run hardware transactions, as one clause for a report, or
/// nothing if it may. A sanitizer build never may. A bug that aborts a transaction is undone, and happens again under
/// the lock or not at all. So the sanitizer would stay silent. Bodies there run on the Emulated machine or under the
/// lock, where the sanitizer sees every access.
std::optional<std::string> why_no_rtm(const RtmProbe& probe);

/// Returns the same for the probe of this process: the reason why rtm_works() is false, or nothing if it is true.
std::optional<std::string> why_no_rtm();

/// Returns the reason why a process with this probe must not suspend the loads of its transactions, as one clause, or
/// nothing if it may. CPUID is believed here: a processor that announces TSXLDTRK and runs transactions executes its
/// instructions.
std::optional<std::string> why_no_suspended_loads(const RtmProbe& probe, const CpuFlags& flags);

/// Returns the same for this process.
std::optional<std::string> why_no_suspended_loads();

}  // namespace latchlab
