#pragma once

// Plan: everything that follows from a Config, once, before anything runs: seats, workload, what is in effect of its
// options, what is inert and why. cli/check.h makes it for a command line; a run reads it and changes nothing in it.

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

/// A processor for every thread.
struct Seats {
  std::vector<u32> cpus;        ///< one a thread, the kernel's numbers
  u32 processors = 0;           ///< distinct ones among them
  bool oversubscribed = false;  ///< more threads than processors that may be used this way
  bool binds = true;            ///< false if the topology is not this machine: nothing is pinned then

  u32 threads() const { return static_cast<u32>(cpus.size()); }
};

struct Plan {
  Config config;  ///< what was asked for, with every default filled in

  std::string
      skip;  ///< why it is not run: its combination of words makes no sense, or there is no room; empty where it is
  std::vector<std::string> words;  ///< the options that ask for this run alone, where it is a process of its own
  std::string requests_to;  ///< the file that the requests are written to, where nothing is to run; empty for a run

  std::shared_ptr<const Workload> workload;
  Seats seats;
  u32 groups = 1;       ///< that each have an equal share of the threads: the clusters or sockets of --threads-per
  PagePlacement pages;  ///< what is done for --mem
  std::string not_placed = "it is the system's own rule";  ///< why nothing is done for it; empty where something is
  std::string mem_degraded;                                ///< why this process cannot do it; empty where it can
  std::vector<std::pair<std::string, std::string>> index_options;  ///< what is in effect of the index's options
  Widths widths;                                                   ///< of what the index has room for
  u64 most_keys = ~u64{0};                                         ///< that the index has room for
  u64 payloads = 0;            ///< places for them; 0 where the index keeps the values
  std::string index_degraded;  ///< why this process cannot do what the index's options ask for; empty where it can
  std::string own_memory;  ///< why --alloc does not reach this index, which has memory of its own; empty where it does
  std::string no_reclaim;  ///< why --reclaim does not reach this policy; empty where it does
  std::string no_distribution;  ///< why --dist does not reach this workload, which draws no keys; empty where it does
  std::string no_churn;         ///< why --churn does not say how popularity changes; empty where it does
  std::vector<std::string> inert;  ///< what was given and does nothing in this run, and why: a note each of its result

  /// Whether mappings are placed one by one, or all that the threads of the run touch first.
  [[nodiscard]] bool places_chunks() const { return own_memory.empty() && !calls_malloc(config.alloc); }
  [[nodiscard]] u64 payload_bytes() const { return payloads * config.value_size; }
};

/// The options that name this point again, in one line and canonical order; `point_hash` is a hash of it, so
/// it leaves out block, order and replicate, which tell replicates of one point apart.
[[nodiscard]] std::string point_of(const Plan&);

}  // namespace latchlab
