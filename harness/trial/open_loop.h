// One thread's part in an open loop. The thread waits until its next operation is due, runs it, and waits for the next
// one. A late thread leaves nothing out: it runs one operation after the other until it is on time again. The
// operations that came meanwhile have waited, and their response times say so (latency.h).
//
//     due        |    |    |    |    |    |    |          arrivals.h
//     thread     #    #    ###############X##  #          X: late, and late, and less late
//
// Every thread serves arrivals of its own, as partitions do: a thread that stalls delays only those, and no other
// thread takes them over. A waiting thread makes its next requests if the time suffices. A thread that has none left
// must make some although that delays operations that are due. So the cost of making a request (generator_ns of the
// result) lowers the highest rate that the loop can keep up with.
//
// The warm-up before is a closed loop, and nothing of it is reported.
//
// The operations that came by the end of the phase and have not begun tell whether the loop could keep up with its
// rate. If the queue grows, response times mean nothing: they depend on how long the phase was. The queue is examined
// when the phase is over, since a descheduled thread may leave with an old reading of the clock.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "harness/config/arrivals.h"
#include "harness/host/thread_team.h"
#include "src/base/types.h"

namespace latchlab {

class OpenLoop {
 public:
  /// Begins a loop for the calling thread of the team, from `epoch` by the team's clock, for `length_ns` (0: without an
  /// end). With `yields` it gives its processor away while it waits; threads that share a processor must. A thread with
  /// its own processor keeps it, lest another program run there when the next operation is due.
  OpenLoop(std::unique_ptr<Arrivals> arrivals, u64 epoch, u64 length_ns, bool yields, ThreadTeam& team)
      : arrivals_(std::move(arrivals)),
        team_(team),
        epoch_(epoch),
        end_(length_ns == 0 ? ~u64{0} : epoch + length_ns),
        yields_(yields),
        now_(team.clock().now()) {}

  /// Waits for the next arrival, or returns at once if that is late. While it waits it calls work(ns left), which
  /// returns true if it did something. Returns false when the time is over or `stop` is set.
  template <class Work>
  [[nodiscard]] bool await(const std::atomic<bool>& stop, const Work& work) {
    due_ = epoch_ + arrivals_->next();
    const u64 until = std::min(due_, end_);
    // Relaxed: the flag publishes nothing.
    while (!stop.load(kRelaxed) && now_ < until) {
      if (!work(until - now_)) team_.idle(until, yields_);
      now_ = team_.clock().now();
    }
    waits_ = true;
    if (stop.load(kRelaxed) || due_ >= end_ || (now_ >= end_ && any_)) return false;
    any_ = true;  // a thread that was descheduled for all of the time still runs one operation
    waits_ = false;
    ++begun_;
    lag_.at_end = now_ - due_;
    lag_.largest = std::max(lag_.largest, lag_.at_end);
    return true;
  }

  /// Return when the awaited arrival was due, and when its operation begins, by the clock.
  [[nodiscard]] u64 due() const { return due_; }
  [[nodiscard]] u64 now() const { return now_; }

  /// Notes that the operation is done: at `end` if its end was timed, else now.
  void done(std::optional<u64> end) { now_ = end ? *end : team_.clock().now(); }

  /// Returns the lag. Its at_end is that of the last operation that has begun; after came(), that of the first
  /// operation that has not begun.
  [[nodiscard]] const Lag& lag() const { return lag_; }

  /// Returns how many operations have begun.
  [[nodiscard]] u64 begun() const { return begun_; }
  /// Returns how many operations came in the first `ns`: those that have begun and those that wait. Returns nothing if
  /// more than `most` wait. Call it once, when the loop is over: it draws the arrivals that wait.
  [[nodiscard]] std::optional<u64> came(u64 ns, u64 most) {
    u64 waited = 0, due = waits_ ? due_ - epoch_ : arrivals_->next();
    lag_.at_end = ns - std::min(ns, due);
    for (; due < ns; due = arrivals_->next()) {
      if (waited++ == most) return std::nullopt;
    }
    return begun_ + waited;
  }

 private:
  const std::unique_ptr<Arrivals> arrivals_;
  ThreadTeam& team_;
  const u64 epoch_, end_;
  const bool yields_;
  u64 now_;
  u64 due_ = 0;
  u64 begun_ = 0;
  bool any_ = false;    // an operation has begun
  bool waits_ = false;  // the last arrival that was awaited has not begun
  Lag lag_;
};

}  // namespace latchlab
