// A trial is one run of one Plan over one index: load, verify, warm up, measure, check. It has two halves, so that the
// code that is compiled once a pair stays small:
//
//     run_trial (run_trial.h, once)           TrialOf<SharedIndex> (trial_of.h, runner_of.h, once a pair)
//     phases, threads, pinning, clocks,       the one hot loop: a virtual call hands it a slice of
//     operations, progress, results    ──►    at most kSliceRequests prepared requests, which it runs with
//                                             the index's operations inlined
//
// A request is an operation made ready to run. It has the key (a number, or a pointer to its bytes), the value to
// write, and the required result of a find. The dealer hands operations to any thread that asks (dealer.h). All threads
// make their requests at the same time, and then run them at the same time, in a round. Only the time of rounds counts
// (rounds.h):
//
//     thread t   | make requests |##########| make requests |##########| ...     # = a round, in slices
//
// The throughput is the operations divided by the seconds of all rounds. The result also says what share of the wall
// time the rounds were, and what making a request costs.
//
// Every value says which key it belongs to (workloads/value.h). So the measured loop itself detects three mistakes:
//
//   1. a find returns another key's value;
//   2. a find misses a key that is never erased;
//   3. a find hits a key that is never inserted.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/config/plan.h"
#include "harness/loop/request.h"
#include "harness/result/result.h"
#include "indexes/erased.h"
#include "src/base/batching.h"
#include "src/base/types.h"
#include "src/memory/chunk_source.h"
#include "src/memory/media/far_memory.h"
#include "src/memory/memory_config.h"
#include "src/reclaim/reclaimer.h"
#include "src/stats/counters.h"

namespace latchlab {

class Clock;
class Latencies;

/// The contents of the idle index, found by walking over it: the counterpart of the tally.
struct Contents {
  u64 keys = 0;
  u64 checksum = 0;      ///< sum of the tags in all values
  u64 wrong_values = 0;  ///< values whose tag is not their key's
  u64 disorder = 0;      ///< keys of an ordered index that are not greater than the one before
  std::string example;   ///< the first mistake, in one line
};

struct SyncReport {
  SyncStats stats;
  /// Operations that elided their lock, or took it by choice because that is cheaper. Nothing if the policy does not
  /// elide, or had nothing to elide.
  std::optional<u64> elided;
  std::optional<std::string> degraded;  ///< why the policy cannot do here what its name promises, if it cannot
  std::string contradiction;            ///< counters that contradict each other, in one line; empty if none do
};

/// Counts of the aborts, restarts and fallbacks of a thread's operations under a policy.
struct ContentionCounts {
  u64 elidable = 0;   ///< operations of the policy, or changes, that could be elided
  u64 fallbacks = 0;  ///< those among them that were not elided, by choice or not
  u64 aborts = 0;
  u64 restarts = 0;

  friend ContentionCounts operator+(const ContentionCounts& a, const ContentionCounts& b) {
    return {a.elidable + b.elidable, a.fallbacks + b.fallbacks, a.aborts + b.aborts, a.restarts + b.restarts};
  }
  friend ContentionCounts operator-(const ContentionCounts& a, const ContentionCounts& b) {
    return {a.elidable - b.elidable, a.fallbacks - b.fallbacks, a.aborts - b.aborts, a.restarts - b.restarts};
  }
};

/// A sequence of requests that is run at once.
struct Slice {
  const Request* requests = nullptr;
  u32 count = 0;
  u32 further = 0;                // requests behind these, of the same kinds, that are likely to come next
  std::optional<OpKind> only;     // the kind of all requests, if they are of one kind
  bool prepares = false;          // they load or verify the index, and are not measured
  bool teaches = true;            // an index that learns from lookups may learn from these
  const Request* gets = nullptr;  // the keys of multi-gets (Request::number)
  const u8* marks = nullptr;      // 1 for each request whose calls are recorded, else 0; null if none are
};

/// The far memory of sized values, or of leaves.
struct FarUse {
  FarMemory memory;
  Footprint bytes;
  u64 near_free = 0;                   ///< bytes that near memory may still take from the system
  std::optional<TierCounters> counts;  ///< so far; nothing is counted of leaves
  OrReason<std::string> file_system;
  std::vector<ChunkSource::Chunk> chunks;  ///< its mappings

