// The clock of a measured phase. Threads make their own requests, and that time must not count. But leaving it out
// thread by thread would be wrong. While one thread makes requests, the others have the lock, the caches and the memory
// to themselves. So the sum of their rates would exceed what the index can do. Therefore all threads make requests at
// the same time, and all run them at the same time:
//
//     thread 0   | make |  |##### run #####|   | make   ||##### run #####|
//     thread 1   | make    ||##### run #####|  | make |  |##### run ####|
//                           |<-- round --->|             |<-- round -->|
//
// A round begins when the last thread is ready. The first thread that has run all its requests ends it for all. The
// others stop within kStopRequests requests and keep the rest for the next round. So no thread has the index to itself
// for longer than that, which is less than 1 % of a round. No operation is done outside a round:
//
//     throughput = operations / seconds of all rounds
//                = operations / wall seconds of the phase / timed share
//
// The length of a round is wall time: from its beginning to a thread's stop, whatever the thread waits for, averaged
// over its threads. (It does not reach to the last stop. Else, when the kernel deschedules one thread, all threads that
// wait for it here would lose that time too, which they would not without rounds.)
//
// With more threads than processors there are no rounds, since waiting for each other would take as long as the
// scheduler likes. Instead one window opens when the first thread begins and closes when the last one leaves. The time
// for making requests is inside, and so is the time before a late thread begins.
//
// In an open loop operations come whether threads are ready or not, so there are no rounds either. One window opens
// when all threads are ready, and arrivals count from then on. It closes when the last thread leaves.
#pragma once

#include <atomic>
#include <optional>

#include "harness/host/thread_team.h"
#include "src/base/types.h"

namespace latchlab {

class Rounds {
 public:
  /// The way in which the time of a phase is cut.
  enum class Cut { kRounds, kWindow, kOpenLoop };

  /// Keeps the time by the team's clock. `stop` ends the phase: a thread that sets it (seq_cst) must call halt()
  /// afterwards.
  Rounds(ThreadTeam& team, const std::atomic<bool>& stop) : team_(team), stop_(stop) {}

  /// Begins a phase of `threads` threads. Call it while none of them runs.
  void start(u32 threads, Cut cut);

  /// Continues a phase that all its threads have left, with `threads` threads. Call it while none of them runs.
  void resume(u32 threads);

  /// One thread's part in a phase; only that thread uses it. The thread leaves the phase when this goes out of scope,
  /// also by an exception: the other threads then go on without it.
  class Participant {
   public:
    explicit Participant(Rounds& rounds) : rounds_(rounds) {}
    ~Participant() { rounds_.leave(runs_); }
    Participant(const Participant&) = delete;
    Participant& operator=(const Participant&) = delete;

    /// Begins a round: operations count from here on. Waits until all threads are ready, except with kWindow.
    void begin() {
      if (!runs_) rounds_.begin();
      runs_ = true;
    }
    /// Ends this thread's operations in the round: the time until end() does not count. Does nothing in a window.
    void stop() {
      if (rounds_.cut_ == Cut::kRounds) stopped_ = rounds_.stop();
    }
    /// Ends this thread's part of the round, after stop() if that was not called. Returns true to the last thread: the
    /// round is over, and the next cannot begin before this thread is ready.
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
    u64 stopped_ = kRuns;  // when the thread stopped, in ns; kRuns while it has not
  };

  /// Returns the flag that is true when the round or the phase is over. Load it relaxed: it publishes nothing.
  [[nodiscard]] const std::atomic<bool>& halted() const { return halt_; }
  void halt() { halt_.store(true, kSeqCst); }  // (2) pairs with (3) in open()

  /// Returns when the first operation could begin, in ns; nothing before that.
  [[nodiscard]] std::optional<u64> begun() const;
  /// Returns the seconds that count up to now. While threads run it is inexact by the time of a few requests.
  [[nodiscard]] double seconds() const;
  /// Returns the wall seconds from the first beginning to the last end. Call it when all threads have left.
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
  std::atomic<u64> round_{0};        // waiting threads watch it
  mutable ThreadTeam::Mutex mutex_;  // guards the rest, except cut_, which is fixed while threads run
  Cut cut_ = Cut::kRounds;
  bool open_ = false;
  u32 in_ = 0;       // threads that have not left
  u32 ready_ = 0;    // threads among them that wait for the next round
  u32 running_ = 0;  // threads among them that run in this round
  u32 threads_ = 0;  // threads that began this round
  // In ns:
  u64 timed_ = 0;     // length of all rounds and windows that are over
  u64 of_round_ = 0;  // length of this round, summed over the threads that have stopped
  std::optional<u64> begun_;
  std::optional<u64> first_stop_;  // in this round
  u64 opened_ = 0;
  u64 closed_ = 0;  // the latest stop so far
};

}  // namespace latchlab
