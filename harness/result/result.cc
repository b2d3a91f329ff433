#include "harness/result/result.h"

#include <type_traits>

namespace latchlab {

bool is_good(Status status, bool strict) {
  return strict ? status == Status::kOk || status == Status::kSkipped : status < Status::kFailed;
}

void TrialResult::worsen(Status to, const std::string& why) {
  if (to == Status::kDegraded && status == to) {
    reason += "; " + why;
  } else if (to > status) {
    if (status == Status::kNoisy) health.notes.push_back(reason);
    status = to;
    reason = why;
  } else if (to == Status::kNoisy && status > to) {
    health.notes.push_back(why);
  }
}

void TrialResult::add_phase(const std::string& name, double seconds, u64 operations) {
  PhaseTime time;
  time.name = name;
  time.seconds = seconds;
  time.operations = operations;
  if (operations > 0 && seconds > 0) time.per_second = static_cast<double>(operations) / seconds;
  phases.push_back(std::move(time));
}

void nothing_measured(TrialResult& result, const std::string& why) {
  const auto blame = [&](auto&... measured) {
    const auto one = [&](auto& m) {
      if (!m && m.reason == std::remove_cvref_t<decltype(m)>().reason) m.reason = why;
    };
    (one(measured), ...);
  };
  SyncStats& sync = result.sync;
  MemoryUse& memory = result.memory;
  Limits& limits = result.limits;
  Health& health = result.health;
  blame(result.throughput, result.rows, result.latency, result.offer, result.slo, result.nodes_per_fetch, result.pmu, result.key_file,
        result.trace, result.wiscer, result.workload_phases, result.stream);
  blame(result.placement.processors, result.placement.oversubscribed, result.placement.mem_by, result.placement.page_nodes);
  blame(sync.counters, sync.aborts, sync.abort_statuses, sync.fallback_rate, sync.restart_rate, sync.series, sync.per_thread,
        sync.reclaim);
  blame(memory.malloc, memory.index_live, memory.index_reserved, memory.payload, memory.keys, memory.keys_at_start,
        memory.bytes_per_key, memory.page_bytes, memory.huge_share, memory.rss, memory.minor_faults, memory.major_faults,
        memory.accessed_cleared);
  blame(limits.footprint, limits.page_bytes, limits.cycle_ns, limits.chase_ns, limits.independent_ns,
        limits.transaction_ns, limits.chase_ratio, limits.independent_ratio);
  blame(health.voluntary_switches, health.involuntary_switches, health.migrations, health.steal_share,
        health.on_processor, health.load_before);
  blame(result.validation.passed, result.validation.expected_keys, result.validation.found_keys);
}

void nothing_kept(TrialResult& result) {
  const auto blame = [](auto&... measured) {
    ((measured = std::remove_cvref_t<decltype(measured)>::missing("this index keeps nothing")), ...);
  };
  MemoryUse& memory = result.memory;
  Limits& limits = result.limits;
  Validation& validation = result.validation;
  blame(result.placement.page_nodes, memory.index_live, memory.index_reserved, memory.keys, memory.keys_at_start,
        memory.bytes_per_key);
  blame(limits.footprint, limits.page_bytes, limits.cycle_ns, limits.chase_ns, limits.independent_ns,
        limits.transaction_ns, limits.chase_ratio, limits.independent_ratio);
  blame(validation.passed, validation.expected_keys, validation.found_keys);
}

}  // namespace latchlab
