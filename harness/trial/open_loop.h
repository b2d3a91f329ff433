// One thread's part in an open loop: it waits until its next operation is due, runs it, and waits for the one after
// that. Late, it leaves nothing out: it runs one after the other until it is on time again, and what came meanwhile has
// waited, which its response time says (latency.h).
//
//     due        |    |    |    |    |    |    |          arrivals.h
//     thread     #    #    ###############X##  #          X: late, and late, and less late
//
// Every thread serves arrivals of its own, as partitions do: one that stalls delays just those, and no other thread
// takes them over. A thread that waits makes the next requests, if that fits. One that has none left must make some all
// the same, and that delays what is due: what making a request costs (generator_ns of the result) is part of what the
// loop can bear.
//
// The warm-up before is a closed loop: it is there to warm, and nothing of it is reported.
//
// What came by the end of the phase and has not begun tells whether the loop could bear its rate: a queue that grows
// has no response time to speak of, only one that depends on how long it was looked at. That is asked when the phase is
// over: a thread that was kept from its processor may leave with an old reading of the clock.
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
  /// In a thread of the team, from `epoch`, by its clock, for `length_ns`; 0: without an end. `yields`: gives the
  /// processor away while it waits, as threads must that share one; a thread with one of its own keeps it, lest another
  /// be on it when the next is due.
  OpenLoop(std::unique_ptr<Arrivals> arrivals, u64 epoch, u64 length_ns, bool yields, ThreadTeam& team)
      : arrivals_(std::move(arrivals)),
        team_(team),
        epoch_(epoch),
        end_(length_ns == 0 ? ~u64{0} : epoch + length_ns),
        yields_(yields),
        now_(team.clock().now()) {}

  /// Waits for the next arrival; not at all if it is late. Meanwhile calls work(ns left) as long as that does
  /// something, which it says. False when the time is over or `stop` is set.
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
    any_ = true;  // a thread that had no processor for all of the time has yet to do something
    waits_ = false;
    ++begun_;
    lag_.at_end = now_ - due_;
    lag_.largest = std::max(lag_.largest, lag_.at_end);
    return true;
  }

  /// When the awaited arrival was due, and when its operation begins, by the clock.
  [[nodiscard]] u64 due() const { return due_; }
  [[nodiscard]] u64 now() const { return now_; }

  /// The operation is done, at `end` if anybody has looked.
  void done(std::optional<u64> end) { now_ = end ? *end : team_.clock().now(); }

  /// Its end: before came() that of the last operation that has begun, after it that of the first one that has not.
  [[nodiscard]] const Lag& lag() const { return lag_; }

  /// How many were awaited and came in time.
  [[nodiscard]] u64 begun() const { return begun_; }
  /// How many came in the first `ns`: those, and what had not begun by then; the loop is over. Looks at `most` of the
  /// latter, and says nothing if there are more.
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
  bool any_ = false, waits_ = false;  // the last one that was awaited has not begun
  Lag lag_;
};

}  // namespace latchlab
