// The events of one thread, counted while it runs operations and at no other time. They are opened by the thread
// itself, in groups: events of one family are scheduled together as far as the processor has counters, so that ratios
// within a family hold; families take turns where there are too few, and what was missed is scaled up from the times:
//
//     thread   | make steps |### run ###| make steps |### run ###|        counts between begin and end
//     core     |-------------------------            ------------|        running
//     cache                 -----------------------                        enabled, waiting its turn
//
//     scaled = raw * enabled / running           both times are of the parts between begin and end only
//
// Turns are taken by interrupts, some hundred a second, each of which aborts a transaction: few families at once
// disturb least. Each edge is one read a group, about a microsecond; that of the end takes no time of a round
// (rounds.h).
#pragma once

#include <vector>

#include "harness/host/placement.h"
#include "harness/host/pmu_events.h"
#include "harness/host/topology.h"
#include "src/arch/perf_calls.h"
#include "src/base/types.h"

namespace latchlab {

/// What one thread, or one package, counted of one event.
struct PmuCount {
  u64 raw = 0;
  u64 enabled_ns = 0;      ///< between begin and end, while the thread ran
  u64 running_ns = 0;      ///< of that, while it had a counter of the processor
  bool user_only = false;  ///< the kernel lets nobody count what happens inside of it
  int error = 0;           ///< errno of why it is not counted; EIO: a read that came short
};

class PmuGroups {
 public:
  /// Opens those of the events that can be counted for the calling thread; with a `cpu`, those of the package that it
  /// is in. Both must outlive this. What the kernel refuses is found in counts().
  PmuGroups(const std::vector<PmuEvent>& events, PerfCalls& calls, int cpu = PerfCalls::kThisThread);
  ~PmuGroups() { close(); }
  PmuGroups(const PmuGroups&) = delete;
  PmuGroups& operator=(const PmuGroups&) = delete;

  void begin();
  void end();

  /// A count for each event, in the order of the events. An event that this does not count has neither a value nor an
  /// error.
  [[nodiscard]] std::vector<PmuCount> counts() const;

 private:
  struct Group {
    std::vector<std::size_t> events;  // whose files they are, leader first
    std::vector<int> files;
    std::vector<u64> before, now;  // as PerfCalls::read fills them
    int error = 0;                 // of a read
  };

  [[nodiscard]] bool mine(std::size_t event) const;
  int open(std::size_t event, int group);
  void read(Group& group, std::vector<u64>& into);
  void close();

  const std::vector<PmuEvent>& events_;
  PerfCalls& calls_;
  const int cpu_;
  std::vector<PmuCount> counts_;
  std::vector<Group> groups_;
};

/// Counters of whole packages.
using PackageCounters = std::vector<std::unique_ptr<PmuGroups>>;
/// Opens the events that packages count, on every package that threads on these seats run in.
[[nodiscard]] PackageCounters count_packages(const std::vector<PmuEvent>& events, const Topology& topology,
                                             const Seats& seats);

/// What `now` counts beyond what `before` did, of each event: what is scaled by its own times, since the difference of
/// two scaled counts may be below zero where events take turns.
[[nodiscard]] std::vector<PmuCount> counted_since(const std::vector<PmuCount>& before,
                                                  const std::vector<PmuCount>& now);

}  // namespace latchlab
