// Which processor each thread runs on: requested, and observed after pinning, since the two can differ
// (containers that deny the call, a topology that is not this machine, a mask changed by somebody else).
//
//   compact      one cluster after the other, socket by socket
//   scatter      sockets in turn, within them clusters in turn, within them cores
//   cluster:0-1  compact, within these clusters, in this order
//   socket:0     compact, within these sockets
//   list:0-3,8   these processors (the kernel's numbers), in this order
//
// With --smt=avoid the second hardware threads of cores come behind the first ones of all cores that are named: with 2
// sockets x 14 cores x 2, threads 0-13 of compact fill socket 0, 14-27 socket 1, 28-55 their siblings. With --smt=pack
// both hardware threads of a core come before the next core.
//
// --threads-per=cluster puts --threads into each cluster that is named, filled in the same order; one after the other,
// so that thread numbers are those of neighbours.
//
// Only processors of the allowed mask are used. More threads than processors wrap around: that is allowed,
// and recorded, since nothing but the harness's own yielding makes such a run end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/config/or_reason.h"
#include "harness/config/plan.h"
#include "harness/host/topology.h"
#include "src/base/types.h"
#include "src/memory/chunk_source.h"

namespace latchlab {

/// One thread's place: the processor it was pinned to and the one it was seen on at the end of the measured
/// phase.
struct ThreadPlacement {
  u32 requested_cpu = 0;
  OrReason<u32> observed_cpu;
  // Of the observed processor, logical numbers but for the node, which is the operating system's.
  OrReason<u32> socket;
  OrReason<u32> node;
  OrReason<u32> cluster;
  OrReason<u32> core;
};

/// On which NUMA nodes pages of the index lie, after the measured phase.
struct PageNodes {
  struct Share {
    u32 node = 0;  ///< the operating system's number
    double share = 0;
  };
  u64 pages = 0;  ///< that were looked at: those of all chunks that have been touched, or a sample of them
  std::vector<Share> shares;
};

/// Seats the threads of the run, an equal share in each of groups_of. Throws NoRoom that names what exists if --pin
/// asks for a cluster, a socket or a processor that does not exist or is outside the allowed mask.
[[nodiscard]] Seats seat(const Topology& topology, const Config& config);

/// A Plan with the workload and the seats of a complete Config, for an index that no registry knows. Throws as seat and
/// Workload do.
[[nodiscard]] Plan plan_of(const Config& config, const Topology& topology);

/// The nodes of all processors that --pin names, the kernel's numbers, ascending. Throws as seat does.
[[nodiscard]] std::vector<u32> nodes_of_pin(const Topology& topology, const Config& config);

/// How many clusters or sockets --threads-per means, of those that --pin names; 1 for a run. Throws as seat does.
[[nodiscard]] u32 groups_of(const Topology& topology, const Config& config);

/// The NUMA nodes of these processors, the kernel's numbers, in ascending order.
[[nodiscard]] std::vector<u32> nodes_of_seats(const Topology& topology, const Seats& seats);

/// Binds the calling thread to one processor; false if the kernel refuses.
[[nodiscard]] bool pin_this_thread(u32 cpu);

/// The processor that the calling thread is on; nothing if the kernel does not tell.
[[nodiscard]] std::optional<u32> this_cpu();

/// Each thread's place: its seat, and the processor that it was `seen_on`; nothing there is missing for the reason
/// `unseen`.
[[nodiscard]] std::vector<ThreadPlacement> thread_places(const Topology& topology, const Seats& seats,
                                                         const std::vector<std::optional<u32>>& seen_on,
                                                         const std::string& unseen);

/// Which of so many pages are looked at, in order: all, or one of each of `most` runs of neighbours at the most,
/// anywhere in its run. Pages at equal distances would all be of the same few nodes where memory is interleaved.
[[nodiscard]] std::vector<u64> sample_of(u64 pages, u64 most);

/// On which nodes the touched pages of these mappings lie, by a look at all of them or at a sample; for the reason that
/// is given where the kernel does not say.
inline constexpr u64 kMostPagesSeen = 32'768;
[[nodiscard]] OrReason<PageNodes> page_nodes_of(const std::vector<ChunkSource::Chunk>& chunks,
                                                u64 most_pages = kMostPagesSeen);

}  // namespace latchlab
