// The words of --pmu, and the events that they are on this processor. Which code an event has libpfm4 knows, for some
// hundred processors; a family is a list of names that mean the same on all of them:
//
//     --pmu=tsx,cache,RETIRED_INSTRUCTIONS:u     two families and an event by its libpfm4 name
//     --pmu=off                                  nothing, not even the software events that the kernel counts by itself
//
// A name that libpfm4 knows for another processor is no mistake: the event is missing here, and the result says so.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/arch/features.h"
#include "src/arch/perf_calls.h"

namespace latchlab {

struct PmuEvent {
  std::string name;    ///< as the family has it, or as it was asked for
  std::string family;  ///< "named" for one that was asked for by name
  std::string here;    ///< what it is on this processor, in libpfm4's words: skx::RTM_RETIRED:ABORTED_MEM
  PerfCode code;
  bool of_packages = false;  ///< counted for whole packages, whoever runs there
  std::string missing;       ///< why there is none on this processor; empty where the kernel may be asked
};

struct PmuFamily {
  std::string_view name, meaning;
  std::vector<std::string_view> events;  ///< by name
};

/// In the order of `harness list`.
[[nodiscard]] std::vector<PmuFamily> pmu_families();

/// The family that is counted whatever else is.
inline constexpr std::string_view kSoftwareFamily = "software";
/// The family of events that were asked for by name.
inline constexpr std::string_view kNamedFamily = "named";

/// What `words` (of --pmu) ask for, family by family, the software events first; nothing for "off". Throws InputError
/// for a name that is neither a family nor known to libpfm4.
[[nodiscard]] std::vector<PmuEvent> pmu_events(std::string_view words, const CpuFlags& flags = cpu_flags());

/// Returns what results may call an event of a family: "cache.cache-misses", or "named.perf::CACHE-MISSES" where it was
/// asked for by a name of libpfm4.
[[nodiscard]] std::vector<std::string> pmu_names(std::string_view family, std::string_view event);

/// The processor as libpfm4 sees it: "amd64_fam19h_zen4"; empty if it does not know it.
[[nodiscard]] std::string pmu_processor();

}  // namespace latchlab
