// `harness limits --write-machine=FILE`: measures what the file of a modelled machine (machine_file.h) has, on this
// machine, and writes that file.
//
//   shape       sockets, clusters, cores and hardware threads that this process may use
//   caches      sizes and ways as the kernel lists them; whether L3 is inclusive, as CPUID says
//   clock       the cycle of limits.h, with 1, 2, ... cores of a socket at once
//   levels      the chase of limits.h over a footprint between the sizes of two neighbouring caches, and over memory
//   that
//               is much larger than all of them, on huge pages; and over the same memory on small ones
//   bandwidth   lines read in order by all cores of a node; and by those of a socket, from another socket's memory
//   transfers   lines that another core has just written are chased; lines that both cores have read are written
//   kernel      first touches of small and of huge pages, mprotect of one page after the other, the period of ticks
//
// Everything else is taken from another machine's file, and is tagged as assumed. Its source names that file, how far
// the value is trusted there, and the reason why it was not measured here.
//
// Threads are pinned, and memory is bound to the node of its threads. A number is that of the best batch, as in
// limits.h; those of the kernel are medians, since a first touch has no disturbance that a typical one has not.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "harness/commands/survey.h"
#include "harness/config/or_reason.h"
#include "harness/host/environment.h"
#include "harness/host/progress.h"
#include "harness/host/topology.h"
#include "src/model/machine_file.h"

namespace latchlab {

struct MachineSurvey {
  /// The time of a dependent line, and the footprint of the chase.
  struct Level {
    u64 bytes = 0;
    double ns = 0;
  };
  /// What is measured for each model::Distance. The nearest is within a cluster.
  template <class T>
  using ByDistance = std::array<OrReason<T>, model::kDistances>;

  model::Parameters::Topology shape{};
  std::string date;                ///< of the measurement, as in 2026-11-27
  std::string model;               ///< of the processor
  std::string vendor;              ///< of the processor, as in "AuthenticAMD"
  std::vector<std::string> notes;  ///< how far the measurement may be believed
  std::vector<CacheInfo> caches;
  std::array<OrReason<u32>, 3> ways;  ///< of L1 for data, L2 and L3
  double l3_share = 1;                ///< the share of a cluster in its L3, which may serve several clusters
  OrReason<bool> l3_inclusive;
  OrReason<std::vector<double>> cycle_ns;   ///< by the active cores of a socket, from 1 on
  OrReason<Level> l1, l2, l3;               ///< on huge pages
  ByDistance<Level> memory;                 ///< on huge pages, by the distance of its home
  OrReason<double> small_pages_ns;          ///< a dependent line of the nearest memory on small pages
  OrReason<double> independent_ns;          ///< one of many independent lines of that memory, on huge pages
  OrReason<double> gb_per_cluster;          ///< 10^9 bytes a second
  OrReason<double> gb_over_link;            ///< from another socket, 10^9 bytes a second
  ByDistance<double> written_elsewhere_ns;  ///< a dependent line that another core has written
  ByDistance<double> taken_from_reader_ns;  ///< an atomic increment of a line that another core has, too
  OrReason<double> fetch_add_ns;            ///< an atomic increment of a line of the own L1
  OrReason<double> transaction_ns;          ///< a transaction that reads one line of the own L1
  OrReason<double> small_fault_ns;          ///< the first touch of a page of 4 KiB
  OrReason<double> huge_fault_ns;           ///< of 2 MiB
  OrReason<double> protect_ns;              ///< mprotect of a page
  OrReason<double> tick_hz;
  OrReason<bool> numa_balancing;
};

/// Returns the shape of the processors that this process may use. Throws InputError if the model cannot have it: if
/// clusters, cores or hardware threads are unequal, or too many.
[[nodiscard]] model::Parameters::Topology shape_of(const Topology& topology);

/// Measures the machine, which takes about ten times plan.time_ns, and some seconds per GiB of plan.footprint, which is
/// the memory beyond the caches. The threads are not the plan's. `limits` has what `harness limits` has measured.
/// Values are missing with a reason if they cannot be measured here. Throws InputError as shape_of does.
[[nodiscard]] MachineSurvey survey_machine(const LimitsPlan& plan, const Topology& topology, const Survey& limits,
                                           Progress& progress);

/// Returns the shipped machine that is nearest to this one: epyc for AMD, sapphire-rapids for Intel with an L3 that is
/// not inclusive, haswell-ep otherwise. `vendor` is that of /proc/cpuinfo, e.g. "AuthenticAMD".
[[nodiscard]] std::string_view machine_like(std::string_view vendor, const OrReason<bool>& l3_inclusive);

/// Returns the text of the machine file, in which everything that is missing is as in `like`. Throws InputError if
/// transactions work here and `like` has none, or if the values contradict each other.
[[nodiscard]] std::string machine_text(const MachineSurvey& survey, std::string_view name,
                                       const model::MachineFile& like);

/// Writes the new file `path`, and returns a line about it. `like` is a spec of MachineFile::of; empty for the shipped
/// machine that is nearest. Throws InputError if the file exists, or as machine_text does.
[[nodiscard]] std::string write_machine(const std::string& path, const std::string& like, const MachineSurvey& survey);

}  // namespace latchlab
