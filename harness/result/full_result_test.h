// Results for the tests of documents and tables: one in which everything was measured, and one in which nothing was.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/result/report.h"
#include "harness/result/result.h"
#include "src/testing/temporary_file.h"
#include "workloads/phases_file.h"
#include "workloads/wiscer.h"

namespace latchlab::testing {

/// Returns a result in which everything was measured.
inline RunResult full_result() {
  RunResult r;
  r.command = {"harness", "--index=art"};
  r.plan.config.records = 1000;
  r.plan.config.value_size = 64;
  r.plan.config.latency_every = 100;
  r.plan.config.clear_accessed_ns = 100'000'000;
  r.plan.config.slo = Slo::parse("p99:3ms");
  r.plan.config.batch.keys = 2;
  r.plan.config.block = r.plan.config.order = 0;
  r.plan.config.time_ns = 1'000'000'000;
  r.build = {.commit = "abc",
             .dirty = true,
             .compiler = "GNU 12",
             .flags = "-O2",
             .type = "Release",
             .libraries = {{"fmt", "9.1"}}};
  MachineInfo& m = r.machine;
  m.hostname = std::string("here");
  m.boot_id = std::string("5f0e6c1a-0000-4000-8000-000000000001");
  m.kernel = std::string("Linux 6");
  m.memory_bytes = u64{1} << 30;
  m.model = std::string("a processor");
  m.microcode = std::string("0x1");
  m.caches = {{.level = 1, .type = "data", .bytes = 49152, .shared_by = 2}};
  m.mitigations = std::vector<std::pair<std::string, std::string>>{{"meltdown", "Not affected"}};
  m.governor = std::string("performance");
  m.thp = std::string("madvise");
  m.numa_balancing = false;
  m.damon = false;
  m.virtual_machine = true;
  m.rtm.probe = RtmOutcome::kWorks;
  m.heavy_fence = HeavyFence::kMembarrier;
  m.modelled = ModelInfo{.name = "haswell-ep",
                         .digest = "0123456789abcdef",
                         .topology = "2 sockets",
                         .scale = 16,
                         .seed = 1,
                         .warmup_operations = 1000,
                         .changes = {"qpi.gbps = 76.8, not 38.4"},
                         .fitted = {"dram.local"}};
  TrialResult& t = r.trial;
  t.placement = {
      .requested = "compact",
      .mem = "bind:0",
      .mem_by = PlacedBy::kChunks,
      .page_nodes = PageNodes{.pages = 12, .shares = {{.node = 0, .share = 1}}},
      .threads = {{.requested_cpu = 0, .observed_cpu = 0u, .socket = 0u, .node = 0u, .cluster = 0u, .core = 0u}},
      .processors = 1,
      .oversubscribed = false};
  t.phases = {{.name = "load", .seconds = 1, .operations = 1000, .per_second = 1000.0}};
  Throughput throughput;
  throughput.operations = 5'000'000;
  throughput.seconds = 1;
  throughput.timed_share = 0.9;
  throughput.per_second = 5e6;
  throughput.per_operation = {{.name = "read", .count = 5'000'000, .succeeded = 5'000'000, .per_second = 5e6}};
  throughput.interval_ns = 100'000'000;
  throughput.series = {5e6, 5.1e6};
  throughput.per_thread = {5e6};
  throughput.jain = 1.0;
  throughput.generator_ns = 3.0;
  t.throughput = throughput;
  const LatencySummary summary{.count = 5000,
                               .mean_ns = 420.5,
                               .min_ns = 200,
                               .max_ns = 2'500'000,
                               .percentiles = {{50, 400}, {99.9, 12'345}},
                               .histogram = {{400, 4000}, {12'345, 1000}}};
  const std::vector<NamedCount> aborted{{.name = "conflict", .count = 3}};
  t.latency = Latency{
      .clock_ns = 20,
      .share_of_time = .04,
      .all = summary,
      .per_key_ns = 210.25,
      .response = summary,
      .operations = {{.name = "read", .summary = summary, .response = summary, .fallbacks = u64{7}, .aborts = aborted}},
      .fell_back = summary};
  t.offer = OfferedLoad{
      .per_second = 5.2e6, .arrivals = u64{5'100'000}, .lag = {.largest = 3'000'000, .at_end = 0}, .late = false};
  t.slo = SloSearch{.answer = RateSearch::Answer::kFound,
                    .closed_per_second = 9e6,
                    .tries = {{.per_second = 5'200'000,
                               .offered = 5.1e6,
                               .served = 5.09e6,
                               .response_ns = u64{2'500'000},
                               .late = false,
                               .kept = true}}};
  t.sync.options = {{"restarts", "20"}};
  t.sync.counters = std::vector<NamedCount>{{.name = "ops", .count = 5}};
  t.sync.aborts = std::vector<NamedCount>{{.name = "conflict", .count = 30}, {.name = "zero", .count = 10}};
  t.sync.abort_statuses =
      std::vector<NamedCount>{{.name = "retry+conflict", .count = 30}, {.name = "zero", .count = 10}};
  t.sync.fallback_rate = 0.0001;
  t.sync.restart_rate = 0.5;
  t.sync.series = std::vector<SyncStats::Series>{{"aborts", {.1, .2}}};
  t.sync.per_thread = std::vector<SyncStats::Counts>{{{.name = "ops", .count = 5}, {.name = "conflict", .count = 30}}};
  t.sync.reclaim = std::vector<NamedCount>{{.name = "retired", .count = 9},
                                           {.name = "freed", .count = 7},
                                           {.name = "pending", .count = 2},
                                           {.name = "advances", .count = 3},
                                           {.name = "stalled", .count = 0}};
  const PmuTotal cycles{
      .here = "perf::CYCLES", .raw = 40, .scaled = 100, .enabled_ns = 10, .running_ns = 4, .per_operation = 2e-5};
  t.pmu = PmuResult{.events = {{.name = "cycles", .family = "core", .total = cycles}},
                    .derived = {{"instructions_per_cycle", 2.5}, {"package_joules", 6}}};
  VirtualTime time;
  time.thread_ns = 100;
  for (const std::string_view cause : kWords<model::Cause>) time.causes.emplace_back(cause, 4);
  time.per_thread = {time.causes};
  time.aborts = {{.name = "conflict", .count = 3, .ns = 2.5}};
  time.conflicts = {{.structure = std::string("Node4"), .bytes = u64{64}, .count = 2, .ns = 1.5}};
  time.hot_lines = {{.structure = std::string("policy"),
                     .bytes = u64{128},
                     .offset = u64{64},
                     .lock = true,
                     .waited_ns = 9,
                     .asleep_ns = 3,
                     .reads = 5,
                     .writes = 4,
                     .conflicts = 2,
                     .threads = {0, 1}}};
  t.virtual_time = time;
  t.nodes_per_fetch = 1.477;
  t.stream = StreamPrint{.operations = 1000, .fingerprint = 0xfeed};
  t.key_file = KeyFile{.lines = 1005, .empty = 2, .repeated = 3};
  t.trace = TraceInfo{.checksum = 0xfade, .operations = 5, .keys = 3, .loaded = 2, .has_times = true};
  t.wiscer = WiscerFile::read("steady-state");
  t.workload_phases =
      about(read_phases(TemporaryFile("warm 1000 lookup zipf:0.99 drift:10\ngrow 256 mix:insert=100\n").path()));
  const TwoMemories two{.medium = "modelled",
                        .words = "model:optane,size=1G,lat=305,read=6.6,write=2.3",
                        .rule = "near-first,promote=1",
                        .hwloc = std::string("CXL-DRAM"),
                        .file_system = std::string("tmpfs"),
                        .near_limit = u64{1} << 20,
                        .live = 50'000,
                        .reserved = 60'000,
                        .page_nodes = PageNodes{.pages = 15, .shares = {{.node = 1, .share = 1}}},
                        .locked = u64{50'000},
                        .preset_latency_ns = 305.0,
                        .preset_read_gbps = 6.6,
                        .preset_write_gbps = 2.3,
                        .latency_ns = 306.0,
                        .read_gbps = 6.5,
                        .write_gbps = 2.3,
                        .near_latency_ns = 80.0,
                        .near_read_gbps = 20.0,
                        .near_write_gbps = 18.0,
                        .kernel_demotes = false,
                        .near_reads = u64{700},
                        .far_reads = u64{300},
                        .far_bytes_read = u64{76'800},
                        .far_writes = u64{40},
                        .far_bytes_written = u64{10'240},
                        .promotions = u64{30},
                        .demotions = u64{31},
                        .looks = u64{1},
                        .late_moves = u64{1},
                        .near_full = u64{2},
                        .near_share = .7,
                        .moving_share = .01};
  t.memory = {.far = two,
              .malloc = OrReason<MallocServer>::missing("nodes are not from malloc"),
              .index_live = u64{43'000},
              .index_reserved = u64{50'000},
              .values_live = u64{72'000},
              .values_reserved = u64{80'000},
              .keys = u64{1000},
              .keys_at_start = u64{1000},
              .bytes_per_key = 43.0,
              .page_bytes = u64{4096},
              .huge_share = 0.0,
              .rss = u64{1} << 20,
              .minor_faults = u64{3},
              .major_faults = u64{0},
              .accessed_cleared = u64{2}};
  t.limits = {.footprint = 43'000,
              .page_bytes = u64{4096},
              .cycle_ns = .5,
              .chase_ns = 80.0,
              .independent_ns = 10.0,
              .transaction_ns = 20.0,
              .loop_ns = 2.0,
              .chase_ratio = 2.5,
              .independent_ratio = 20.0,
              .words_ns = 150.0,
              .value_lines = u64{2},
              .value_ratio = 1.25,
              .loop_share = .01};
  t.health = {.voluntary_switches = u64{1},
              .involuntary_switches = u64{2},
              .migrations = u64{0},
              .steal_share = 0.0,
              .on_processor = 1.0,
              .load_before = 0.1,
              .notes = {"DAMON is running"}};
  t.scheduling = {.run_delay_ns = u64{5'000'000},
                  .yields = u64{100},
                  .parks = u64{10},
                  .wakes = u64{9},
                  .late_handovers = u64{8},
                  .preempted_outside_waits = u64{7},
                  .slice_extensions = u64{6}};
  t.validation = {
      .mode = Validate::kTally, .passed = true, .expected_keys = u64{1000}, .found_keys = u64{1000}, .detail = ""};
  t.history = History{.keys = "1/64",
                      .room = 1'000'000,
                      .calls = 500,
                      .pending = 2,
                      .ended_in = std::string("measure"),
                      .ended_s = .5,
                      .linearizable = false,
                      .checked_keys = u64{16},
                      .wrong_keys = u64{1},
                      .undecided_keys = u64{0},
                      .witness = std::string("key 5: two calls conflict\n  before these calls the key is absent\n"),
                      .preemptions = u64{40},
                      .preemptions_inside = u64{30}};
  identify(r);
  return r;
}

/// Returns a result in which nothing was measured.
inline RunResult empty_result() {
  RunResult r;
  identify(r);
  r.trial.status = Status::kSkipped;
  r.trial.reason = "two writers";
  nothing_measured(r.trial, "the run was skipped");
  return r;
}

}  // namespace latchlab::testing
