// The facts around a run: what the machine is, and what disturbed the measured phase. Everything comes from
// /proc, /sys and getrusage, under a root directory that tests replace by a tree of fixtures. What the kernel
// does not tell is missing with a reason, never zero.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/config/or_reason.h"
#include "harness/host/topology.h"
#include "src/arch/features.h"
#include "src/arch/heavy_fence.h"
#include "src/base/types.h"
#include "src/memory/numa.h"

namespace latchlab {

/// Where /proc and /sys are: "" on a real machine.
using Root = std::string;

struct CacheInfo {
  u32 level = 0;
  std::string type;  ///< data, instruction, unified
  OrReason<u64> bytes;
  OrReason<u32> shared_by;  ///< processors
};

/// RTM according to the processor and according to running transactions; the two may differ.
struct RtmInfo {
  bool cpuid_rtm = false;
  bool cpuid_always_abort = false;
  RtmOutcome probe = RtmOutcome::kAbsent;
};

struct MachineInfo {
  OrReason<std::string> hostname;
  OrReason<std::string> model;
  OrReason<std::string> microcode;
  std::string topology;         ///< e.g. "1 socket, 1 NUMA node, 1 cluster, 2 cores, 2 processors (all allowed)"
  std::string topology_digest;  ///< equal for equal topologies
  u32 processors = 0;           ///< that this process may use
  u32 sockets = 0;
  u32 cores = 0;
  u32 numa_nodes = 0;
  std::vector<CacheInfo> caches;
  OrReason<u64> memory_bytes;
  OrReason<std::string> kernel;
  OrReason<std::vector<std::pair<std::string, std::string>>> mitigations;
  OrReason<std::string> governor;
  OrReason<std::string> thp;  ///< /sys/kernel/mm/transparent_hugepage/enabled, the chosen word
  OrReason<bool> numa_balancing;
  OrReason<bool> damon;
  OrReason<bool> virtual_machine;
  RtmInfo rtm;
  HeavyFence heavy_fence = HeavyFence::kMembarrier;
};

/// A small file of /proc or /sys without the final newline; nothing if it cannot be read.
[[nodiscard]] std::optional<std::string> read_fact(const Root& root, std::string_view path);

/// The word in brackets of "always [madvise] never"; the text itself if there are none.
[[nodiscard]] std::string chosen_word(std::string_view text);

/// Everything about the machine. Runs the RTM probe on first use, a few milliseconds.
[[nodiscard]] MachineInfo read_machine(const Topology& topology, const Root& root = {});

/// Whether any DAMON worker runs: it clears Accessed bits of page tables, and a transaction that touches such
/// a page aborts with status 0. Nothing if the kernel does not let us see.
[[nodiscard]] OrReason<bool> damon_runs(const Root& root = {});

/// The files under /sys that say so, each with the word that ends it: "/sys/module/damon_reclaim/parameters/enabled",
/// "N".
[[nodiscard]] std::vector<std::pair<std::string, std::string>> damon_switches(const Root& root = {});

/// Whether NUMA balancing is on: it unmaps pages to see who touches them, which aborts transactions too.
[[nodiscard]] OrReason<bool> numa_balancing_on(const Root& root = {});

/// One line for each thing that disturbs measurements here, for Health::notes.
[[nodiscard]] std::vector<std::string> disturbances(const Root& root = {});

/// Bytes that can be allocated without swapping (MemAvailable, and less if a cgroup says so).
[[nodiscard]] u64 available_memory(const Root& root = {});

/// The same of the NUMA nodes that this binds to: what is free and the file cache; ~0 for what binds to none, or if the
/// kernel does not tell.
[[nodiscard]] u64 available_memory_on(const PagePlacement& placement, const Root& root = {});

/// Whether memory that this process gets from now on, malloc's too, may be on huge pages where the kernel has
/// them. False if the kernel cannot be told.
[[nodiscard]] bool allow_huge_pages(bool allowed);

/// This process's memory, and how much of it is on huge pages.
struct PageUse {
  u64 rss = 0;
  u64 huge = 0;
  bool known = false;
};
[[nodiscard]] PageUse page_use(const Root& root = {});

/// Of the memory that came between two looks: the share on huge pages, and the page size of most of it. Where
/// the process has no huge page at all both are known even if it did not grow.
[[nodiscard]] OrReason<double> huge_share_between(const PageUse& before, const PageUse& after);
[[nodiscard]] OrReason<u64> page_bytes_between(const PageUse& before, const PageUse& after);

/// Processor time of the calling thread: what it costs, without waiting for a processor.
[[nodiscard]] std::optional<u64> thread_time_ns();

/// Running totals; the difference of two tells what happened between.
struct Disturbance {
  std::optional<u64> minor_faults;
  std::optional<u64> major_faults;
  std::optional<u64> voluntary_switches;
  std::optional<u64> involuntary_switches;
  std::optional<u64> migrations;   ///< of all threads that are alive
  std::optional<u64> steal_ticks;  ///< of the whole machine
  std::optional<u64> all_ticks;
};
[[nodiscard]] Disturbance disturbance_now(const Root& root = {});

/// The disturbances of a phase.
struct Disturbed {
  OrReason<u64> minor_faults;
  OrReason<u64> major_faults;
  OrReason<u64> voluntary_switches;
  OrReason<u64> involuntary_switches;
  OrReason<u64> migrations;
  OrReason<double> steal_share;  ///< 0..1 of all processor time
};
/// The disturbances between two looks.
[[nodiscard]] Disturbed disturbed_between(const Disturbance& before, const Disturbance& after);

/// The load average of one minute.
[[nodiscard]] OrReason<double> load_average(const Root& root = {});

/// A line for Health::notes where `load` says that others were running. Earlier runs of ours leave no more than a
/// thread a processor, unless they were oversubscribed.
[[nodiscard]] std::optional<std::string> crowd(const OrReason<double>& load, std::size_t processors);

}  // namespace latchlab
