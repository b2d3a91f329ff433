#include "harness/config/plan.h"

#include <fmt/format.h>

#include "harness/config/values.h"
#include "workloads/workload.h"

namespace latchlab {

std::string point_of(const Plan& plan) {
  const Config& c = plan.config;
  std::string point = fmt::format("--index={} --sync={} --threads={} --pin={}", c.index.str(), c.sync.str(),
                                  c.threads / plan.groups, c.pin.text);
  if (!c.machine.name.empty()) point += fmt::format(" --machine={}", c.machine.str());
  if (c.threads_per != ThreadsPer::kRun) point += fmt::format(" --threads-per={}", word(c.threads_per));
  if (c.smt != Smt::kAvoid) point += fmt::format(" --smt={}", word(c.smt));
  if (!c.isa.empty()) point += fmt::format(" --isa={}", c.isa);
  if (plan.own_memory.empty()) point += fmt::format(" --alloc={}", word(c.alloc));
  if (plan.no_reclaim.empty()) point += fmt::format(" --reclaim={}", word(c.reclaim));
  if (plan.no_wait.empty() && c.wait != WaitBy::kYield) point += fmt::format(" --wait={}", word(c.wait));
  if (c.slice_extension == SliceExtensions::kOn) point += " --slice-extension=on";
  if (c.mem.kind != PagePlacement::Kind::kFirstTouch) point += fmt::format(" --mem={}", c.mem.text);
  point += fmt::format(" --hugepages={} --workload={}", word(c.huge_pages), c.workload.str());
  const bool by_file = Workload::by_file(c.workload.name);  // then the file decides which keys, and how many
  if (!by_file) point += fmt::format(" --keys={}", c.keys.str());
  if (plan.no_distribution.empty()) point += fmt::format(" --dist={}", c.distribution.str());
  if (c.churn.name != "none") point += fmt::format(" --churn={}", c.churn.str());
  if (!by_file) point += fmt::format(" --negative={}", c.negative);
  point += fmt::format(" --batch={}", batch_text(c.batch));
  if (c.station.mode != StationMode::kOff) point += fmt::format(" --station={}", station_text(c.station));
  if (c.sized()) point += fmt::format(" --value-size={}", c.value_size);
  if (c.near != 0) point += fmt::format(" --near={}", c.near);
  if (c.far) point += fmt::format(" --far={}", c.far->str());
  if (c.far || c.rule) point += fmt::format(" --rule={}", c.placement_rule().str());
  if (!by_file) point += fmt::format(" --records={}", c.records);
  point += fmt::format(" --warmup={}", duration_text(c.warmup_ns));
  if (c.time_ns != 0) point += fmt::format(" --time={}", duration_text(c.time_ns));
  if (c.ops != 0) point += fmt::format(" --ops={}", c.ops);
  if (c.rate) point += fmt::format(" --rate={}", c.rate->str());
  if (c.slo) point += fmt::format(" --slo={}", c.slo->str());
  if (c.clear_accessed_ns != 0) point += fmt::format(" --clear-accessed={}", duration_text(c.clear_accessed_ns));
  point += fmt::format(" --sample={} --latency={}", duration_text(c.sample_ns), latency_text(c.latency_every));
  if (c.rows.value_or(0) != 0) point += fmt::format(" --rows={}", *c.rows);
  if (c.pmu != kDefaultPmu) point += fmt::format(" --pmu={}", c.pmu);
  if (c.history) point += fmt::format(" --history={}", c.history->str());
  point += fmt::format(" --seed={} --validate={}", c.seed, word(c.validate));
  return c.preempt ? point + " --preempt" : point;
}

}  // namespace latchlab
