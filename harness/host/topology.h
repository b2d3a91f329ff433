// The topology of the machine: its processors, whether this process may use them, and how they share cores, L3 caches,
// NUMA nodes and sockets.
//
//     socket 0                              socket 1
//     ├─ NUMA node 0 ── L3 0 ── core 0 ── pu 0, pu 28
//     │                      └─ core 1 ── pu 1, pu 29
//     └─ NUMA node 1 ── L3 1 ── ...
//
// A cluster is a set of processors that share an L3 cache and a NUMA node. It is a socket, or a part of a socket with
// several caches (chiplets) or several nodes (cluster on die, sub-NUMA clustering).
//
// All numbers are logical, so that neighbours have consecutive numbers. The exception is `os`, the kernel's number of a
// processor (taskset, `--pin=list:`) or of a node (numactl, `--mem=bind:`). Discovery copies everything out of hwloc at
// once. So no hwloc object outlives it, and a Topology is a plain value that tests can make from a synthetic
// description.
//
// Under XML or synthetic hwloc topologies (HWLOC_XMLFILE, HWLOC_SYNTHETIC) binding calls succeed without binding.
// `this_system` records whether the topology is that of the running machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/config/or_reason.h"
#include "src/base/types.h"

namespace latchlab {

/// One hardware thread.
struct Processor {
  u32 os = 0;       ///< the kernel's number
  u32 socket = 0;   ///< logical number of its package
  u32 node = 0;     ///< logical number of its nearest NUMA node
  u32 cluster = 0;  ///< logical number of its cluster
  u32 core = 0;     ///< logical number of its core
  u32 smt = 0;      ///< number among the hardware threads of its core, from 0
  bool allowed = true;
};

/// A NUMA node: memory that is equally near to some processors.
struct MemoryNode {
  u32 os = 0;     ///< the kernel's number
  u64 bytes = 0;  ///< size of its memory; may be 0
  bool allowed = true;
  OrReason<std::string> kind{};  ///< hwloc's word for its memory, as in DRAM, HBM, NVM, CXL-DRAM
};

struct Topology {
  std::vector<Processor> processors;  ///< all processors of the machine, neighbours next to each other
  std::vector<MemoryNode> nodes;      ///< at least one
  u32 sockets = 0;
  u32 clusters = 0;
  u32 cores = 0;
  bool this_system = false;
  std::string digest;  ///< 16 hex digits: equal on machines of the same shape and mask

  /// Returns the running machine, limited by cgroups and by the affinity mask that the process was started with. Throws
  /// std::runtime_error if hwloc cannot read it.
  static Topology discover();

  /// Returns a made-up machine, e.g. "pack:2 l3:1 core:14 pu:2" (hwloc's synthetic syntax), for tests and rehearsals.
  /// Throws InputError if the description is malformed.
  static Topology synthetic(std::string_view description);

  /// Reads another machine from an XML file of lstopo, or from a synthetic description if there is no such file. Throws
  /// InputError.
  static Topology read(const std::string& file_or_description);

  /// Returns the number of processors that this process may use.
  u32 allowed_count() const;

  /// Returns the kernel's numbers of the allowed processors, as "0-3,8".
  std::string allowed_list() const;

  /// Forbids every processor but those with these kernel numbers, and updates the digest.
  void restrict_to(const std::vector<u32>& os_numbers);

  /// Returns one line for people: "2 sockets, 2 NUMA nodes, 2 clusters, 28 cores, 56 processors (all allowed)".
  std::string describe() const;
};

/// Returns numbers as a short list: {0,1,2,3,8} -> "0-3,8". Keeps the order and folds only ascending runs.
std::string fold_numbers(const std::vector<u32>& numbers);

}  // namespace latchlab
