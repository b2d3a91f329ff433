// The processor of each thread: the requested one, and the one observed after pinning. The two can differ: a container
// may deny the call, the topology may be another machine's, or another program may change the mask.
//
//   compact      one cluster after the other, socket by socket
//   scatter      sockets in turn, within them clusters in turn, within them cores
//   cluster:0-1  compact, within these clusters, in this order
//   socket:0     compact, within these sockets
//   list:0-3,8   these processors (the kernel's numbers), in this order
//
// With --smt=avoid the first hardware threads of all named cores come before any second one. On 2 sockets x 14 cores x
// 2, threads 0-13 of compact fill socket 0, threads 14-27 socket 1, and threads 28-55 their siblings. With --smt=pack
// both hardware threads of a core come before the next core.
//
// --threads-per=cluster puts --threads threads into each named cluster, in the same order. It fills one cluster after
// the other, so that neighbours have consecutive thread numbers.
//
// Only processors of the allowed mask are used. More threads than processors wrap around. This is allowed, and
// recorded, since only the harness's own yielding makes such a run end.
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

/// The placement of one thread: the processor that it was pinned to, and the one observed at the end of the measured
/// phase.
struct ThreadPlacement {
  u32 requested_cpu = 0;
  OrReason<u32> observed_cpu;
  // Position of the observed processor, by logical numbers; the node has the operating system's number.
  OrReason<u32> socket;
  OrReason<u32> node;
  OrReason<u32> cluster;
  OrReason<u32> core;
};

/// The NUMA nodes on which pages of the index lie after the measured phase.
struct PageNodes {
  struct Share {
    u32 node = 0;  ///< the operating system's number
    double share = 0;
  };
  u64 pages = 0;  ///< number of touched pages that were examined, all of them or a sample
  std::vector<Share> shares;
};

/// Assigns seats to the threads of the run, an equal number in each group of groups_of. Throws NoRoom if --pin names
/// a cluster, a socket or a processor that does not exist or is outside the allowed mask. Its message names what
/// exists.
[[nodiscard]] Seats seat(const Topology& topology, const Config& config);

/// Returns a Plan with the workload and the seats of a complete Config, for an index outside the registry. Throws as
/// seat and Workload do.
[[nodiscard]] Plan plan_of(const Config& config, const Topology& topology);

/// Returns the nodes of all processors that --pin names, by the kernel's numbers, ascending. Throws as seat does.
[[nodiscard]] std::vector<u32> nodes_of_pin(const Topology& topology, const Config& config);

/// Returns the number of clusters or sockets that --threads-per fills, among those that --pin names; 1 for
/// --threads-per=run. Throws as seat does.
[[nodiscard]] u32 groups_of(const Topology& topology, const Config& config);

/// Returns the NUMA nodes of the seats, by the kernel's numbers, ascending.
[[nodiscard]] std::vector<u32> nodes_of_seats(const Topology& topology, const Seats& seats);

/// Binds the calling thread to one processor; false if the kernel refuses.
[[nodiscard]] bool pin_this_thread(u32 cpu);

/// Returns the processor that the calling thread is on; nothing if the kernel does not tell.
[[nodiscard]] std::optional<u32> this_cpu();

/// Returns each thread's placement: its seat, and the processor `seen_on[t]`. Where that is empty, the observed values
/// are missing with the reason `unseen`.
[[nodiscard]] std::vector<ThreadPlacement> thread_places(const Topology& topology, const Seats& seats,
                                                         const std::vector<std::optional<u32>>& seen_on,
                                                         const std::string& unseen);

/// Returns the numbers of the pages to examine, ascending: all of 0 to `pages` - 1, or a sample of at most `most`. A
/// sample has one page at a random position in each run of neighbours. Pages at equal distances would not do: on
/// interleaved memory they could all lie on the same few nodes.
[[nodiscard]] std::vector<u64> sample_of(u64 pages, u64 most);

/// Returns the nodes on which the touched pages of these mappings lie, from all pages or a sample. Missing with a
/// reason if the kernel does not tell.
inline constexpr u64 kMostPagesSeen = 32'768;
[[nodiscard]] OrReason<PageNodes> page_nodes_of(const std::vector<ChunkSource::Chunk>& chunks,
                                                u64 most_pages = kMostPagesSeen);

}  // namespace latchlab
