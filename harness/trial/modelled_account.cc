#include "harness/trial/modelled_account.h"

#include <type_traits>

#include <fmt/format.h>

#include "harness/host/modelled_machine.h"
#include "src/machine/model_costs.h"
#include "src/machine/simulated_world.h"

namespace latchlab {

namespace {

double ns_of(model::Ticks ticks) { return static_cast<double>(ticks) / model::kTicksPerNs; }

TimeByCause by_cause(const model::Times& times) {
  TimeByCause all;
  for (std::size_t i = 0; i < model::kCauses; ++i) all.emplace_back(kWords<model::Cause>[i], ns_of(times[i]));
  return all;
}

/// Sets the structure of a line or a block, as far as it is known.
void place_in(auto& lost, const std::string& name, u64 bytes) {
  lost.structure = unless(!name.empty() ? ""
                          : bytes != 0  ? "no node of this size was made"
                                        : "no object is known there",
                          name);
  lost.bytes = unless(bytes != 0 ? "" : "no object is known there", bytes);
}

LostByStructure conflict_of(const model::Lost& lost, const ModelledMemory& memory) {
  LostByStructure out;
  out.count = lost.count;
  out.ns = ns_of(lost.ticks);
  if ((lost.key & ModelCosts::kLine) == 0) {
    place_in(out, memory.name_of_size(lost.key), lost.key);
  } else {
    const auto place = memory.place_of_line((lost.key & ~ModelCosts::kLine) * kLineBytes);
    place_in(out, place.name, place.bytes);
  }
  return out;
}

HotLineTime hot_line_of(const model::HotLine& hot, const ModelledMemory& memory) {
  HotLineTime out;
  out.lock = hot.asleep != 0;
  out.waited_ns = ns_of(hot.waited);
  out.asleep_ns = ns_of(hot.asleep);
  out.reads = hot.reads;
  out.writes = hot.writes;
  out.conflicts = hot.conflicts;
  out.threads = hot.thread_numbers();
  const auto place = memory.place_of_line(hot.line * kLineBytes);
  place_in(out, place.name, place.bytes);
  out.offset = unless(out.bytes.reason, place.offset);
  return out;
}

/// Adds a conflict to the one of the same structure, of which the lines of an object are all.
void add(std::vector<LostByStructure>& all, LostByStructure lost) {
  const auto same = std::ranges::find_if(all, [&](const auto& one) {
    return one.structure.value == lost.structure.value && one.bytes.value == lost.bytes.value;
  });
  if (same == all.end()) {
    all.push_back(std::move(lost));
  } else {
    same->count += lost.count;
    same->ns += lost.ns;
  }
}

}  // namespace

VirtualTime virtual_time_of(const model::Model& processor) {
  const ModelledMemory& memory = ModelledWorld::get().memory();
  VirtualTime out;
  model::Times all{};
  for (const model::Times& times : processor.times()) {
    out.per_thread.push_back(by_cause(times));
    for (std::size_t i = 0; i < model::kCauses; ++i) all[i] += times[i];
  }
  out.causes = by_cause(all);
  for (const auto& [cause, ns] : out.causes) out.thread_ns += ns;
  for (const model::Lost& lost : processor.lost_by_cause()) {
    out.aborts.push_back(
        {.name = std::string(word(static_cast<AbortCause>(lost.key))), .count = lost.count, .ns = ns_of(lost.ticks)});
  }
  for (const model::Lost& lost : processor.lost_by_structure()) add(out.conflicts, conflict_of(lost, memory));
  for (const model::HotLine& hot : processor.hottest(VirtualTime::kHotLines)) {
    if (hot.waited != 0) out.hot_lines.push_back(hot_line_of(hot, memory));
  }
  const auto longer = [](const auto& a, const auto& b) { return a.ns > b.ns; };
  std::ranges::stable_sort(out.aborts, longer);
  std::ranges::stable_sort(out.conflicts, longer);
  return out;
}

void mark_modelled(TrialResult& result, const Plan& plan) {
  const auto none = [](auto&... values) {
    ((values = std::remove_cvref_t<decltype(values)>::missing("the machine is modelled")), ...);
  };
  const ModelledMachine& machine = *plan.model;
  result.worsen(Status::kModelled, fmt::format("predicted on a model of {}, and not measured", machine.file.name()));
  for (PhaseTime& phase : result.phases) {
    if (phase.seconds == 0 && phase.operations > 0) {
      phase.per_second = OrReason<double>::missing("the phase took no virtual time");
    }
  }
  if (result.throughput) none(result.throughput.value->generator_ns);
  Health& health = result.health;
  none(health.voluntary_switches, health.involuntary_switches, health.migrations, health.steal_share,
       health.on_processor, health.load_before);
  Scheduling& scheduling = result.scheduling;
  none(scheduling.run_delay_ns, scheduling.yields, scheduling.parks, scheduling.wakes, scheduling.late_handovers,
       scheduling.preempted_outside_waits, scheduling.slice_extensions);
  MemoryUse& memory = result.memory;
  if (calls_malloc(plan.config.alloc)) none(memory.malloc);
  none(memory.page_bytes, memory.huge_share, memory.rss, memory.minor_faults, memory.major_faults);
  none(result.placement.page_nodes, result.pmu);
  result.limits = no_limits("the machine is modelled");
  if (machine.scale != 1) {
    health.notes.push_back(
        fmt::format("L3, the second TLB and the times of NUMA balancing's marks are {:g} times smaller than the "
                    "machine's, since {} records stand for as "
                    "many times more; scale=1 keeps them",
                    machine.scale, plan.config.records));
  }
}

}  // namespace latchlab
