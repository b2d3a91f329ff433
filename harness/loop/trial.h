// A trial is one run of one Plan over one index: load, verify, warm up, measure, check. It is cut in two,
// so that what must be compiled once a pair stays small:
//
//     run_trial (run_trial.h, once)           TrialOf<SharedIndex> (trial_of.h, runner_of.h, once a pair)
//     phases, threads, pinning, clocks,       the one hot loop: a virtual call hands it a slice of
//     operations, progress, results    ──►    at most kSliceRequests prepared requests, which it runs with
//                                             the index's operations inlined
//
// A request is an operation with everything worked out beforehand: its key (a number, or a pointer to its
// bytes), the value to write, and what a find must come back with. They are dealt to whoever asks
// (dealer.h). Threads make them for themselves, all at the same time, and then run them, all at the same
// time; the clock on the wall runs in these rounds only (rounds.h):
//
//     thread t   | make requests |##########| make requests |##########| ...     # = a round, in slices
//
// The throughput is the operations divided by the seconds of all rounds. What share of the wall time that was
// and what making a request costs are part of the result.
//
// Every value says which key it belongs to (workloads/value.h): a find that comes back with another key's
// value is seen at once, in the measured loop, and so is a miss of a key that nobody ever erases, and a hit
// of one that nobody ever inserted.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/config/plan.h"
#include "harness/loop/payloads.h"
#include "harness/loop/request.h"
#include "harness/result/result.h"
#include "indexes/erased.h"
#include "src/base/batching.h"
#include "src/base/types.h"
#include "src/memory/chunk_source.h"
#include "src/memory/page_source.h"
#include "src/reclaim/reclaimer.h"
#include "src/stats/counters.h"

namespace latchlab {

class Latencies;

/// What walking over the idle index found: the counterpart of the tally.
struct Contents {
  u64 keys = 0;
  u64 checksum = 0;      ///< sum of the tags in all values
  u64 wrong_values = 0;  ///< values whose tag is not their key's
  u64 disorder = 0;      ///< keys of an ordered index that are not greater than the one before
  std::string example;   ///< of the first mistake, one line
};

struct SyncReport {
  SyncStats stats;
  /// Operations that needed no lock, or took it because it is cheaper, where the policy elides and had anything to
  /// elide.
  std::optional<u64> elided;
  std::optional<std::string> degraded;  ///< why the policy cannot do what its word promises, where it says so
  std::string contradiction;            ///< counters that cannot all be right, one line; empty if they can
};

/// What a policy met with in a thread's operations.
struct ContentionCounts {
  u64 elidable = 0;   ///< what could be elided: operations of the policy, or changes
  u64 fallbacks = 0;  ///< of them not elided, by choice or not
  u64 aborts = 0;
  u64 restarts = 0;

  friend ContentionCounts operator+(const ContentionCounts& a, const ContentionCounts& b) {
    return {a.elidable + b.elidable, a.fallbacks + b.fallbacks, a.aborts + b.aborts, a.restarts + b.restarts};
  }
  friend ContentionCounts operator-(const ContentionCounts& a, const ContentionCounts& b) {
    return {a.elidable - b.elidable, a.fallbacks - b.fallbacks, a.aborts - b.aborts, a.restarts - b.restarts};
  }
};

/// A run of requests; `only` if all are of one kind.
struct Slice {
  const Request* requests = nullptr;
  u32 count = 0;
  std::optional<OpKind> only;
  bool teaches = true;            // an index that learns from lookups may learn from these
  const Request* gets = nullptr;  // the keys of multi-gets (Request::number)
};

/// One thread's access to the index that also runs requests.
class Runner : public Erased::Session {
 public:
  /// Runs the requests, looking at `stop` every `stop_requests`, at most kStopRequests; returns how many were run.
  /// Times calls where there are `latencies`. Throws std::bad_alloc if memory is out: the tally holds what was done
  /// before.
  virtual u32 run(const Slice& slice, const std::atomic<bool>& stop, Tally& tally, u32 stop_requests,
                  Latencies* latencies) = 0;

  /// The policy's counters of this thread so far, in the order of its list of fields, then its histogram.
  [[nodiscard]] virtual std::vector<u64> counters() const = 0;
  /// The sums of those that tell of contention.
  [[nodiscard]] virtual ContentionCounts contention() const = 0;
};

/// The typed half of a trial. A trial is run once.
class Trial : public Erased {
 public:
  /// What its runners are to know, and payloads from `pages`; before the first of them.
  void prepare(const Plan& plan, PageSource& pages);

  /// For the calling thread. Of an index that is prepared.
  [[nodiscard]] virtual std::unique_ptr<Runner> runner() = 0;
  /// Which are to be filled before a runner runs; null where the index keeps the values.
  [[nodiscard]] Payloads* payloads() const { return payloads_.get(); }
  /// Threads fill the index one after the other: only one may write at a time, or a lock sees to it and is slow to pass
  /// on.
  [[nodiscard]] virtual bool loads_in_turns() const = 0;
  [[nodiscard]] virtual bool elides() const = 0;
  /// Whether lookups by the batch, and so multi-gets, are one call of the index.
  [[nodiscard]] virtual bool finds_batches() const = 0;
  /// What the policy's options and its counters, summed over all runners that did `operations`, say.
  [[nodiscard]] virtual SyncReport sync_report(const std::vector<u64>& sums, u64 operations) const = 0;
  /// What the policy's reclaimer has counted, where it has a grace period. While no operation runs.
  [[nodiscard]] virtual OrReason<ReclaimCounters> reclaim() const = 0;
  /// Bytes in blocks that hold something, and in all that it keeps from the system; itself included.
  [[nodiscard]] u64 live_bytes() const { return own_bytes() + bytes().live; }
  [[nodiscard]] u64 reserved_bytes() const { return own_bytes() + bytes().reserved; }
  /// The mappings that it lies in, where it has them from the harness and they are known.
  [[nodiscard]] virtual std::vector<ChunkSource::Chunk> chunks() const = 0;
  /// Nodes a lookup, over the lookups among the requests; where they are counted. No runner may be running.
  [[nodiscard]] OrReason<double> nodes_per_fetch(const Slice& slice);
  /// Walks over the whole index; no runner may be running. O(keys).
  [[nodiscard]] Contents contents();

 protected:
  Batching batch_;
  u32 value_bits_ = 64;
  std::unique_ptr<Payloads> payloads_;
};

/// What --alloc and --hugepages mean to an index; its limit is what payloads leave.
[[nodiscard]] MemoryConfig memory_config_of(const Plan& plan);

/// A key for an error message: a number, or text with everything unprintable escaped.
[[nodiscard]] std::string shown(u64 key);
[[nodiscard]] std::string shown(std::string_view key);

/// Every counter of a list of fields with its name.
[[nodiscard]] std::vector<NamedCount> counts_of(const CounterSet auto& counters) {
  std::vector<NamedCount> out;
  for_each_counter(counters, [&](std::string_view name, u64 value) { out.push_back({std::string(name), value}); });
  return out;
}

}  // namespace latchlab
