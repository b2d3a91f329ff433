// The processor's name and its clock.
#pragma once

#include <x86intrin.h>

#include <string>

#include "src/base/types.h"

namespace latchlab {

struct CpuName {
  std::string model;      // "Intel(R) Xeon(R) Processor"; "unknown" where /proc/cpuinfo does not say
  std::string microcode;  // "0x1"; "unknown" likewise
};

/// Reads /proc/cpuinfo, first processor. Called once per run.
CpuName cpu_name();

/// The time stamp counter: about 25 cycles, may move up past earlier loads.
[[gnu::always_inline]] inline u64 rdtsc() { return __rdtsc(); }

/// The same after every earlier instruction has executed; for the end of a measured interval.
[[gnu::always_inline]] inline u64 rdtscp() {
  unsigned processor;
  return __rdtscp(&processor);
}

/// Does the counter tick at one rate on every core, whatever the frequency? Otherwise cycles are not time.
bool has_invariant_tsc();

/// A hint that this is a spin loop. Aborts a hardware transaction with status zero.
[[gnu::always_inline]] inline void cpu_pause() { _mm_pause(); }

}  // namespace latchlab
