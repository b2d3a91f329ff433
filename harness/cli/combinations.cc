#include "harness/cli/combinations.h"

#include <fmt/format.h>

#include "src/arch/heavy_fence.h"
#include "src/arch/slice_extension.h"
#include "src/base/error.h"
#include "src/machine/native.h"
#include "src/memory/page_source.h"
#include "src/memory/values.h"
#include "workloads/distribution.h"
#include "workloads/mix.h"
#include "workloads/mix_stream.h"

namespace latchlab {

namespace {

/// Returns why an option of the process does not reach this index, policy or placement.
std::string not_reached(const Combination& point) {
  const Config& config = point.config;
  if (!point.plan.own_memory.empty() && !point.defaults.alloc) {
    return fmt::format("--alloc: it does not reach {}: {}", config.index.name, point.plan.own_memory);
  }
  if (!point.plan.no_reclaim.empty() && !point.defaults.reclaim) {
    return fmt::format("--reclaim: it does not reach --sync={}: {}", config.sync.name, point.plan.no_reclaim);
  }
  if (!point.plan.no_wait.empty() && !point.defaults.wait) {
    return fmt::format("--wait: it does not reach --sync={}: {}", config.sync.name, point.plan.no_wait);
  }
  if (config.wait == WaitBy::kPark && heavy_fence_here() == HeavyFence::kNone) {
    return "--wait: park needs membarrier or affinities, and this system forbids both; write yield or spin";
  }
  if (config.slice_extension == SliceExtensions::kOn) {
    if (!point.plan.no_sections.empty())
      return fmt::format("--slice-extension: it does not reach --sync={}: {}", config.sync.name,
                         point.plan.no_sections);
    if (const auto why = SliceExtension::why_none()) return fmt::format("--slice-extension: {}", *why);
  }
  if (config.huge_pages == HugePages::kThp && !point.plan.own_memory.empty()) {
    return fmt::format("--hugepages: thp does not reach {}: {}", config.index.name, point.plan.own_memory);
  }
  if (config.huge_pages == HugePages::kThp && calls_malloc(config.alloc)) {
    return fmt::format("--hugepages: thp does not reach --alloc={}, which chooses its pages itself",
                       word(config.alloc));
  }
  if (config.pin.kind == Pin::Kind::kList && !point.defaults.smt) {
    return fmt::format("--smt: it does not reach --pin={}, which names each processor", config.pin.text);
  }
  return "";
}

/// Returns why the index cannot do the workload under this policy with so many threads.
std::string not_possible(const Combination& point) {
  const Config& config = point.config;
  const Mix& mix = point.workload.mix();
  const Pair& pair = point.pair;
  if (pair.dense_keys && config.keys.name != "dense") {
    return fmt::format("--keys: {} is an array, whose keys are 0, 1, ...: write --keys=dense", config.index.name);
  }
  if (mix.has(OpKind::kScan) && !pair.ordered) {
    return fmt::format("--workload: {} is not ordered, so it has no scans", config.index.name);
  }
  if (mix.has(OpKind::kErase) && !pair.no_erase.empty()) {
    return fmt::format("--workload: {} does not erase: {}", config.index.name, pair.no_erase);
  }
  if ((mix.has(OpKind::kModify) || mix.has(OpKind::kIncrement)) && !pair.no_modify.empty()) {
    return fmt::format("--workload: {} does not modify: {}; rmw is a lookup and an update", config.index.name,
                       pair.no_modify);
  }
  if (config.threads > 1 && !pair.many_writers && pair.learns) {
    return fmt::format("--sync: {} allows one writing thread, but --threads={} and {} learns from lookups",
                       config.sync.name, config.threads, config.index.name);
  }
  if (config.threads > 1 && mix.changes() && !pair.many_writers) {
    return fmt::format("--sync: {} allows one writing thread, but --threads={} and --workload={} writes",
                       config.sync.name, config.threads, config.workload.str());
  }
  if (config.negative > 0 && !mix.has(OpKind::kRead)) {
    return fmt::format("--negative: --workload={} reads nothing", config.workload.str());
  }
  return "";
}

/// Returns why operations cannot come at a trace's own times; empty if they can.
std::string why_no_times(const Config& config, const Workload& workload) {
  const std::string given = config.rate->str(), instead = "write another rate, as --rate=1M";
  if (config.slo) {
    return fmt::format(
        "--slo: a search needs a rate to vary, and --rate={} has the trace's own times; leave one of them out", given);
  }
  const auto& trace = workload.trace();
  if (!trace) {
    return fmt::format("--rate: {} needs the times of a --workload=trace:FILE; with --workload={} {}", given,
                       config.workload.str(), instead);
  }
  if (!trace->has_times()) return fmt::format("--rate: --workload={} has no times; {}", config.workload.str(), instead);
  if (trace->ops().front().time_ns != trace->ops().back().time_ns) return "";
  return fmt::format(
      "--rate: all operations of --workload={} have one time stamp, which does not say how fast they came; {}",
      config.workload.str(), instead);
}

std::string no_open_loop(const Combination& point) {
  const Config& config = point.config;
  if (!config.rate && !config.slo) return "";
  if (config.batch.keys > 1) {
    return fmt::format("--batch: with --{} operations come one by one, not by --batch={}; leave one of them out",
                       config.rate ? "rate" : "slo", batch_text(config.batch));
  }
  if (config.rate && config.rate->law == Rate::Law::kTrace) {
    if (std::string why = why_no_times(config, point.workload); !why.empty()) return why;
  }
  if (!config.slo) return "";
  if (config.rate) return "--slo: it searches for the rate that --rate gives; leave one of them out";
  if (config.latency_every == 0) return "--slo: --latency=off times nothing; leave it out";
  if (point.workload.trace()) {
    return fmt::format("--slo: --workload={} is replayed once, and every try of a rate would need it again",
                       config.workload.str());
  }
  if (!point.workload.phases().empty()) {
    return fmt::format(
        "--slo: --workload={} changes from phase to phase, and every try of a rate would need all phases",
        config.workload.str());
  }
  if (config.ops > 0 && config.ops / config.latency_every < config.slo->fewest_calls()) {
    return fmt::format("--slo: {} needs {} timed calls, and --ops={} with --latency={} has {}", config.slo->str(),
                       config.slo->fewest_calls(), config.ops, latency_text(config.latency_every),
                       config.ops / config.latency_every);
  }
  if (point.workload.mix().fills())
    return "--slo: --workload=insert fills the index once, and every try of a rate would need an empty one";
  return "";
}

/// Returns why calls cannot be recorded in this run, or not be interrupted.
std::string no_history(const Combination& point) {
  const Config& config = point.config;
  const std::optional<Recording> recording = config.recording();
  if (!recording) {
    return config.preempt
               ? "--preempt: it interrupts recorded calls, and none are recorded; write --validate=history with it"
               : "";
  }
  const std::string_view option = config.history ? "--history" : "--validate=history";
  if (config.batch.keys > 1) {
    return fmt::format("{}: recorded calls run one by one, not by --batch={}; leave one of them out", option,
                       batch_text(config.batch));
  }
  if (recording->keys.one_in == 1 && (config.rate || config.slo || config.latency_every != 0)) {
    return fmt::format("{}: recorded calls are not timed, and with keys=all that leaves none for --{}; write keys=1/64",
                       option,
                       config.slo    ? "slo"
                       : config.rate ? "rate"
                                     : "latency");
  }
  return "";
}

std::string no_batch(const Combination& point) {
  const Config& config = point.config;
  const std::string& index = config.index.name;
  const u32 keys = config.batch.keys;
  if (keys == 1) return "";
  if (config.batch.order == BatchOrder::kAuto && config.latency_every != 0)
    return "--latency: with --batch=auto calls are now of one operation, now of several; write --batch=16:rolling or "
           "leave out one";
  const Mix& mix = point.workload.mix();
  if (mix.has(OpKind::kMultiGet)) {
    return fmt::format(
        "--batch: a multi-get defines itself how many keys a call has; write multi_get_keys={} in the mix", keys);
  }
  if (mix.has(OpKind::kScan))
    return fmt::format("--batch: it does not reach the scans of --workload={}; leave it out", config.workload.str());
  if (config.batch.order == BatchOrder::kRolling || config.batch.order == BatchOrder::kAuto) {
    return point.pair.hints
               ? ""
               : fmt::format("--batch: {} cannot prefetch for operations to come; write --batch={}", index,
                             point.pair.side_by_side && mix.ppm(OpKind::kRead) == Mix::kMillion ? keys : 1);
  }
  OpTraits all;  // traits of the kind that all operations have, if there is one; reads of absent keys are reads
  for (u8 kind = 0; kind < kOpKinds; ++kind) {
    if (mix.ppm(OpKind{kind}) == Mix::kMillion) all = about(OpKind{kind});
  }
  if (config.station.mode != StationMode::kOff) return "";  // it takes operations of any kinds, in either order
  if (!all.batches) {
    if (config.batch.order == BatchOrder::kSideBySide && point.pair.hints) return "";
    return fmt::format(
        "--batch: --workload={} must have one kind of operations: lookups, inserts, updates, modifies, increments or "
        "erasures{}",
        config.workload.str(), point.pair.hints ? fmt::format("; or write --batch={}", keys) : "");
  }
  if (!point.pair.no_batch.empty()) return fmt::format("--batch: it does not reach {}: {}", index, point.pair.no_batch);
  if (config.batch.order == BatchOrder::kSideBySide && !(all.changes() ? point.pair.hints : point.pair.side_by_side)) {
    return fmt::format("--batch: {} of {} do not go side by side; write --batch={}:in-turn",
                       all.changes() ? "changes" : "lookups", index, keys);
  }
  return "";
}

/// Returns why --station does not go with the rest.
std::string no_station(const Combination& point) {
  const Config& config = point.config;
  if (config.station.mode == StationMode::kOff) return "";
  if (config.batch.keys == 1) return "--station: the operations of a batch meet there; write --batch=64 with it";
  if (config.batch.order == BatchOrder::kRolling || config.batch.order == BatchOrder::kAuto) {
    return fmt::format("--station: it does not run batches that roll; write --batch={} or --batch={}:in-turn",
                       config.batch.keys, config.batch.keys);
  }
  if (config.latency_every != 0) return "--latency: operations in a station are not timed; leave out one";
  if (!point.pair.no_modify.empty())
    return fmt::format("--station: it does not reach {}: {}", config.index.name, point.pair.no_modify);
  for (const OpKind kind : {OpKind::kScan, OpKind::kRmw}) {
    if (point.workload.mix().has(kind)) {
      return fmt::format("--station: it does not reach the {} of --workload={}; leave it out",
                         kind == OpKind::kScan ? "scans" : "rmw", config.workload.str());
    }
  }
  return "";
}

/// Returns why one of two memories would stay empty: memory comes in whole pages.
std::string no_huge_page(const Config& config) {
  if (config.huge_pages != HugePages::kThp) return "";
  const auto small = [](std::string_view what) {
    return fmt::format(
        "{}: a huge page has 2Mi, so nothing would lie there; write a size of 2Mi or more, or "
        "--hugepages=none",
        what);
  };
  if (config.near != 0 && config.near < kHugePageBytes) return small("--near");
  return config.far->size < kHugePageBytes ? small("--far") : "";
}

/// Returns why leaves cannot be far.
std::string no_far_leaves(const Combination& point) {
  const Config& config = point.config;
  if (!config.far) return "--rule: leaves need a far memory; add --far=MEDIUM, as in --far=node:1,size=4G";
  if (config.sized())
    return "--rule: leaves hold values of 8 bytes; leave out --value-size, or write --rule=near-first";
  if (!point.pair.far_leaves) {
    return fmt::format("--rule: {} does not tell leaves from inner nodes; write --index=art", config.index.name);
  }
  if (config.near != 0) return "--near: inner nodes are always near, and only they; leave it out with --rule=leaves";
  if (config.far->kind == MediumKind::kModel) {
    return "--far: a model has the time of a copy, not of a load of a line, and leaves are read by loads; write "
           "node:N,size=BYTES or file:FOLDER,size=BYTES";
  }
  if (point.plan.model) return "--far: the caches of a modelled machine know no media; leave it out";
  return no_huge_page(config);
}

/// Returns why --far, --near and --rule do not go with each other or with the rest.
std::string no_tiers(const Combination& point) {
  const Config& config = point.config;
  if (config.placement_rule().kind == PlacementKind::kLeaves) return no_far_leaves(point);
  if (!config.far) {
    if (config.near != 0) return "--near: there is one memory; add --far=MEDIUM, or leave it out";
    return !config.rule ? "" : "--rule: there is one memory; add --near=BYTES and --far=MEDIUM, or leave it out";
  }
  if (config.near == 0) return "--far: how much is near? Add --near=BYTES, as in --near=1G";
  if (!config.sized()) {
    return "--far: values of 8 bytes are words in the index; add --value-size=BYTES, as in 256, or --rule=leaves "
           "without "
           "--near";
  }
  if (config.value_size <= Values<Native>::kMostShort)
    return fmt::format("--far: values of {} bytes lie in the index; add --value-size=BYTES, 9 or more",
                       config.value_size);
  if (config.placement_rule().kind == PlacementKind::kSecondTouch)
    return "--rule: second-touch drops values, which an index must keep; only a cache may have it";
  return no_huge_page(config);
}

/// Returns why --dist or --churn do not go with the workload.
std::string no_popularity(const Combination& point) {
  const Config& config = point.config;
  const Churn& churn = point.churn;
  if (!point.plan.no_distribution.empty() && !point.defaults.dist) {
    return fmt::format("--dist: it does not reach --workload={}: {}", config.workload.str(),
                       point.plan.no_distribution);
  }
  if (churn.kind != Churn::Kind::kNone && !point.plan.no_distribution.empty()) {
    return fmt::format("--churn: it does not reach --workload={}: {}", config.workload.str(),
                       point.plan.no_distribution);
  }
  const Distribution distribution(config.distribution);
  if (const std::string why =
          why_no_churn(churn, distribution, "--dist=" + config.distribution.str(), point.workload.mix());
      !why.empty()) {
    return "--churn: " + why;
  }
  try {
    if (!point.workload.phases().empty()) (void)point.workload.least_records(config.records, point.capacity);
  } catch (const InputError& error) {
    return fmt::format("--workload: with {} records {}", config.records, error.what());
  }
  if (!point.plan.no_distribution.empty()) return "";
  try {
    (void)distribution.law(config.records);
  } catch (const InputError& error) {
    return fmt::format("--dist: {}", error.what());
  }
  try {
    churn.check(config.records);
  } catch (const InputError& error) {
    return fmt::format("--churn: {}", error.what());
  }
  return "";
}

}  // namespace

std::string why_not_together(const Combination& point) {
  for (const auto why :
       {not_reached, not_possible, no_open_loop, no_history, no_station, no_batch, no_tiers, no_popularity}) {
    if (std::string line = why(point); !line.empty()) return line;
  }
  return "";
}

}  // namespace latchlab
