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

PmuAccess pmu_access(PerfCalls& calls) {
  PmuAccess out;
  out.processor = pmu_processor();
  const int here = static_cast<int>(this_cpu().value_or(0));
  for (const PmuFamily& family : pmu_families()) {
    std::vector<PmuEvent> events = pmu_events(family.name);
    std::erase_if(events, [&](const PmuEvent& event) { return event.family != family.name; });
    const std::vector<PmuCount> thread = PmuGroups(events, calls).counts(), package = PmuGroups(events, calls, here).counts();
    std::size_t counted = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const PmuCount& count = events[i].of_packages ? package[i] : thread[i];
      counted += events[i].missing.empty() && count.error == 0;
      if (family.name != "core" || events[i].name != "cycles") continue;
      out.error = count.error;
      out.user_only = count.user_only;
    }
    out.families += fmt::format("{}{} {} of {}", out.families.empty() ? "" : ", ", family.name, counted, events.size());
  }
  return out;
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
