// The clock of a measured phase. Threads make their requests themselves, and that must not count; yet time that
// is left out thread by thread is left out wrongly: while one thread makes requests, the others have the lock,
// the caches and the memory to themselves, and the sum of their rates is more than the index can do. So all
// threads make requests at the same time, and all run them at the same time:
//
//     thread 0   | make |  |##### run #####|   | make   ||##### run #####|
//     thread 1   | make    ||##### run #####|  | make |  |##### run ####|
//                           |<-- round --->|             |<-- round -->|
//
// A round begins when the last thread is ready. Whoever has run all its requests first ends it for all: the
// others stop within kStopRequests requests and keep the rest for the next round. So no thread ever has the index
// to itself for more than that, less than one in a hundred of a round. How long a round is, the clock on the
// wall says: from its beginning to a thread's stop, whatever the thread waits for, averaged over its threads.
// (Not to the last stop: when the kernel gives a thread's processor to another program, the threads that then
// wait here would lose that time too, which they would not without rounds.) No operation is done outside of a round:
//
//     throughput = operations / seconds of all rounds
//                = operations / wall seconds of the phase / timed share
//
// With more threads than processors there are no rounds, since waiting for each other would take as long as
// the scheduler likes: one window opens with the first thread that begins and closes with the last that
// leaves. Making requests is inside, and so is the time in which a late thread has not begun yet.
//
// In an open loop operations come whether anybody is ready or not, so there are no rounds either: one window opens when
// all threads are ready, from which on arrivals are counted, and closes with the last that leaves.
#pragma once

#include <atomic>
#include <optional>

#include "harness/host/thread_team.h"
#include "src/base/types.h"

namespace latchlab {

class Rounds {
 public:
  /// How the time of a phase is cut.
  enum class Cut { kRounds, kWindow, kOpenLoop };

  /// `stop` ends the phase; whoever sets it (seq_cst) calls halt() afterwards. By the team's clock.
  Rounds(ThreadTeam& team, const std::atomic<bool>& stop) : team_(team), stop_(stop) {}

  /// A new phase of `threads` threads. While none of them runs.
  void start(u32 threads, Cut cut);

  /// Goes on with as many threads in a phase that all of them have left. While none of them runs.
  void resume(u32 threads);

  /// One thread's part in a phase, by that thread. It leaves the phase when it goes out of scope, also by an
  /// exception: the others then do without it.
  class Participant {
   public:
    explicit Participant(Rounds& rounds) : rounds_(rounds) {}
    ~Participant() { rounds_.leave(runs_); }
    Participant(const Participant&) = delete;
    Participant& operator=(const Participant&) = delete;

    /// From here on operations count. But for kWindow: returns when everybody is ready.
    void begin() {
      if (!runs_) rounds_.begin();
      runs_ = true;
    }
    /// No more operations in this round; what this thread does until end() takes no time of it. In a window: nothing
    /// happens.
    void stop() {
      if (rounds_.cut_ == Cut::kRounds) stopped_ = rounds_.stop();
    }
    /// The same, if that was not said, and this thread is done with the round. True for the last one: the round is
    /// over, and the next begins with this thread at the earliest.
    bool end() {
      const bool over = rounds_.cut_ == Cut::kRounds && rounds_.end(stopped_ != kRuns ? stopped_ : rounds_.stop());
      stopped_ = kRuns;
      runs_ = rounds_.cut_ != Cut::kRounds;
      return over;
    }

   private:
    Rounds& rounds_;
    bool runs_ = false;
    static constexpr u64 kRuns = ~u64{0};
    u64 stopped_ = kRuns;  // when, in ns
  };

  /// True when the round or the phase is over. Relaxed looks are enough: it publishes nothing.
  [[nodiscard]] const std::atomic<bool>& halted() const { return halt_; }
  void halt() { halt_.store(true, kSeqCst); }  // pairs with open, which clears it and then looks at stop_

  /// When the first operation could begin, in ns; nothing before that.
  [[nodiscard]] std::optional<u64> begun() const;
  /// Seconds that count, up to now; while threads run, by a few requests inexact.
  [[nodiscard]] double seconds() const;
  /// Seconds on the wall from the first beginning to the last end. When all threads have left.
  [[nodiscard]] double wall_seconds() const;

 private:
  void begin();
  u64 stop();
  bool end(u64 stopped);
  void leave(bool runs);
  void open();

  ThreadTeam& team_;
  const std::atomic<bool>& stop_;
  std::atomic<bool> halt_{false};
  std::atomic<u64> round_{0};        // those who wait watch it
  mutable ThreadTeam::Mutex mutex_;  // guards the rest, but for cut_, which is fixed while threads run
  Cut cut_ = Cut::kRounds;
  bool open_ = false;
  u32 in_ = 0;       // threads that have not left
  u32 ready_ = 0;    // of them waiting for the next round
  u32 running_ = 0;  // of them running in this one
  u32 threads_ = 0;  // that began this round
  // In ns:
  u64 timed_ = 0;     // of the rounds and windows that are over
  u64 of_round_ = 0;  // summed over the threads that have stopped
  std::optional<u64> begun_;
  std::optional<u64> first_stop_;  // of this round
  u64 opened_ = 0;
  u64 closed_ = 0;  // by the last stop so far
};

}  // namespace latchlab
