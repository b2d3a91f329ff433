#include "harness/host/pmu_access.h"

#include <cerrno>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "harness/host/placement.h"
#include "harness/host/pmu_events.h"
#include "harness/host/pmu_groups.h"
#include "src/base/spec.h"

namespace latchlab {

namespace {

/// Returns how to get the permission to count `event`.
std::string permission(const PmuEvent& event, const Root& root) {
  const std::string paranoid = read_fact(root, "/proc/sys/kernel/perf_event_paranoid").value_or("unknown");
  const u64 enough = event.of_packages ? 0 : 1;
  if (const auto level = parse_u64(paranoid); paranoid == "-1" || (level && *level <= enough)) {
    return fmt::format(
        "kernel.perf_event_paranoid is {}, which is enough: let the container's seccomp profile allow "
        "perf_event_open",
        paranoid);
  }
  return fmt::format(
      "sysctl kernel.perf_event_paranoid={} (it is {}), or give the process CAP_PERFMON; a container's seccomp "
      "profile may forbid perf_event_open, too",
      enough, paranoid);
}

/// Tries to count each event here, and returns the counts with their errors.
std::vector<PmuCount> tried(const std::vector<PmuEvent>& events, PerfCalls& calls) {
  const int here = static_cast<int>(this_cpu().value_or(0));
  std::vector<PmuCount> counts = PmuGroups(events, calls).counts();
  const std::vector<PmuCount> package = PmuGroups(events, calls, here).counts();
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].of_packages) counts[i] = package[i];
  }
  return counts;
}

}  // namespace

PmuAccess pmu_access(PerfCalls& calls) {
  PmuAccess out;
  out.processor = pmu_processor();
  for (const PmuFamily& family : pmu_families()) {
    std::vector<PmuEvent> events = pmu_events(family.name);
    std::erase_if(events, [&](const PmuEvent& event) { return event.family != family.name; });
    const std::vector<PmuCount> counts = tried(events, calls);
    std::size_t counted = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const PmuCount& count = counts[i];
      counted += events[i].missing.empty() && count.error == 0;
      if (family.name != "core" || events[i].name != "cycles") continue;
      out.error = count.error;
      out.user_only = count.user_only;
    }
    out.families += fmt::format("{}{} {} of {}", out.families.empty() ? "" : ", ", family.name, counted, events.size());
  }
  return out;
}

std::vector<std::string> why_not_here(const std::vector<PmuEvent>& events, PerfCalls& calls, const Root& root) {
  const std::vector<PmuCount> counts = tried(events, calls);
  std::vector<std::string> whys;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const bool asked = events[i].missing.empty() && counts[i].error != 0;
    whys.push_back(asked ? why_not_counted(counts[i].error, events[i], root).why + " (harness doctor says more)"
                         : events[i].missing);
  }
  return whys;
}

NotCounted why_not_counted(int error, const PmuEvent& event, const Root& root) {
  const char* const name = strerrorname_np(error);
  const std::string code = name != nullptr ? name : std::to_string(error);
  switch (error) {
    case EACCES:
    case EPERM: return {.why = code + ": not permitted", .remedy = permission(event, root)};
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case EOPNOTSUPP:
      return {.why = code + ": the kernel has no such counter here",
              .remedy = "in a virtual machine have the host expose a virtual PMU, or run on the bare machine"};
    case EINVAL: return {.why = code + ": the processor, as the kernel knows it, cannot count this", .remedy = ""};
    case EBUSY: return {.why = code + ": another program has the counter", .remedy = "sysctl kernel.nmi_watchdog=0"};
    case EMFILE:
    case ENFILE:
      return {.why = code + ": each event of each thread needs an open file",
              .remedy = "raise ulimit -n, or ask for fewer events"};
    case EIO: return {.why = code + ": the kernel returned too few bytes of the counter", .remedy = ""};
    default: return {.why = fmt::format("{}: {}", code, std::strerror(error)), .remedy = ""};
  }
}

}  // namespace latchlab
