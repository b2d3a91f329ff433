#include "harness/cli/modelled.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/host/modelled_machine.h"
#include "src/base/error.h"

namespace latchlab {

namespace {

constexpr u64 kModelledSample = 1'000'000;

}  // namespace

void check_build_for(const std::vector<std::string>* machine, bool elsewhere, bool profiles, bool models) {
  if (machine == nullptr && !models) return;
  if (machine == nullptr) {
    std::vector<std::string> names;
    for (const auto& shipped : model::shipped_machines()) names.emplace_back(shipped.name);
    throw InputError(fmt::format("--machine: this harness measures nothing; name a modelled machine: {}, or file:PATH",
                                 fmt::join(names, ", ")));
  }
  if (!models) {
    throw InputError(
        fmt::format("--machine: this harness measures and models nothing; './bench --machine={}' builds and runs the "
                    "one in build/modelled",
                    fmt::join(*machine, ",")));
  }
  if (elsewhere) throw InputError("--topology: a modelled machine has the topology of its file; leave one of them out");
  if (profiles) throw InputError("--profile: perf would sample the model; leave out --profile or --machine");
}

bool take_machine(Plan& plan, const Defaults& defaults) {
  Config& config = plan.config;
  if (config.machine.name.empty()) return false;
  const bool standard = complete_machine(config.machine, defaults.records) && defaults.records;
  plan.model = modelled_machine(config.machine);
  if (!config.pmu_given) config.pmu = "off";
  if (defaults.sample) config.sample_ns = kModelledSample;
  return standard;
}

void take_whole_machine(Plan& plan) {
  set_whole(plan.config.machine);
  plan.model = modelled_machine(plan.config.machine);
}

std::string why_not_modelled(const Plan& plan, const Pair& pair) {
  if (plan.model == nullptr) return "";
  const Config& config = plan.config;
  const model::MachineFile& file = plan.model->file;
  if (plan.seats.oversubscribed) {
    return fmt::format("--threads: {} has {} hardware threads for {}, and a model of one thread on each", file.name(),
                       plan.seats.processors, config.threads);
  }
  if (pair.elides && !file.parameters().htm.present) {
    return fmt::format("--sync: {} needs transactions, which {} has not", config.sync.str(), file.name());
  }
  if (config.sized()) return "--value-size: the store of sized values is not modelled";
  if (config.clear_accessed_ns != 0) return "--clear-accessed: Accessed bits are not modelled";
  if (config.preempt) return "--preempt: virtual time has no signals";
  if (config.pmu != "off") return "--pmu: a modelled processor counts no events";
  return "";
}

}  // namespace latchlab