  /// Returns the bytes that far memory may still take from the system.
  [[nodiscard]] u64 far_free() const { return memory.memory.limit.bytes() - memory.memory.limit.charged(); }
};

/// One thread's access to the index, with what the harness asks of it besides.
class Counted : public Erased::Session {
 public:
  /// Returns the policy's counters of this thread so far, in the order of their list of fields, then their histogram.
  [[nodiscard]] virtual std::vector<u64> counters() const = 0;
  /// Returns the sums of the counters of aborts, restarts and fallbacks.
  [[nodiscard]] virtual ContentionCounts contention() const = 0;
  /// Make an index that learns from lookups learn nothing, until it may again.
  virtual void pause_learning() = 0;
  virtual void resume_learning() = 0;
  /// Declares that the thread runs no operation for a while.
  virtual void idle() = 0;
};

/// One thread's access to the index that also runs requests.
class Runner : public Counted {
 public:
  /// Runs the requests and returns how many were run. Looks at `stop` every `stop_requests` (at most kStopRequests).
  /// Times calls if `latencies` is not null. Throws std::bad_alloc if memory is out; the tally then has the operations
  /// done before.
  virtual u32 run(const Slice& slice, const std::atomic<bool>& stop, Tally& tally, u32 stop_requests,
                  Latencies* latencies) = 0;
};

/// The typed half of a trial. A trial is run once.
class Trial : public Erased {
 public:
  /// Takes from the plan what runners need. Call it before runner().
  void prepare(const Plan& plan);

  /// Makes a runner for the calling thread, which times by `clock` what it times. Call prepare() before.
  [[nodiscard]] virtual std::unique_ptr<Runner> runner(Clock& clock) = 0;
  /// Returns true if threads must load one after the other. That is so if only one thread may write at a time, or if
  /// writers take turns and handing the lock over is slow.
  [[nodiscard]] virtual bool loads_in_turns() const = 0;
  [[nodiscard]] virtual bool elides() const = 0;
  /// Returns true if a batch of lookups, and so a multi-get, is one call of the index.
  [[nodiscard]] virtual bool finds_batches() const = 0;
  /// Returns what the policy's options and its counters say. `sums` are over all runners, which did `operations`.
  [[nodiscard]] virtual SyncReport sync_report(const std::vector<u64>& sums, u64 operations) const = 0;
  /// Returns the counters of the policy's reclaimer, if it has a grace period. Call it while no operation runs.
  [[nodiscard]] virtual OrReason<ReclaimCounters> reclaim() const = 0;
  /// Return the bytes in live blocks and the bytes taken from the system, the index object itself included.
  [[nodiscard]] u64 live_bytes() const { return own_bytes() + bytes().live; }
  [[nodiscard]] u64 reserved_bytes() const { return own_bytes() + bytes().reserved; }
  /// Returns the bytes of sized values; nothing if the values are in the index.
  [[nodiscard]] virtual OrReason<Footprint> value_bytes() const = 0;
  /// Returns the far memory of sized values, or of leaves; nothing if there is none.
  [[nodiscard]] virtual OrReason<FarUse> far() const = 0;
  /// Makes all later lookups of sized values look for their words only.
  virtual void read_no_values() = 0;
  /// Returns the mappings that the index lies in; none if they are not from the harness, or are not known.
  [[nodiscard]] virtual std::vector<ChunkSource::Chunk> chunks() const = 0;
  /// Returns the mean number of nodes that the lookups among the requests visit. No runner may be running.
  [[nodiscard]] OrReason<double> nodes_per_fetch(const Slice& slice);
  /// Walks over the whole index. No runner may be running. O(keys).
  [[nodiscard]] Contents contents();

 protected:
  Batching batch_;
  u32 value_bits_ = 64;
};

/// Returns the index's memory configuration, from --alloc and --hugepages.
[[nodiscard]] MemoryConfig memory_config_of(const Plan& plan);

/// Returns a key for an error message: a number, or quoted text with unprintable bytes escaped.
[[nodiscard]] std::string shown(u64 key);
[[nodiscard]] std::string shown(std::string_view key);

/// Returns every counter with its name.
[[nodiscard]] std::vector<NamedCount> counts_of(const CounterSet auto& counters) {
  std::vector<NamedCount> out;
  for_each_counter(counters, [&](std::string_view name, u64 value) { out.push_back({std::string(name), value}); });
  return out;
}

}  // namespace latchlab
