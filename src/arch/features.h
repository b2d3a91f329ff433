// What the processor can do: what it says (CPUID) and, for hardware transactions, what it really does (the
// probe).
//
// CPUID and kernel settings lie in both directions about RTM: microcode leaves the flag and aborts
// everything, hypervisors hide the flag and execute it, emulators accept XBEGIN and abort every time with
// status 0. So the probe runs transactions on every processor that this process may use, over memory that it
// has touched, and believes only what it sees:
//
//   commits    at least half of the transactions on each processor commit and leave their store behind
//   rollback   the store before an XABORT is gone and the status carries the code
//   atomicity  two threads add to two words in transactions; none ever sees them differ, no addition is lost
//
// An instruction that the processor does not have raises SIGILL, which the probe catches and takes as the
// answer "absent". It restores the caller's signal handler, leaves the caller's affinity alone (it runs on
// threads of its own), takes a few milliseconds, and runs once per process. Valgrind and other emulators take
// the same paths.
#pragma once

#include <optional>
#include <string>

#include "src/arch/rtm.h"
#include "src/base/words.h"

namespace latchlab {

/// What CPUID says. avx2 and those of avx512 also need the operating system to save the registers.
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
  std::string evidence;  // one sentence of what was seen, without a final stop
};

/// The result of the probe; the first call runs it. Thread-safe. Never throws, never dies.
const RtmProbe& rtm_probe();

/// Whether XTEST said yes between the prefixes of hle.h.
struct HleProbe {
  bool elides = false;
  std::string evidence;  // one sentence of what was seen, without a final stop
};

/// The result of the probe, on the calling thread's processor; the first call runs it. Thread-safe. Never throws, never
/// dies.
const HleProbe& hle_probe();

/// Why the prefixes elide nothing in this process, as one clause; nothing where they do.
std::optional<std::string> why_no_hle();

/// Why a process that has seen this must not run hardware transactions, as one clause for a report; nothing if it may.
/// In a sanitizer build it never may: a bug that aborts a transaction is undone and done again under the lock, or
/// nowhere, so the sanitizer would stay silent. Bodies there run on the Emulated machine or on the lock, where it sees
/// every access.
std::optional<std::string> why_no_rtm(const RtmProbe& probe);

/// The same for the probe of this process: why rtm_works() says no, nothing when it says yes.
std::optional<std::string> why_no_rtm();

/// Why a process that has seen this must not suspend the loads of its transactions, as one clause; nothing if it may.
/// CPUID is believed here: who announces TSXLDTRK and runs transactions executes its instructions.
std::optional<std::string> why_no_suspended_loads(const RtmProbe& probe, const CpuFlags& flags);

/// The same for this process.
std::optional<std::string> why_no_suspended_loads();

}  // namespace latchlab
