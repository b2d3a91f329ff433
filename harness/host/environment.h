// The facts around a run: the machine, and the disturbances of the measured phase. Everything comes from /proc, /sys
// and getrusage. Tests replace the root directory of /proc and /sys by a tree of fixtures. A value that the kernel does
// not report is missing with a reason, never zero.
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

/// The directory that holds /proc and /sys: "" on a real machine.
using Root = std::string;

struct CacheInfo {
  u32 level = 0;
  std::string type;  ///< data, instruction, unified
  OrReason<u64> bytes;
  OrReason<u32> shared_by;  ///< number of processors that share this cache
};

/// RTM as CPUID reports it and as a probe by running transactions finds it; the two may differ.
struct RtmInfo {
  bool cpuid_rtm = false;
  bool cpuid_always_abort = false;
  RtmOutcome probe = RtmOutcome::kAbsent;
};

/// The modelled machine of a run. The rest of MachineInfo is about the machine that ran the model.
struct ModelInfo {
  std::string name;
  std::string digest;    ///< equal for machines of equal name, values and provenance, with the changes
  std::string topology;  ///< as MachineInfo has it
  double scale = 1;      ///< what L3, the second TLB and the times of NUMA balancing's marks are divided by
  u64 seed = 0;
  u64 warmup_operations = 0;
  std::vector<std::string> changes;  ///< each value that differs from the machine's file, in one line
  std::vector<std::string> fitted;   ///< the values that were fitted to published results
};

struct MachineInfo {
  OrReason<std::string> hostname;
  OrReason<std::string> boot_id;  ///< new at every boot: processes with the same one share a running kernel
  OrReason<std::string> model;
  OrReason<std::string> microcode;
  std::string topology;         ///< e.g. "1 socket, 1 NUMA node, 1 cluster, 2 cores, 2 processors (all allowed)"
  std::string topology_digest;  ///< equal for equal topologies
  u32 processors = 0;           ///< number of processors that this process may use
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
  OrReason<ModelInfo> modelled = OrReason<ModelInfo>::missing("the run is measured");
};

/// Returns a small file of /proc or /sys without the final newline; nothing if it cannot be read.
[[nodiscard]] std::optional<std::string> read_fact(const Root& root, std::string_view path);

/// Returns the value of the first line "name : value" of such a file; nothing if there is none.
[[nodiscard]] std::optional<std::string> read_fact(const Root& root, std::string_view path, std::string_view name);

/// Returns the word in brackets of "always [madvise] never"; the text itself if it has no brackets.
[[nodiscard]] std::string chosen_word(std::string_view text);

/// Returns everything about the machine. The first call runs the RTM probe, which takes a few milliseconds.
[[nodiscard]] MachineInfo read_machine(const Topology& topology, const Root& root = {});

/// Returns true if any DAMON worker runs. It clears Accessed bits of page tables, and a transaction that touches such a
/// page aborts with status 0. Missing if this process may not read the workers' state.
[[nodiscard]] OrReason<bool> damon_runs(const Root& root = {});

/// Returns the files under /sys that switch a running DAMON worker, each with the word that stops it:
/// "/sys/module/damon_reclaim/parameters/enabled", "N".
[[nodiscard]] std::vector<std::pair<std::string, std::string>> damon_switches(const Root& root = {});

/// Returns true if NUMA balancing is on. It unmaps pages to see which threads touch them, which aborts transactions
/// too.
[[nodiscard]] OrReason<bool> numa_balancing_on(const Root& root = {});
/// Returns true if the kernel moves cold pages to slower nodes by itself.
[[nodiscard]] OrReason<bool> kernel_demotes(const Root& root = {});

/// Returns a line for each setting of this machine that disturbs a measurement, for Health::notes. `elides`: the policy
/// elides, or would if the processor could. DAMON disturbs only such a policy.
[[nodiscard]] std::vector<std::string> disturbances(bool elides, const Root& root = {});

/// Returns the bytes that can be allocated without swapping: MemAvailable, or less if a cgroup limits it.
[[nodiscard]] u64 available_memory(const Root& root = {});

/// Returns the bytes that can be allocated on the NUMA nodes that `placement` binds to: free memory and file cache.
/// Local placement has the least of its nodes times their number, since each thread takes about as much. Returns ~0 if
/// it binds to no node, or if the kernel does not tell.
[[nodiscard]] u64 available_memory_on(const PagePlacement& placement, const Root& root = {});

/// Returns the bytes of this process that the kernel neither swaps out nor moves to another node (VmLck).
[[nodiscard]] OrReason<u64> locked_memory(const Root& root = {});

/// Returns why the kernel may have refused to lock more: the limit of this process.
[[nodiscard]] std::string lock_limit();

/// Allows or forbids huge pages for all memory that this process gets from now on, malloc's too. Returns false if the
/// kernel refuses.
[[nodiscard]] bool allow_huge_pages(bool allowed);

/// This process's memory in bytes, and how much of it is on huge pages.
struct PageUse {
  u64 rss = 0;
  u64 huge = 0;
  bool known = false;
};
[[nodiscard]] PageUse page_use(const Root& root = {});

// About the memory that the process got between two calls of page_use: its share on huge pages, and the page size of
// most of it. If the process has no huge page at all, both are known even if it did not grow.
[[nodiscard]] OrReason<double> huge_share_between(const PageUse& before, const PageUse& after);
[[nodiscard]] OrReason<u64> page_bytes_between(const PageUse& before, const PageUse& after);

/// Returns the processor time of the calling thread, in ns. It excludes waits for a processor.
[[nodiscard]] std::optional<u64> thread_time_ns();

/// Running totals of disturbances. The difference of two is what happened in between.
struct Disturbance {
  std::optional<u64> minor_faults;
  std::optional<u64> major_faults;
  std::optional<u64> voluntary_switches;
  std::optional<u64> involuntary_switches;
  std::optional<u64> migrations;   ///< migrations of all threads that are alive
  std::optional<u64> steal_ticks;  ///< ticks of the whole machine that the hypervisor gave to other guests
  std::optional<u64> all_ticks;    ///< all ticks of the whole machine
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
/// Returns the disturbances between two calls of disturbance_now.
[[nodiscard]] Disturbed disturbed_between(const Disturbance& before, const Disturbance& after);

/// Returns the load average of one minute.
[[nodiscard]] OrReason<double> load_average(const Root& root = {});

/// Returns a line for Health::notes if `load` shows that other programs were running. Earlier runs of the harness leave
/// a load of at most one thread a processor, unless they were oversubscribed.
[[nodiscard]] std::optional<std::string> crowd(const OrReason<double>& load, std::size_t processors);

}  // namespace latchlab
