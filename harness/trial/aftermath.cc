#include "harness/trial/aftermath.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/host/clock.h"
#include "harness/host/environment.h"
#include "harness/host/limits.h"
#include "harness/host/malloc_library.h"
#include "harness/host/placement.h"
#include "harness/trial/step_maker.h"
#include "harness/trial/validate.h"
#include "workloads/distribution.h"

namespace latchlab {
namespace {

constexpr u64 kMinLimitsNs = 10'000'000;

class Aftermath {
 public:
  Aftermath(const RunParts& run, Progress& progress, TrialResult& out) : run_(run), progress_(progress), out_(out) {}

  void look_over() {
    out_.placement.threads = places_of_threads();
    count_nodes();
    find_fingerprint();
    check();
    find_limits();
  }

 private:
  /// On the way to the keys of the next lookups, as the index is now: not of those that were done, from which it may have
  /// learned. Outside all times.
  void count_nodes() {
    constexpr u32 kFetches = 250'000;
    if (!out_.throughput) return;
    const auto missing = [this](const char* why) { out_.nodes_per_fetch = OrReason<double>::missing(why); };
    const Mix& mix = run_.workload.mix();
    if (!mix.has(OpKind::kRead) && !mix.has(OpKind::kMultiGet)) return missing("the workload looks nothing up");
    if (!run_.trial.counts_visits()) return missing("the index does not count the nodes that a lookup visits");
    const u64 first = run_.phases.next();
    const u32 count = static_cast<u32>(std::min<u64>(kFetches / run_.stream().most_keys(), run_.phases.end_of_first() - first));
    if (count == 0) return missing("no operation of the workload is left whose way could be counted");
    Steps steps;
    out_.nodes_per_fetch = run_.nodes_of(steps.only(run_.maker, first, count));
  }

  /// Of the beginning of the stream: of what threads made, which adds up to the same in whichever hands it was, and behind that
  /// of what they would have made. How far they came depends on the machine. In parts, operations have other numbers for other
  /// numbers of threads: then all are made once more, as for one.
  void find_fingerprint() {
    if (run_.stream().parts().size() != 2) {
      const Config& config = run_.config;
      out_.stream = print_of(*run_.workload.stream(config.seed, kMeasuredPhase, run_.keys, 1, Distribution(config.distribution),
                                                   config.records, Churn::parse(config.churn)));
      return;
    }
    u64 made = 0;
    for (const Worker& worker : run_.phases.workers()) made += worker.print;
    out_.stream = print_of(run_.stream(), run_.phases.next(), made);
  }

  /// The index against the tally; nobody uses it any more.
  void check() {
    if (!run_.trial.keeps()) return nothing_kept(out_);
    const u64 reserved = run_.trial.reserved_bytes();
    out_.memory.index_live = run_.trial.live_bytes();
    out_.memory.index_reserved = reserved;
    if (out_.throughput) out_.placement.page_nodes = page_nodes();
    const Tally all = run_.tally_of_all();
    out_.memory.keys = all.keys;
    if (all.keys > 0) {
      out_.memory.bytes_per_key = static_cast<double>(reserved) / static_cast<double>(all.keys);
    } else {
      out_.memory.bytes_per_key = OrReason<double>::missing("the index is empty");
    }
    if (const std::string mistakes = describe_errors(all); !mistakes.empty()) {
      out_.worsen(Status::kInvalid, "during the run: " + mistakes);
    }
    if (run_.config.validate == Validate::kOff) {
      out_.validation = no_validation();
      return;
    }
    const u64 start = wall_clock().now();
    progress_.begin("validate", 0, 0);
    out_.validation = validate(all, run_.trial.contents());
    out_.add_phase("validate", wall_clock().seconds_since(start), all.keys);
    if (*out_.validation.passed) return;
    // An operation that memory ran out in may have counted and not returned, in an index with memory of its own.
    if (out_.status == Status::kFailed && !run_.plan.own_memory.empty()) return;
    out_.worsen(Status::kInvalid, out_.validation.detail);
  }

  OrReason<PageNodes> page_nodes() const {
    using Nodes = OrReason<PageNodes>;
    if (!run_.plan.own_memory.empty()) return Nodes::missing(run_.plan.own_memory);
    if (calls_malloc(run_.config.alloc)) return Nodes::missing("nodes are from malloc, which does not say where its memory is");
    return page_nodes_of(run_.trial.chunks());
  }

  void find_limits() {
    if (!out_.throughput) {
      out_.limits = no_limits("there is no throughput to compare with");
      return;
    }
    if (!run_.trial.keeps()) return;
    const u64 start = wall_clock().now();
    progress_.begin("limits", 0, 0);
    LimitsPlan plan;
    plan.footprint = limits_footprint(run_.trial.reserved_bytes() + run_.plan.payload_bytes(), available_memory());
    // The pages that the process got, the index most of all, which need not be those that were asked for.
    const bool huge = out_.memory.page_bytes.value.value_or(0) > 4096;
    plan.huge_pages = huge ? HugePages::kThp : HugePages::kNone;
    plan.pages = placement_of_limits(run_.topology, run_.plan.seats, run_.plan.pages);
    const u64 measured_ns = static_cast<u64>(run_.phases.rounds().wall_seconds() * 1e9);
    plan.time_ns = std::clamp(measured_ns, kMinLimitsNs, plan.time_ns);  // a short run is not kept waiting
    const std::set<u32> distinct(run_.plan.seats.cpus.begin(), run_.plan.seats.cpus.end());
    plan.cpus.assign(distinct.begin(), distinct.end());
    plan.pin = run_.plan.seats.binds;
    out_.limits = measure_limits(plan);
    if (out_.offer) {
      constexpr const char* kWaits = "threads of an open loop wait for operations, too: what one takes is its latency";
      out_.limits.chase_ratio = out_.limits.independent_ratio = OrReason<double>::missing(kWaits);
    } else {
      set_limit_ratios(out_.limits, *out_.throughput, run_.plan.seats.processors);
    }
    out_.add_phase("limits", wall_clock().seconds_since(start), 0);
  }
  std::vector<ThreadPlace> places_of_threads() const {
    std::vector<std::optional<u32>> seen_on;
    for (const Worker& worker : run_.phases.workers()) seen_on.push_back(worker.seen_on);
    return thread_places(run_.topology, run_.plan.seats, seen_on,
                         out_.throughput ? "the kernel does not say" : out_.throughput.reason);
  }

  const RunParts& run_;
  Progress& progress_;
  TrialResult& out_;
};

}  // namespace

void set_limit_ratios(Limits& limits, const Throughput& throughput, u32 processors) {
  const double operation_ns =
      throughput.seconds * 1e9 * processors / static_cast<double>(throughput.operations);
  if (limits.chase_ns && *limits.chase_ns > 0) limits.chase_ratio = operation_ns / *limits.chase_ns;
  if (limits.independent_ns && *limits.independent_ns > 0) {
    limits.independent_ratio = operation_ns / *limits.independent_ns;
  }
}

void look_over(const RunParts& run, Progress& progress, TrialResult& out) { Aftermath(run, progress, out).look_over(); }

}  // namespace latchlab
