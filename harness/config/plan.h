#pragma once

// Plan: everything that follows from a Config. It is made once, before anything runs. It has the seats, the workload,
// the options in effect, and the inert options with the reasons. The code of cli/check.h makes it for a command line. A
// run only reads it.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/config/config.h"
#include "src/base/key.h"
#include "src/base/types.h"
#include "src/memory/numa.h"

namespace latchlab {

class Workload;
struct ModelledMachine;

/// The processors of a run's threads.
struct Seats {
  std::vector<u32> cpus;        ///< the kernel's number of each thread's processor
  u32 processors = 0;           ///< number of distinct processors in `cpus`
  bool oversubscribed = false;  ///< there are more threads than processors that this placement may use
  /// Further processors that the placement may use, in its order: seats of a policy's servers on a modelled machine.
  std::vector<u32> free;
  bool binds = true;  ///< false if the topology is not this machine's: then no thread is pinned

  u32 threads() const { return static_cast<u32>(cpus.size()); }
};

struct Plan {
  Config config;  ///< the user's choices, with every default filled in

  /// Why the run is skipped (its options do not go together, or there is no room for it); empty if it runs.
  std::string skip;
  std::vector<std::string> words;  ///< the options for this run alone, if it is a process of its own or only listed
  std::string requests_to;         ///< the file to write the requests to instead of running them; empty for a run

  std::shared_ptr<const Workload> workload;
  std::shared_ptr<const ModelledMachine> model;  ///< the machine of Config::machine; null for a measured run
  u64 warmup_operations = 0;                     ///< length of the warm-up, if it is no time
  Seats seats;
  u32 nodes = 1;        ///< number of NUMA nodes of the seats
  u32 groups = 1;       ///< number of clusters or sockets that --threads-per fills; each has as many threads
  PagePlacement pages;  ///< the placement of pages that --mem leads to
  std::string not_placed = "it is the system's own rule";  ///< why no pages are placed for --mem; empty if they are
  std::string mem_degraded;                                ///< why this process cannot obey --mem; empty if it can
  std::vector<std::pair<std::string, std::string>> index_options;  ///< the index's options in effect
  Widths widths;                                                   ///< bits of a key, and of a value that are checked
  u64 most_keys = ~u64{0};                                         ///< the number of keys that the index has room for
  std::string index_degraded;      ///< why this process cannot do what the index's options ask for; empty if it can
  std::string own_memory;          ///< why --alloc has no effect on an index with its own memory; empty if it has
  u32 servers = 0;                 ///< threads of the policy's own, which run operations
  std::string no_reclaim;          ///< why --reclaim has no effect on this policy; empty if it has
  std::string no_sections;         ///< why --slice-extension has no effect on this policy; empty if it has
  std::string no_wait;             ///< why --wait has no effect on this policy; empty if it has
  std::string no_distribution;     ///< why --dist has no effect on this workload, which draws no keys; empty if it has
  std::string no_churn;            ///< why --churn has no effect on popularity; empty if it has
  std::vector<std::string> inert;  ///< a note for the result about each given option without effect, with the reason

  /// True if each mapping is placed by itself; false if a rule places all pages that the run's threads touch first.
  [[nodiscard]] bool places_chunks() const { return own_memory.empty() && !calls_malloc(config.alloc); }
};

/// Returns the options that describe this point, in one line and canonical order. `point_hash` is a hash of this line,
/// so it leaves out block, order and replicate, which differ among replicates of one point.
[[nodiscard]] std::string point_of(const Plan&);

}  // namespace latchlab
