#pragma once
// The latency of single calls of the index: one operation, or one batch. Every so many calls (--latency) one stands
// alone between two readings of the clock, which waits for it: its misses overlap with none of its neighbours', and
// theirs with none of its own. That is what latency is, and why throughput is less where much is timed.
//
// The clock is read, and what a transaction did is counted, outside of the call. A call that the kernel interrupted is
// as long as that took; making requests is never inside.
//
// In an open loop (open_loop.h) a call has two times, its own and the response time, which begins when it was due:
//
//     due         began            end
//      |  waiting   |    the call   |
//                   |<--- time ---->|
//      |<----- response time ------>|
#include <array>
#include <optional>

#include "harness/host/clock.h"
#include "harness/loop/histogram.h"
#include "src/arch/rtm_status.h"
#include "src/base/types.h"
#include "workloads/op.h"

namespace latchlab {

/// The timed calls of one thread, by that thread; summed when nothing runs.
class Latencies {
 public:
  struct OfKind {
    Histogram ns;
    Histogram response;  ///< of the same calls, ns; in an open loop
    u64 fallbacks = 0;   ///< operations of the policy that fell back in timed calls
    std::array<u64, kWords<AbortCause>.size()> aborts{};
  };

  /// One call in `every`, 1 or more, of `keys` requests each, by that clock.
  Latencies(u32 every, u32 keys, Clock& clock) : clock_(&clock), gap_((every - 1) * keys), left_(gap_) {}

  /// Requests before the next timed call; 0: it is next.
  u32 untimed() const { return left_; }
  void skip(u32 requests) { left_ -= requests; }

  /// In an open loop, before every call: when it was due, and that it begins. By the same clock.
  void arrived(u64 due, u64 began) { arrival_ = {.due = due, .began = began}, ended_.reset(); }
  /// When that call ended, if it was timed.
  std::optional<u64> ended() const { return ended_; }

  /// Runs a call of this kind, and notes how long it took. `counts`: of the policy's counters, for the difference that
  /// the call makes.
  template <class Call, class Counters>
  void time(OpKind kind, const Counters& counts, const Call& call) {
    const Counters before = counts;
    const u64 start = arrival_ ? arrival_->began : clock_->now();
    call();
    const u64 end = clock_->now();
    const u64 ns = end - start;
    OfKind& of_kind = kinds_[static_cast<std::size_t>(kind)];
    of_kind.ns.add(ns);
    if (arrival_) of_kind.response.add(end - arrival_->due), ended_ = end;
    if constexpr (requires { counts.fallbacks; }) {
      if (counts.fallbacks != before.fallbacks) fell_back_.add(ns);
      of_kind.fallbacks += counts.fallbacks - before.fallbacks;
    }
    if constexpr (requires { Counters::abort_fields(); }) {
      constexpr auto kFields = Counters::abort_fields();
      for (std::size_t i = 0; i < kFields.size(); ++i) of_kind.aborts[i] += counts.*kFields[i] - before.*kFields[i];
    }
    left_ = gap_;
  }

  Latencies& operator+=(const Latencies& more);
  const std::array<OfKind, kOpKinds>& kinds() const { return kinds_; }
  const Histogram& fell_back() const { return fell_back_; }
  /// The response times of all kinds.
  Histogram responses() const;

 private:
  struct Arrival {
    u64 due, began;
  };

  Clock* clock_;
  u32 gap_, left_;                  // in requests
  std::optional<Arrival> arrival_;  // none: a closed loop
  std::optional<u64> ended_;
  std::array<OfKind, kOpKinds> kinds_;
  Histogram fell_back_;  // calls in which an operation took its lock, and not by choice
};

}  // namespace latchlab
