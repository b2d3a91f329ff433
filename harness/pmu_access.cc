#include "harness/pmu_access.h"

#include <cerrno>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "harness/doctor.h"
#include "harness/placement.h"
#include "harness/pmu_account.h"
#include "harness/pmu_events.h"
#include "harness/pmu_groups.h"

namespace latchlab {

namespace {

/// How the kernel takes a try of each, here.
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
    whys.push_back(asked ? why_not_counted(counts[i].error, events[i], root).why + " (harness doctor says more)" : events[i].missing);
  }
  return whys;
}

Finding finding_of(const PmuAccess& access, const Root& root) {
  Finding out{Grade::kGood, "hardware counters", {}, {}};
  const std::string known =
      fmt::format("libpfm4 {}; events that are counted: {}",
                  access.processor.empty() ? "does not know this processor" : "knows this processor as " + access.processor,
                  access.families);
  const PmuEvent cycles{.name = "cycles", .family = "core", .here = {}, .code = {}, .of_packages = false, .missing = {}};
  if (access.error != 0) {
    const NotCounted not_counted = why_not_counted(access.error, cycles, root);
    out.grade = Grade::kMissing;
    out.text = fmt::format("perf_event_open says {}; {}", not_counted.why, known);
    out.remedy = not_counted.remedy;
  } else if (access.user_only) {
    out.grade = Grade::kMind;
    out.text = fmt::format("only outside the kernel; {}", known);
    out.remedy = why_not_counted(EACCES, cycles, root).remedy;
  } else {
    out.text = known;
  }
  return out;
}

}  // namespace latchlab
