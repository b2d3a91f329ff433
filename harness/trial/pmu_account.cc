#include "harness/trial/pmu_account.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "harness/host/pmu_access.h"
#include "src/base/spec.h"

namespace latchlab {
namespace {

constexpr double kJoulesPerCount = 0x1p-32;  // the unit of energy-pkg, on every processor

/// Returns the total of one event over all threads, or packages.
OrReason<PmuTotal> total_of(const PmuEvent& event, std::size_t index, const std::vector<std::vector<PmuCount>>& all,
                            u64 operations, const Root& root) {
  using Total = OrReason<PmuTotal>;
  if (!event.missing.empty()) return Total::missing(event.missing);
  const std::string_view counted = event.of_packages ? "packages" : "threads";
  const auto some = [&](std::ptrdiff_t of_them) {
    return of_them == std::ssize(all) ? std::string() : fmt::format(" (on {} of {} {})", of_them, all.size(), counted);
  };
  const auto failed = [&](const std::vector<PmuCount>& counts) { return counts[index].error != 0; };
  if (const auto first = std::ranges::find_if(all, failed); first != all.end()) {
    const NotCounted why = why_not_counted((*first)[index].error, event, root);
    return Total::missing(why.text() + some(std::ranges::count_if(all, failed)));
  }
  // A thread that did nothing may be missing from the sum; a thread that worked and was not counted makes it too small.
  const auto starved = [&](const std::vector<PmuCount>& counts) {
    return counts[index].enabled_ns != 0 && counts[index].running_ns == 0;
  };
  if (const auto many = std::ranges::count_if(all, starved); many != 0) {
    return Total::missing(
        fmt::format("never scheduled{}: other events had the processor's counters all the time; ask for "
                    "fewer families at once, run for longer, or free a counter: sysctl kernel.nmi_watchdog=0",
                    some(many)));
  }
  PmuTotal total;
  total.here = event.here;
  for (const std::vector<PmuCount>& counts : all) {
    const PmuCount& count = counts[index];
    if (count.enabled_ns == 0) continue;
    total.user_only |= count.user_only;
    total.raw += count.raw;
    total.enabled_ns += count.enabled_ns;
    total.running_ns += count.running_ns;
    const double turns = static_cast<double>(count.enabled_ns) / static_cast<double>(count.running_ns);
    total.scaled += static_cast<double>(count.raw) * turns;
  }
  if (total.enabled_ns == 0) return Total::missing("it was not counted while operations ran");
  total.per_operation = total.scaled / static_cast<double>(operations);
  return total;
}

/// Returns the scaled count of a family's event, if there is one.
std::optional<double> scaled(const PmuResult& result, std::string_view family, std::string_view name) {
  for (const PmuResult::Event& event : result.events) {
    if (event.family == family && event.name == name && event.total) return event.total->scaled;
  }
  return std::nullopt;
}

void derive(PmuResult& result, u64 operations) {
  const auto ratio = [&](const char* name, std::optional<double> part, std::optional<double> whole) {
    if (part && whole && *whole > 0) result.derived.emplace_back(name, *part / *whole);
  };
  const auto cycles = scaled(result, "core", "cycles"), instructions = scaled(result, "core", "instructions");
  ratio("instructions_per_cycle", instructions, cycles);
  ratio("branch_misses_per_instruction", scaled(result, "core", "branch-misses"), instructions);
  const auto all = scaled(result, "tsx", "cycles"), inside = scaled(result, "tsx", "cycles-t");
  ratio("transactional_cycles", inside, all);
  // The two counts are read one after the other, so either may be slightly ahead.
  if (const auto committed = scaled(result, "tsx", "cycles-ct"); inside && committed) {
    ratio("aborted_cycles", std::max(0.0, *inside - *committed), all);
  }
  if (const auto energy = scaled(result, "energy", "energy-pkg")) {
    result.derived.emplace_back("package_joules", *energy * kJoulesPerCount);
    result.derived.emplace_back("package_joules_per_operation",
                                *energy * kJoulesPerCount / static_cast<double>(operations));
  }
}

}  // namespace

PmuResult pmu_account(const std::vector<PmuEvent>& events, const std::vector<std::vector<PmuCount>>& threads,
                      const std::vector<std::vector<PmuCount>>& packages, u64 operations, const Root& root) {
  PmuResult result;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const PmuEvent& event = events[i];
    result.events.push_back({.name = event.name,
                             .family = event.family,
                             .total = total_of(event, i, event.of_packages ? packages : threads, operations, root)});
  }
  derive(result, operations);
  return result;
}

}  // namespace latchlab
