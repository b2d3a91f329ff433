// The words of --pmu, and the events that they stand for on this processor. libpfm4 knows the codes of events, for some
// hundred processors. A family is a list of names that mean the same on all of them:
//
//     --pmu=tsx,cache,RETIRED_INSTRUCTIONS:u     two families and an event by its libpfm4 name
//     --pmu=off                                  no events, not even the software events
//
// A name that libpfm4 knows only for another processor is not an error: its event is missing, and the result says so.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/arch/features.h"
#include "src/arch/perf_calls.h"

namespace latchlab {

struct PmuEvent {
  std::string name;    ///< the family's name for the event, or the name that the user gave
  std::string family;  ///< "named" for an event that the user named
  std::string here;    ///< libpfm4's name for it on this processor: skx::RTM_RETIRED:ABORTED_MEM
  PerfCode code;
  bool of_packages = false;  ///< counted for a whole package, whatever runs there
  std::string missing;       ///< why this processor has no such event; empty if the kernel may be asked for it
};

struct PmuFamily {
  std::string_view name, meaning;
  std::vector<std::string_view> events;  ///< names
};

/// Returns all families, in the order of `harness list`.
[[nodiscard]] std::vector<PmuFamily> pmu_families();

/// The family that is always counted, unless with --pmu=off.
inline constexpr std::string_view kSoftwareFamily = "software";
/// The family of events that the user named.
inline constexpr std::string_view kNamedFamily = "named";

/// Returns the events that `words` (of --pmu) ask for, family by family, the software events first; none for "off".
/// Throws InputError for a name that is neither a family nor known to libpfm4.
[[nodiscard]] std::vector<PmuEvent> pmu_events(std::string_view words, const CpuFlags& flags = cpu_flags());

/// Returns the names that an event of a family may have in results: "cache.cache-misses", or "named.perf::CACHE-MISSES"
/// if the user gave its libpfm4 name.
[[nodiscard]] std::vector<std::string> pmu_names(std::string_view family, std::string_view event);

/// Returns libpfm4's name of the processor, such as "amd64_fam19h_zen4"; empty if it does not know it.
[[nodiscard]] std::string pmu_processor();

}  // namespace latchlab
