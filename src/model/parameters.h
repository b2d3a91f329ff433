#pragma once
// The numbers of a modelled machine, as its file gives them (machine_file.h), and what follows from its shape.
//
//     machine = sockets x clusters x cores x hardware threads
//     cluster = the cores that share an L3, the memory channels beside it, and the pages whose home it is
//
// A processor with one L3 a socket is one cluster a socket. Cluster on die makes two of it; a core complex is one.
#include <array>
#include <vector>

#include "src/base/types.h"
#include "src/base/words.h"

namespace latchlab::model {

/// Time in sixteenths of a nanosecond: a hit in L1 takes 19 to 26.
using Ticks = u64;
inline constexpr Ticks kTicksPerNs = 16;

/// Rounds to the nearest whole number. std::llround is a call, and no constant.
[[nodiscard]] constexpr u64 nearest_whole(double number) { return (static_cast<u64>(number * 2) + 1) / 2; }

/// Rounds to the nearest tick.
[[nodiscard]] constexpr Ticks ticks(double ns) { return nearest_whole(ns * kTicksPerNs); }

/// How far a cache line or a message travels: within a cluster, a socket, or between sockets.
enum class Distance : u8 { kLocal, kCluster, kSocket };
inline constexpr u32 kDistances = 3;

enum class L3Kind : u8 {
  kInclusive,  ///< has every line of its cores; an eviction takes the line from them
  kVictim,     ///< has lines that its cores have evicted
};
enum class ReadSet : u8 {
  kL1,     ///< a transaction ends when L1 evicts a line that it read
  kL3,     ///< when L3 does
  kLines,  ///< when it has read more than a number of lines
};

struct Parameters {
  struct Topology {
    u32 sockets, clusters, cores, threads;  // clusters of a socket, cores of a cluster, hardware threads of a core
  } topology;
  struct Clock {
    std::vector<double> ghz_by_active;  // by the active cores of a socket; the last holds on
  } clock;
  struct Cache {
    double kb;
    u32 ways;
    double ns;
  } l1, l2;
  struct L3 {
    L3Kind kind;
    double mb_per_cluster;
    u32 ways;
    double ns;                   // of a line that no core must be asked for
    double exclusive_elsewhere;  // of a line that another core of the cluster owns
    double modified_elsewhere;   // of one that it has written
  } l3;
  struct Away {
    double l3, modified;  // ns from the caches of another cluster: a line that is clean, and one that is written
  } cluster, socket;      // of the same socket; of another socket
  struct Dram {
    double local, cluster, socket;  // ns by the distance of the home
    double gbps_per_cluster;
  } dram;
  struct Home {
    bool stale_directory;                             // a remote read leaves "snoop all" behind, until a local store
    double snoop_local, snoop_cluster, snoop_socket;  // ns that a miss waits for it, by the distance of the home
  } home;
  struct Qpi {
    double gbps;  // of all links between two sockets together, in one direction
  } qpi;
  struct Core {
    u32 window, fill_buffers;
    double smt_issue;  // times as long to issue beside a busy sibling
    double instructions_per_cycle;
    double per_operation, per_reference;  // instructions
    double store_ns;                      // the store buffer empties by one store in this time
    double same_block, run_ahead;         // shares of waits (core.h)
    double atomic_ns;
  } core;
  struct Tlb {
    u32 l2, ways;
    double walk_ns;
  } tlb;
  struct Htm {
    bool present;  // the file has the table [htm]
    double begin, commit, abort;
    ReadSet read;
    u32 read_lines;  // for ReadSet::kLines
  } htm;
  struct Kernel {
    double fault_ns, clear_ns_per_byte, mprotect_ns, mark_ns, timer_ns;
    double hz, marks_per_s, mark_period_ms, marks_after_ms;
  } kernel;

  [[nodiscard]] u32 all_clusters() const { return topology.sockets * topology.clusters; }
  [[nodiscard]] u32 all_cores() const { return all_clusters() * topology.cores; }
  [[nodiscard]] u32 all_threads() const { return all_cores() * topology.threads; }
  [[nodiscard]] u32 core_of_thread(u32 hardware_thread) const { return hardware_thread % all_cores(); }
  [[nodiscard]] u32 cluster_of_core(u32 number) const { return number / topology.cores; }
  [[nodiscard]] u32 socket_of_cluster(u32 number) const { return number / topology.clusters; }
  [[nodiscard]] Distance distance(u32 one_cluster, u32 other_cluster) const {
    if (one_cluster == other_cluster) return Distance::kLocal;
    return socket_of_cluster(one_cluster) == socket_of_cluster(other_cluster) ? Distance::kCluster : Distance::kSocket;
  }
};

/// The limits of the model, which keeps a bit a core and a bit a cluster of each line.
inline constexpr u32 kMostCores = 64;
inline constexpr u32 kMostClusters = 16;

}  // namespace latchlab::model

namespace latchlab {
template <>
inline constexpr std::array kWords<model::L3Kind>{"inclusive"sv, "victim"sv};
template <>
inline constexpr std::array kWords<model::ReadSet>{"l1"sv, "l3"sv, "lines"sv};
}  // namespace latchlab
