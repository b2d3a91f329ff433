#pragma once
// The latency of single calls of the index. A call runs one operation, or one batch. One call in N (in a hundred with
// --latency=sample:0.01) runs alone between two readings of the clock. A reading waits for all loads before it. So the
// cache misses of a timed call overlap neither with those of the calls before it nor with those of the calls after it.
// That is what latency means, and why timing many calls lowers throughput.
//
// Reading the clock and counting what the transaction did are outside the timed call. An interruption by the kernel is
// part of the call's time; making requests never is.
//
// In an open loop (open_loop.h) a call has two times: its own, and the response time, which starts when it was due:
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

/// The timed calls of one thread, recorded by that thread, and summed up when no thread runs.
class Latencies {
 public:
  struct OfKind {
    Histogram ns;
    Histogram response;  ///< response times of the same calls, ns; only in an open loop
    u64 fallbacks = 0;   ///< operations of the policy that fell back during timed calls
    std::array<u64, kWords<AbortCause>.size()> aborts{};
  };

  /// Times one call in `every` (1 or more) by `clock`. A call runs up to `keys` requests.
  Latencies(u32 every, u32 keys, Clock& clock)
      : clock_(&clock), untimed_calls_(every - 1), left_(untimed_calls_ * keys) {}

  /// Returns how many requests come before the next timed call; 0 if it is next.
  u32 untimed() const { return left_; }
  void skip(u32 requests) { left_ -= requests; }

  /// Notes when the next call was due and when it begins, by the same clock. An open loop calls this before every call.
  void arrived(u64 due, u64 began) { arrival_ = {.due = due, .began = began}, ended_.reset(); }
  /// Returns when that call ended, if it was timed.
  std::optional<u64> ended() const { return ended_; }

  /// Runs a call of this kind and of so many requests, and records how long it took. `counts` are the policy's live
  /// counters: the call is charged with the difference.
  template <class Call, class Counters>
  void time(OpKind kind, u32 requests, const Counters& counts, const Call& call) {
    const Counters before = counts;
    const u64 start = arrival_ ? arrival_->began : clock_->now();
    call();
    const u64 end = clock_->now();
    const u64 ns = end - start;
    requests_ += requests;
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
    left_ = untimed_calls_ * requests;
  }

  Latencies& operator+=(const Latencies& more);
  const std::array<OfKind, kOpKinds>& kinds() const { return kinds_; }
  const Histogram& fell_back() const { return fell_back_; }
  /// Returns the number of requests in timed calls.
  u64 requests() const { return requests_; }
  /// Returns the response times of all kinds of operation.
  Histogram responses() const;

 private:
  struct Arrival {
    u64 due, began;
  };

  Clock* clock_;
  u32 untimed_calls_;               // after each timed one
  u32 left_;                        // requests before the next timed call
  std::optional<Arrival> arrival_;  // none in a closed loop
  std::optional<u64> ended_;
  std::array<OfKind, kOpKinds> kinds_;
  u64 requests_ = 0;     // in timed calls
  Histogram fell_back_;  // calls in which an operation fell back to its lock, and not by choice
};

}  // namespace latchlab
