// The floor under every result: accesses to the same memory with no index in it. There are four measurements:
//
//   chase        a random cycle through every line of the buffer. The address of each load is the result of the load
//                before it, as in a descent from node to node.
//   independent  loads whose addresses a generator knows beforehand. So the processor overlaps as many misses as it
//                can, as in a batch of lookups.
//   transaction  a hardware transaction that reads one line that no thread writes: the cost of beginning and committing
//   cycle        an addition that depends on the one before it, and so takes one cycle: the clock rate of all the above
//
// Chase and independent run over a buffer of the index's footprint, cut to what fits. The footprint is the memory that
// the index has from the system, and its sized values. The buffer has the same page size and the same NUMA nodes.
// There is one pinned thread for each processor that the run used. All of them walk the shared buffer at once, each on
// its own path. A thread's time for a line is that of its best batch, since a disturbed batch says nothing about the
// memory. The limit is the mean over the threads. The two kinds take turns of 50 ms. So a neighbour that is busy for a
// tenth of a second disturbs neither all of one kind nor only the other.
//
// The measurements run after the measured phase and the check, while the idle index still exists. So the buffer's cache
// lines and pages cannot disturb the index. The buffer is freed before the call returns.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "harness/config/config.h"
#include "harness/config/or_reason.h"
#include "harness/host/barrier.h"
#include "harness/host/clock.h"
#include "harness/host/line_buffer.h"
#include "harness/host/placement.h"
#include "harness/host/topology.h"
#include "src/base/types.h"
#include "src/memory/numa.h"

namespace latchlab {

/// Returns the size of the buffer for an index of `reserved` bytes: at least 1 MiB, at most 4 GiB, at most half of
/// `available`.
[[nodiscard]] u64 limits_footprint(u64 reserved, u64 available);

/// Returns the placement of the buffer for an index placed as `pages`. Under first touch or local placement the nodes
/// depend on the threads; then the buffer is interleaved over the nodes of all threads.
[[nodiscard]] PagePlacement placement_of_limits(const Topology& topology, const Seats& seats,
                                                const PagePlacement& pages);

/// The floor under every result: accesses to the same memory with no index in it, measured in the same run.
struct Limits {
  OrReason<u64> footprint;  ///< bytes of the buffer: as many as the index and its sized values have, cut to what fits
  OrReason<u64> page_bytes;
  OrReason<double> cycle_ns;           ///< time of one processor cycle
  OrReason<double> chase_ns;           ///< time of one dependent line
  OrReason<double> independent_ns;     ///< time of one of many independent lines
  OrReason<double> transaction_ns;     ///< time of a hardware transaction that reads one line of its thread's own
  OrReason<double> loop_ns;            ///< thread time of an operation by the same loop, if the index does nothing
  OrReason<double> chase_ratio;        ///< thread time of an operation / chase_ns: its cost in dependent lines
  OrReason<double> independent_ratio;  ///< thread time of an operation / independent_ns
  OrReason<double> words_ns;           ///< thread time of a lookup that reads no sized value
  OrReason<u64> value_lines;           ///< lines of a sized value
  OrReason<double> value_ratio;        ///< thread time of an operation / (words_ns + value_lines x independent_ns)
  OrReason<double> loop_share;         ///< loop_ns / thread time of an operation
};

struct LimitsPlan {
  u64 footprint = 0;  ///< bytes
  HugePages huge_pages = HugePages::kNone;
  PagePlacement pages;
  std::vector<u32> cpus;  ///< the processors, by the kernel's numbers, with one thread each
  bool pin = true;
  /// Length of chase and of independent each; transactions take a quarter of it. A short one is extended to kMinBatches
  /// batches.
  u64 time_ns = 200'000'000;

  /// Returns the number of turns of 50 ms that each kind of line takes.
  [[nodiscard]] u64 turns() const { return std::max<u64>(1, time_ns / 50'000'000); }
};

/// Measures the limits of the memory. The caller adds loop_ns, and the ratios by with_limit_ratios (account.h). Values
/// are missing with a reason if memory runs out or the run was interrupted. Takes a little more than twice time_ns, and
/// a second per GiB to lay out the cycle.
[[nodiscard]] Limits measure_limits(const LimitsPlan& plan);
/// Measures the limits over an existing buffer; page_bytes stays missing.
[[nodiscard]] Limits measure_limits(const LimitsPlan& plan, const LineBuffer& buffer);

/// Runs `task` on one thread for each of plan.cpus, with a barrier that all of them share. A task must not throw before
/// its last wait at the barrier, since the others would wait forever. Throws what a task throws, and std::system_error
/// if the system has no more threads.
void on_seats(const LimitsPlan& plan, const std::function<void(u32 thread, Barrier& barrier)>& task);

/// Returns limits without values, all missing for this reason.
[[nodiscard]] Limits no_limits(const std::string& why);

/// Runs `batch` for `time_ns`, but at least kMinBatches times (once if the run is interrupted), and returns the time of
/// the shortest. A batch is long enough to be typical, and a disturbance only makes it longer. A single batch would not
/// show whether it was disturbed.
constexpr u32 kMinBatches = 5;
[[nodiscard]] double best_batch_ns(Clock& clock, u64 time_ns, const std::function<void()>& batch);

/// Keeps the compiler from removing the computation of `value`, and so the loads that led to it.
inline void keep(u64 value) { asm volatile("" : : "r"(value) : "memory"); }

}  // namespace latchlab
