// The floor under every result: the same memory with no index in it.
//
//   chase        a random cycle through every line of the buffer: the address of each load is the result of
//                the one before, as in a descent from node to node
//   independent  the addresses are known beforehand (a generator's), so that the processor overlaps as many
//                misses as it can, as a batch of lookups would
//   transaction  one of the hardware that reads one line which nobody writes: what beginning and committing costs
//   cycle        an addition that waits for the one before it, which takes one cycle: the clock that all this ran at
//
// The first two run over a buffer of the index's footprint (what it holds from the system, and the payloads apart from
// it, cut to what fits), on the same page size and the same NUMA nodes, by as many pinned threads at once as the run
// used processors, each with a walk of its own through the shared buffer. A thread's time a line is that of its best
// batch, since a disturbed one says nothing about the memory; the limit is the mean over the threads. The two kinds
// take turns of 50 ms, so that a neighbour who is busy for a tenth of a second disturbs neither all of the one nor only
// the other.
//
// When: after the measured phase and the check, while the idle index still exists, so that the index has met
// neither the buffer's cache lines nor its pages. The buffer is gone when the call returns.
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

/// The buffer that stands for an index of `reserved` bytes: at least 1 MiB, at most 4 GiB, at most half of
/// `available`.
[[nodiscard]] u64 limits_footprint(u64 reserved, u64 available);

/// Where the buffer lies for an index that lies as `pages` says: where threads decide about its pages, on the nodes of
/// all of them.
[[nodiscard]] PagePlacement placement_of_limits(const Topology& topology, const Seats& seats,
                                                const PagePlacement& pages);

/// The same memory with no index in it: the floor under every result, measured in the same run.
struct Limits {
  OrReason<u64>
      footprint;  ///< bytes that the chase ran over: as many as the index and its payloads have, cut to what fits
  OrReason<u64> page_bytes;
  OrReason<double> cycle_ns;           ///< of a processor's clock
  OrReason<double> chase_ns;           ///< one dependent line
  OrReason<double> independent_ns;     ///< one of many independent lines
  OrReason<double> transaction_ns;     ///< a hardware transaction that reads one line of its thread's own
  OrReason<double> chase_ratio;        ///< thread time of an operation / chase_ns: dependent lines that it is worth
  OrReason<double> independent_ratio;  ///< thread time of an operation / independent_ns
};

struct LimitsPlan {
  u64 footprint = 0;  ///< bytes
  HugePages huge_pages = HugePages::kNone;
  PagePlacement pages;
  std::vector<u32> cpus;  ///< one thread on each, the kernel's numbers
  bool pin = true;
  /// Of each measurement, of transactions a quarter, or the time of kMinBatches if that is more.
  u64 time_ns = 200'000'000;

  /// How many turns of 50 ms that is, one kind of line after the other.
  [[nodiscard]] u64 turns() const { return std::max<u64>(1, time_ns / 50'000'000); }
};

/// The ratios are left to fill in by the caller, with with_limit_ratios (account.h). Reasons instead of values if
/// memory is out or the run was interrupted. Takes a little more than twice time_ns, and a second per GiB to lay out
/// the cycle.
[[nodiscard]] Limits measure_limits(const LimitsPlan& plan);
/// The same over lines that are there already; of their pages it knows nothing.
[[nodiscard]] Limits measure_limits(const LimitsPlan& plan, const LineBuffer& buffer);

/// Runs `task` on a thread for each of plan.cpus, with a barrier for all of them, at which those wait for each other:
/// it must not throw before. Throws what it throws, and std::system_error if there are no more threads.
void on_seats(const LimitsPlan& plan, const std::function<void(u32 thread, Barrier& barrier)>& task);

/// Limits without a value, for this reason.
[[nodiscard]] Limits no_limits(const std::string& why);

/// Runs `batch` for `time_ns`, but kMinBatches times at least (once if the run is interrupted), and returns
/// how long the shortest took: a batch is long enough to be typical, and a disturbance only makes it longer.
/// So of a single batch nobody could say which of the two it was.
constexpr u32 kMinBatches = 5;
[[nodiscard]] double best_batch_ns(Clock& clock, u64 time_ns, const std::function<void()>& batch);

/// The result of every load goes into a sum that is kept, so that no load can be left out.
inline void keep(u64 value) { asm volatile("" : : "r"(value) : "memory"); }

}  // namespace latchlab
