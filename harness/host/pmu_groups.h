// The PMU counters of one thread, which count only while it runs requests; in an open loop also while it waits for
// them. The thread opens the counters itself, in groups. The kernel schedules the events of a group together. A family
// is one group as far as the processor has counters, so ratios within a family hold. If there are too few counters,
// groups take turns, and the times scale the counts up:
//
//     thread   | make requests |### run ###| make requests |### run ###|    counts between begin and end
//     core     |----------------------------               ------------|    running
//     cache                    --------------------------                   enabled, waiting for its turn
//
//     scaled = raw * enabled / running           both times cover only the parts between begin and end
//
// An interrupt changes turns, some hundred times a second, and each one aborts a hardware transaction. So few families
// at once disturb least. begin and end read each group once, which takes about a microsecond. The read of end takes no
// time of a round (rounds.h).
#pragma once

#include <vector>

#include "harness/host/placement.h"
#include "harness/host/pmu_events.h"
#include "harness/host/topology.h"
#include "src/arch/perf_calls.h"
#include "src/base/types.h"

namespace latchlab {

/// The count of one event for one thread or one package.
struct PmuCount {
  u64 raw = 0;
  u64 enabled_ns = 0;      ///< time between begin and end in which the thread ran
  u64 running_ns = 0;      ///< the part of enabled_ns in which the event had a hardware counter
  bool user_only = false;  ///< the kernel forbids to count inside of it
  int error = 0;           ///< errno of the failure to count; EIO for a short read
};

class PmuGroups {
 public:
  /// Opens the events that can be counted for the calling thread; with a `cpu`, those counted for its package. `events`
  /// and `calls` must outlive this. counts() has the errors of the events that the kernel refuses.
  PmuGroups(const std::vector<PmuEvent>& events, PerfCalls& calls, int cpu = PerfCalls::kThisThread);
  ~PmuGroups() { close(); }
  PmuGroups(const PmuGroups&) = delete;
  PmuGroups& operator=(const PmuGroups&) = delete;

  void begin();
  void end();

  /// Returns a count for each event, in the order of the events. An event that does not belong here, such as a
  /// package's event for a thread, has neither a value nor an error.
  [[nodiscard]] std::vector<PmuCount> counts() const;

 private:
  struct Group {
    std::vector<std::size_t> events;  // positions in events_, the group's leader first
    std::vector<int> files;           // one for each event
    std::vector<u64> before, now;     // filled by PerfCalls::read
    int error = 0;                    // errno of a failed read
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

/// The counters of packages, one PmuGroups for each.
using PackageCounters = std::vector<std::unique_ptr<PmuGroups>>;
/// Opens the events that are counted for whole packages, on every package that has a seat.
[[nodiscard]] PackageCounters count_packages(const std::vector<PmuEvent>& events, const Topology& topology,
                                             const Seats& seats);

/// Returns `now` - `before` for each event, both counts and times. Scale this difference by its own times: the
/// difference of two scaled counts may be negative where events take turns.
[[nodiscard]] std::vector<PmuCount> counted_since(const std::vector<PmuCount>& before,
                                                  const std::vector<PmuCount>& now);

}  // namespace latchlab
