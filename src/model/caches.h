#pragma once
// The caches of all cores and clusters, the directory of their lines, memory channels and links: how long a line takes
// to where it is wanted.
//
// A line comes from the first of these that has it:
//   1. the core's L1 or L2
//   2. the core that owns it, if there is one: near or far, written or not
//   3. the L3 of the own cluster
//   4. the nearest other cluster that has it
//   5. memory at its home, after a queue at the channel and, if the home's directory says so, a snoop of all caches
//
// A write makes its core the owner; it takes at least as long as the message to the farthest holder. One transfer of a
// line's ownership follows the other, in the order of the calls: this is the cost of a contended line. An inclusive L3
// that evicts a line takes it from its cores. A victim L3 gets the lines that its cores evict.
//
// Differs from hardware: an eviction tells the directory, so no core is asked in vain. The hypothesis of stale
// directories (Line::snoop_all) is about the home's memory directory alone, which evictions do not clear.
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/model/account.h"
#include "src/model/directory.h"
#include "src/model/parameters.h"
#include "src/model/queue.h"
#include "src/model/tags.h"

namespace latchlab::model {

class Caches {
 public:
  struct Gone {
    u32 from;  // a core or a cluster
    u64 line;
  };
  /// The home of a line that is asked for the first time.
  struct Home {
    u32 cluster;
    bool snoop_all;
  };

  explicit Caches(const Parameters& parameters);

  /// Returns true if the core's L1 can serve the reference alone: it has the line, and owns it if it is to be written.
  [[nodiscard]] bool hit(u32 core, u64 line, bool writes);
  /// Brings the line to the core, whose hit() has just returned false. Returns the ticks from `start` to its arrival.
  [[nodiscard]] Ticks miss(u32 core, u64 line, bool writes, Home home, Ticks start);
  /// Returns the parts of what the last miss() returned, from `transfer` on. Nothing else of it is set.
  [[nodiscard]] const Arrival& last_miss() const { return last_; }
  /// Puts a line into the caches of a core, as its owner has written it whole: so the kernel leaves a page that it has
  /// cleared.
  void place(u32 core, u64 line, Home home);
  /// Takes the line from a core, with what the core wrote to it.
  void drop(u32 core, u64 line);

  /// Returns the lines that some core's L1, or some cluster's L3, has evicted since forget_evictions().
  [[nodiscard]] std::span<const Gone> gone_from_l1() const { return gone_from_l1_; }
  [[nodiscard]] std::span<const Gone> gone_from_l3() const { return gone_from_l3_; }
  /// Returns "", or the first of these that does not hold of some line:
  ///   1. a core is a holder if and only if its L1 or L2 has the line
  ///   2. a cluster's bit is set if and only if its L3 has the line
  ///   3. an owner is the only holder, and no other cluster's L3 has the line
  ///   4. an inclusive L3 has every line of its cores
  /// O(lines * cores): for tests.
  [[nodiscard]] std::string broken_invariant() const;
  void forget_evictions() {
    gone_from_l1_.clear();
    gone_from_l3_.clear();
  }

 private:
  struct Private {
    Tags l1, l2;
  };
  u32 cluster_of(u32 core) const { return cluster_of_[core]; }
  Ticks fetch(Line& line, u32 core, Ticks start);
  Ticks from_memory(Line& line, u32 cluster, Ticks start);
  Ticks from_core(const Line& line, u32 owner, u32 cluster, Ticks start);
  Ticks through_link(u32 from_cluster, u32 to_cluster, Ticks start) {
    const Ticks queued = over_link(from_cluster, to_cluster, start);
    last_.link = static_cast<u32>(queued);
    return queued;
  }
  Ticks after(Cause from, double ns) {
    last_.from = from;
    return ticks(ns);
  }
  std::pair<Ticks, Cause> invalidation(const Line& line, u32 core) const;
  Ticks over_link(u32 from_cluster, u32 to_cluster, Ticks start);
  void wrote(Line& line, u32 core);
  void take_for_writing(Line& line, u32 core);
  void fill(u32 core, u64 number);
  void fill_l3(u32 cluster, u64 number);
  void leave_core(u32 core, u64 number);
  void write_back(Line& line, u32 from_cluster, Ticks start);

  const Parameters p_;
  std::vector<u32> cluster_of_;  // by core
  std::vector<Private> cores_;
  std::vector<Tags> l3_;         // by cluster
  std::vector<Queue> channels_;  // by cluster
  std::vector<Queue> links_;     // by from * sockets + to
  Directory directory_;
  std::vector<Gone> gone_from_l1_, gone_from_l3_;
  Arrival last_;
  Ticks now_ = 0;  // the start of the miss that is being served, for write-backs
};

}  // namespace latchlab::model
