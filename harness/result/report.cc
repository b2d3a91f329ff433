#include "harness/result/report.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "src/base/hash.h"

namespace latchlab {

namespace {

double seconds(u64 ns) { return static_cast<double>(ns) / 1e9; }

Json json(const std::vector<NamedCount>& counts) {
  Json object = Json::object();
  for (const NamedCount& count : counts) object[count.name] = count.count;
  return object;
}

Json json(const std::vector<std::pair<std::string, std::string>>& words) {
  Json object = Json::object();
  for (const auto& [key, value] : words) object[key] = value;
  return object;
}

template <class T>
Json json(const T& value) {
  return value;
}

template <class T, class ToJson>
void put(Json& object, const std::string& key, const Measured<T>& measured, const ToJson& to_json) {
  if (!measured) return put_missing(object, key, measured.reason);
  object[key] = to_json(*measured);
}

template <class T>
void put(Json& object, const std::string& key, const Measured<T>& measured) {
  put(object, key, measured, [](const T& value) { return json(value); });
}

Json key_file_json(const KeyFile& file) {
  return {{"lines", file.lines}, {"empty", file.empty}, {"repeated", file.repeated}};
}

Json trace_json(const TraceAbout& t) {
  return {{"checksum", fmt::format("{:016x}", t.checksum)}, {"operations", t.operations}, {"keys", t.keys}, {"loaded", t.loaded},
          {"times", t.has_times}};
}

Json wiscer_json(const WiscerFile& f) {
  Json o{{"zipf", f.zipf}, {"initial_size", f.initial_size}, {"operation_count", f.operations}, {"fetch", f.fetch},
         {"insert", f.insert}, {"delete", f.erase}, {"shift_share", f.shift_share},
         {"key_pattern", f.sequential ? "sequential" : "random"}, {"key_order", f.sorted ? "sorted" : "random"}};
  f.shift_every ? void(o["shift_every"] = *f.shift_every) : put_missing(o, "shift_every", "popularity does not shift");
  return o;
}

Json workload_phases_json(const std::vector<WorkloadPhase>& phases) {
  Json all = Json::array();
  for (const WorkloadPhase& phase : phases) {
    Json o{{"name", phase.name}, {"operations", phase.operations}, {"workload", phase.workload}};
    phase.distribution_words.empty() ? put_missing(o, "dist", "it takes the records in turn")
                                     : void(o["dist"] = phase.distribution_words);
    o["churn"] = phase.churn_words;
    all.push_back(std::move(o));
  }
  return all;
}

Json config_json(const Config& c, const TrialResult& trial) {
  Json o;
  o["point"] = point_of(c);
  o["index"] = c.index.str();
  o["index_options"] = json(c.index_options);
  o["sync"] = c.sync.str();
  o["threads"] = c.threads;
  o["threads_per"] = word(c.threads_per);
  o["pin"] = c.pin.text;
  o["smt"] = word(c.smt);
  c.own_memory.empty() ? void(o["alloc"] = word(c.alloc)) : put_missing(o, "alloc", c.own_memory);
  o["mem"] = c.mem.text;
  o["hugepages"] = word(c.huge_pages);
  c.no_reclaim.empty() ? void(o["reclaim"] = word(c.reclaim)) : put_missing(o, "reclaim", c.no_reclaim);
  o["workload"] = c.workload.str();
  c.no_churn.empty() ? void(o["churn"] = c.churn.str()) : put_missing(o, "churn", c.no_churn);
  o["keys"] = c.keys.str();
  o["key_kind"] = word(c.key_kind());
  put(o, "key_file", trial.key_file, key_file_json);
  put(o, "trace", trial.trace, trace_json);
  put(o, "wiscer", trial.wiscer, wiscer_json);
  put(o, "phases", trial.workload_phases, workload_phases_json);
  c.no_distribution.empty() ? void(o["dist"] = c.distribution.str()) : put_missing(o, "dist", c.no_distribution);
  o["negative"] = c.negative;
  o["batch"] = c.batch.keys;
  c.batch.keys > 1 ? void(o["batch_order"] = word(c.batch.order)) : put_missing(o, "batch_order", "one key is no batch");
  o["value_size"] = c.value_size;
  o["records"] = c.records;
  o["warmup_s"] = seconds(c.warmup_ns);
  c.time_ns != 0 ? void(o["time_s"] = seconds(c.time_ns))
                 : put_missing(o, "time_s", "the run ends after a number of operations");
  c.ops != 0
      ? void(o["ops"] = c.ops)
      : put_missing(o, "ops", c.time_ns != 0 ? "the run ends by time" : "the run ends with its records");
  o["clear_accessed_s"] = seconds(c.clear_accessed_ns);
  o["sample_s"] = seconds(c.sample_ns);
  const char* const no_rows = c.workload.name != "phases" ? "rows are asked for with --rows"
                              : c.rate || c.slo           ? "phases of the file are rows in a closed loop only"
                                                          : "each phase of the file is a row";
  c.rows.value_or(0) != 0 ? void(o["rows"] = *c.rows) : put_missing(o, "rows", no_rows);
  o["latency_every"] = c.latency_every;
  o["pmu"] = c.pmu;
  c.rate ? void(o["rate"] = c.rate->str()) : put_missing(o, "rate", c.slo ? "--slo looks for it" : "a closed loop");
  c.slo ? void(o["slo"] = c.slo->str()) : put_missing(o, "slo", "there is no bound to keep");
  o["seed"] = c.seed;
  o["validate"] = word(c.validate);
  o["strict"] = c.strict;
  return o;
}

Json build_json(const BuildInfo& b) {
  return {{"commit", b.commit}, {"dirty", b.dirty}, {"compiler", b.compiler},
          {"flags", b.flags},   {"type", b.type},   {"libraries", json(b.libraries)}};
}

Json page_nodes_json(const PageNodes& p) {
  Json o{{"pages", p.pages}, {"shares", Json::array()}};
  for (const PageNodes::Share& share : p.shares) o["shares"].push_back({{"node", share.node}, {"share", share.share}});
  return o;
}

Json placement_json(const Placement& p) {
  Json o;
  o["requested"] = p.requested;
  put(o, "processors", p.processors);
  put(o, "oversubscribed", p.oversubscribed);
  o["memory"]["requested"] = p.mem;
  put(o["memory"], "by", p.mem_by);
  put(o["memory"], "observed", p.page_nodes, page_nodes_json);
  o["threads"] = Json::array();
  for (const ThreadPlace& thread : p.threads) {
    Json t;
    t["requested_cpu"] = thread.requested_cpu;
    put(t, "observed_cpu", thread.observed_cpu);
    put(t, "socket", thread.socket);
    put(t, "node", thread.node);
    put(t, "cluster", thread.cluster);
    put(t, "core", thread.core);
    o["threads"].push_back(std::move(t));
  }
  return o;
}

Json phases_json(const std::vector<PhaseTime>& phases) {
  Json array = Json::array();
  for (const PhaseTime& phase : phases) {
    Json o{{"name", phase.name}, {"seconds", phase.seconds}, {"operations", phase.operations}};
    put(o, "per_second", phase.per_second);
    array.push_back(std::move(o));
  }
  return array;
}

Json throughput_json(const Throughput& t) {
  Json o;
  o["operations"] = t.operations;
  o["seconds"] = t.seconds;
  o["timed_share"] = t.timed_share;
  o["per_second"] = t.per_second;
  o["ended_by"] = word(t.ended_by);
  o["per_operation"] = Json::object();
  for (const OperationRate& rate : t.per_operation) {
    o["per_operation"][rate.name] = {
        {"count", rate.count}, {"succeeded", rate.succeeded}, {"per_second", rate.per_second}};
    if (rate.keys > 0) o["per_operation"][rate.name].update({{"keys", rate.keys}, {"found", rate.found}});
  }
  o["interval_s"] = seconds(t.interval_ns);
  o["series"] = t.series;
  o["per_thread"] = t.per_thread;
  put(o, "jain", t.jain);
  put(o, "generator_ns", t.generator_ns);
  return o;
}

Json summary_json(const LatencySummary& s) {
  Json o;
  o["count"] = s.count;
  o["mean_ns"] = s.mean_ns;
  o["min_ns"] = s.min_ns;
  o["max_ns"] = s.max_ns;
  o["percentiles"] = Json::array();
  for (const auto& [percent, ns] : s.percentiles) o["percentiles"].push_back({{"percent", percent}, {"ns", ns}});
  o["histogram"] = s.histogram;
  return o;
}

Json latency_json(const Latency& l) {
  Json o;
  o["clock_ns"] = l.clock_ns;
  o["share_of_time"] = l.share_of_time;
  o["all"] = summary_json(l.all);
  put(o, "per_key_ns", l.per_key_ns);
  put(o, "response", l.response, summary_json);
  o["per_operation"] = Json::object();
  for (const OperationLatency& of : l.operations) {
    Json& kind = o["per_operation"][of.name];
    kind["time"] = summary_json(of.summary);
    put(kind, "response", of.response, summary_json);
    put(kind, "fallbacks", of.fallbacks);
    put(kind, "aborts", of.aborts);
  }
  put(o, "fell_back", l.fell_back, summary_json);
  return o;
}

Json rows_json(const Rows& rows) {
  Json all = Json::array();
  for (const Rows::Row& row : rows.rows) {
    Json o{{"operations", row.operations}, {"seconds", row.seconds}, {"events", Json::object()}};
    row.name.empty() ? put_missing(o, "phase", "rows are of so many operations") : void(o["phase"] = row.name);
    put(o, "nodes_per_fetch", row.nodes_per_fetch);
    for (const auto& [name, count] : row.events) o["events"][name] = count;
    all.push_back(std::move(o));
  }
  return all;
}

Json offer_json(const Offer& offer) {
  Json o{{"per_second", offer.per_second}};
  put(o, "arrivals", offer.arrivals);
  o["largest_lag_ns"] = offer.lag.largest;
  o["lag_at_end_ns"] = offer.lag.at_end;
  o["late"] = offer.late;
  return o;
}

Json slo_json(const SloSearch& search) {
  Json o{{"answer", word(search.answer)}, {"closed_per_second", search.closed_per_second}, {"tries", Json::array()}};
  for (const SloSearch::Try& t : search.tries) {
    Json one{{"per_second", t.per_second}, {"done_per_second", t.done_per_second},
             {"late", t.late}, {"cut", t.cut}, {"kept", t.kept}};
    put(one, "response_ns", t.response_ns);
    o["tries"].push_back(std::move(one));
  }
  return o;
}

Json series_json(const std::vector<SyncStats::Series>& all) {
  Json o = Json::object();
  for (const SyncStats::Series& series : all) o[series.name] = series.rates;
  return o;
}

Json per_thread_json(const std::vector<SyncStats::Counts>& threads) {
  Json array = Json::array();
  for (const SyncStats::Counts& counts : threads) array.push_back(json(counts));
  return array;
}

Json sync_json(const SyncStats& s) {
  Json o;
  o["options"] = json(s.options);
  put(o, "counters", s.counters);
  put(o, "aborts", s.aborts);
  put(o, "abort_statuses", s.abort_statuses);
  put(o, "fallback_rate", s.fallback_rate);
  put(o, "restart_rate", s.restart_rate);
  put(o, "series", s.series, series_json);
  put(o, "per_thread", s.per_thread, per_thread_json);
  put(o, "reclaim", s.reclaim);
  return o;
}

Json total_json(const PmuTotal& t) {
  return {{"here", t.here},
          {"user_only", t.user_only},
          {"raw", t.raw},
          {"scaled", t.scaled},
          {"enabled_ns", t.enabled_ns},
          {"running_ns", t.running_ns},
          {"running_share", static_cast<double>(t.running_ns) / static_cast<double>(t.enabled_ns)},
          {"per_operation", t.per_operation}};
}

Json pmu_json(const PmuResult& p) {
  Json o;
  o["events"] = Json::array();
  for (const PmuResult::Event& event : p.events) {
    Json one{{"name", event.name}, {"family", event.family}};
    put(one, "count", event.total, total_json);
    o["events"].push_back(std::move(one));
  }
  o["derived"] = Json::object();
  for (const auto& [name, value] : p.derived) o["derived"][name] = value;
  return o;
}

Json malloc_json(const MallocServer& m) { return {{"library", m.library}, {"version", m.version}}; }

Json memory_json(const MemoryUse& m) {
  Json o;
  put(o, "malloc", m.malloc, malloc_json);
  put(o, "index_live_bytes", m.index_live);
  put(o, "index_reserved_bytes", m.index_reserved);
  put(o, "payload_bytes", m.payload);
  put(o, "keys_at_start", m.keys_at_start);
  put(o, "keys", m.keys);
  put(o, "bytes_per_key", m.bytes_per_key);
  put(o, "page_bytes", m.page_bytes);
  put(o, "huge_share", m.huge_share);
  put(o, "rss_bytes", m.rss);
  put(o, "minor_faults", m.minor_faults);
  put(o, "major_faults", m.major_faults);
  put(o, "accessed_cleared", m.accessed_cleared);
  return o;
}

Json limits_json(const Limits& l) {
  Json o;
  put(o, "footprint_bytes", l.footprint);
  put(o, "page_bytes", l.page_bytes);
  put(o, "cycle_ns", l.cycle_ns);
  put(o, "chase_ns", l.chase_ns);
  put(o, "independent_ns", l.independent_ns);
  put(o, "transaction_ns", l.transaction_ns);
  put(o, "chase_ratio", l.chase_ratio);
  put(o, "independent_ratio", l.independent_ratio);
  return o;
}

Json health_json(const Health& h) {
  Json o;
  put(o, "voluntary_switches", h.voluntary_switches);
  put(o, "involuntary_switches", h.involuntary_switches);
  put(o, "migrations", h.migrations);
  put(o, "steal_share", h.steal_share);
  put(o, "on_processor", h.on_processor);
  put(o, "load_before", h.load_before);
  o["notes"] = h.notes;
  return o;
}

Json validation_json(const Validation& v) {
  Json o;
  o["mode"] = word(v.mode);
  put(o, "passed", v.passed);
  put(o, "expected_keys", v.expected_keys);
  put(o, "found_keys", v.found_keys);
  o["detail"] = v.detail;
  return o;
}

}  // namespace

void put_missing(Json& object, const std::string& key, const std::string& reason) {
  object[key] = nullptr;
  object[key + "_reason"] = reason.empty() ? "not measured" : reason;
}

void put(Json& object, const std::string& key, const Measured<double>& measured) {
  if (!measured) return put_missing(object, key, measured.reason);
  // JSON has no infinity; a division by zero upstream must not turn into a bare null.
  if (!std::isfinite(*measured)) return put_missing(object, key, "not a finite number");
  object[key] = *measured;
}

void put(Json& object, const std::string& key, const Measured<u64>& measured) {
  measured ? void(object[key] = *measured) : put_missing(object, key, measured.reason);
}

Json json_of(const MachineInfo& m) {
  Json o;
  put(o, "hostname", m.hostname);
  put(o, "model", m.model);
  put(o, "microcode", m.microcode);
  o["topology"] = m.topology;
  o["topology_digest"] = m.topology_digest;
  o["processors"] = m.processors;
  o["sockets"] = m.sockets;
  o["cores"] = m.cores;
  o["numa_nodes"] = m.numa_nodes;
  o["caches"] = Json::array();
  for (const CacheInfo& cache : m.caches) {
    Json one{{"level", cache.level}, {"type", cache.type}};
    put(one, "bytes", cache.bytes);
    put(one, "shared_by", cache.shared_by);
    o["caches"].push_back(std::move(one));
  }
  put(o, "memory_bytes", m.memory_bytes);
  put(o, "kernel", m.kernel);
  put(o, "mitigations", m.mitigations);
  put(o, "governor", m.governor);
  put(o, "thp", m.thp);
  put(o, "numa_balancing", m.numa_balancing);
  put(o, "damon", m.damon);
  put(o, "virtual_machine", m.virtual_machine);
  o["rtm"] = {{"cpuid_rtm", m.rtm.cpuid_rtm},
              {"cpuid_always_abort", m.rtm.cpuid_always_abort},
              {"probe", m.rtm.probe}};
  o["heavy_fence"] = m.heavy_fence;
  return o;
}

Json document_of(const RunResult& r) {
  Json o;
  o["schema_version"] = RunResult::kSchemaVersion;
  o["run_id"] = r.run_id;
  o["point_hash"] = r.point_hash;
  const auto put_place = [&](const char* key, const std::optional<u32>& place) {
    place ? void(o[key] = *place) : put_missing(o, key, "the run is not part of a comparison");
  };
  put_place("block", r.config.block);
  put_place("order", r.config.order);
  o["replicate"] = r.config.replicate;
  o["status"] = word(r.trial.status);
  o["reason"] = r.trial.reason;
  o["interrupted"] = r.trial.interrupted;
  o["started"] = r.started;
  o["command"] = r.command;
  o["config"] = config_json(r.config, r.trial);
  o["build"] = build_json(r.build);
  o["machine"] = json_of(r.machine);
  put(o, "stream", r.trial.stream, [](const StreamPrint& s) {
    return Json{{"operations", s.operations}, {"fingerprint", fmt::format("{:016x}", s.fingerprint)}};
  });
  o["placement"] = placement_json(r.trial.placement);
  o["phases"] = phases_json(r.trial.phases);
  put(o, "throughput", r.trial.throughput, throughput_json);
  put(o, "rows", r.trial.rows, rows_json);
  put(o, "latency", r.trial.latency, latency_json);
  put(o, "offer", r.trial.offer, offer_json);
  put(o, "slo", r.trial.slo, slo_json);
  put(o, "nodes_per_fetch", r.trial.nodes_per_fetch);
  o["sync"] = sync_json(r.trial.sync);
  put(o, "pmu", r.trial.pmu, pmu_json);
  o["memory"] = memory_json(r.trial.memory);
  o["limits"] = limits_json(r.trial.limits);
  o["health"] = health_json(r.trial.health);
  o["validation"] = validation_json(r.trial.validation);
  return o;
}

std::string point_hash(const Config& config) {
  return fmt::format("{:016x}", hash_bytes(point_of(config), 0));
}

void identify(RunResult& result) {
  static std::atomic<u32> counter{0};   // relaxed below: its values need only differ
  const auto now = std::chrono::system_clock::now();
  const auto since_epoch =
      std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count();
  const std::tm utc = fmt::gmtime(static_cast<std::time_t>(since_epoch / 1'000'000));
  result.started = fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", utc, since_epoch % 1'000'000);
  // The host is in the hash: two machines may start runs with equal process numbers in the same microsecond.
  char host[256] = {};
  (void)gethostname(host, sizeof host - 1);
  result.run_id =
      fmt::format("{:%Y%m%dT%H%M%S}-{:08x}-{}-{}", utc, hash_bytes(host, static_cast<u64>(since_epoch)) >> 32,
                  getpid(), counter.fetch_add(1, kRelaxed));
  result.point_hash = point_hash(result.config);
}

void print(const std::string& text) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) {
    throw OutputError(fmt::format("cannot write to stdout: {}", std::strerror(errno)));
  }
}

}  // namespace latchlab
