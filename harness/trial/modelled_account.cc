#include "harness/trial/modelled_account.h"

#include <type_traits>

#include <fmt/format.h>

#include "harness/host/modelled_machine.h"

namespace latchlab {

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
  MemoryUse& memory = result.memory;
  if (calls_malloc(plan.config.alloc)) none(memory.malloc);
  none(memory.page_bytes, memory.huge_share, memory.rss, memory.minor_faults, memory.major_faults);
  none(result.placement.page_nodes, result.pmu);
  result.limits = no_limits("the machine is modelled");
  if (machine.scale != 1) {
    health.notes.push_back(
        fmt::format("L3 and the second TLB are {:g} times smaller than the machine's, since {} records stand for as "
                    "many times more; scale=1 keeps them",
                    machine.scale, plan.config.records));
  }
}

}  // namespace latchlab
