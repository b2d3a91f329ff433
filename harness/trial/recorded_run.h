// Runs requests and records those on chosen keys, for the checker of histories.
//
// The hot loop stays as it is. The thread that makes requests marks those on chosen keys (RequestQueue), outside the
// timed rounds. A slice is then run in pieces:
//
//     | . . . . x . . x x . . . . |        . requests that the hot loop runs, as ever
//                                          x marked requests: one call of the index, between two readings of the clock
//
// A marked request does to the index and to the tally what the hot loop would do. It goes through the session instead,
// whose answers have the values that were found.
//
//   - The lookups of a multi-get are calls with one interval. Only those on chosen keys are recorded.
//   - An rmw is two calls: a lookup and, if it found the key, an update.
//   - An update and an erase say which value they removed, and an upsert does with sized values. The session has such
//     forms of the operations (Erased::Session::replace), which run the same bodies and read one value more.
//   - A modify or an increment is recorded as what it did: an update that says what it replaced, or a find that found
//   nothing.
//   - Scans are not recorded. A scan promises no moment at which it saw all its keys, and there is no record of a
//   range.
//   - A recorded call is not timed for --latency: reading the clock for the history would be part of its time.
//   - With --preempt the thread asks for an interruption before each recorded call, unless one is pending. The timer
//     waits longer than most calls take, so the signal comes in one of the next calls, or between two of them.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/host/clock.h"
#include "harness/host/thread_team.h"
#include "harness/loop/latency.h"
#include "harness/loop/request.h"
#include "harness/loop/trial.h"
#include "harness/trial/request_account.h"
#include "indexes/erased.h"
#include "src/base/types.h"
#include "src/history/recorder.h"
#include "src/machine/preemption.h"

namespace latchlab {

/// How often threads were interrupted.
struct PreemptionCounts {
  u64 all = 0;
  u64 inside = 0;  ///< between the two readings of the clock of a recorded call

  PreemptionCounts& operator+=(const PreemptionCounts& other) {
    all += other.all, inside += other.inside;
    return *this;
  }
};

/// The recording of one thread's calls.
class RecordedRun {
 public:
  /// Prepares to record calls of the calling thread, which is number `thread`, and makes room for them. `numbers`: keys
  /// are numbers. `value_bits` are those of a value. Throws std::bad_alloc.
  RecordedRun(HistoryRecorder& recorder, KeyShare keys, u32 thread, Clock& clock, bool numbers, u32 value_bits);

  /// Does what runner.run() does, and records the calls of marked requests.
  u32 run(Runner& runner, const Slice& slice, const std::atomic<bool>& stop, Tally& tally, u32 stop_requests,
          Latencies* latencies);

  /// From here on the calling thread is interrupted in recorded calls. The thread must call end_preempting().
  void preempt_by(std::unique_ptr<Preemption> preemption) { preemption_ = std::move(preemption); }
  void end_preempting();
  /// Returns how often the thread was interrupted. Call it after end_preempting().
  [[nodiscard]] const PreemptionCounts& preemptions() const { return preemptions_; }

 private:
  void run_marked(Runner& runner, const Slice& slice, const Request& request, Tally& tally);
  u64 interrupted() const { return preemption_ ? preemption_->count() : 0; }
  bool find(Runner& runner, const Request& request, Tally& tally);
  bool put(Runner& runner, Put how, const Request& request);
  bool erase(Runner& runner, const Request& request);
  bool modify(Runner& runner, const Request& request, Tally& tally);
  bool increment(Runner& runner, const Request& request, Tally& tally);
  bool multi_get(Runner& runner, std::span<const Request> requests, Tally& tally);

  /// A call on its way. Its slot is empty if it is not recorded.
  struct UnderWay {
    std::span<KeyedCall> slot;
    u64 interrupted;  // how often the thread had been interrupted before
  };
  UnderWay begin(CallKind kind, const Request& request);
  void end(const UnderWay& call, const auto& answer);
  /// Ends a modify or an increment. Returns true if the key was there.
  bool end_modify(const UnderWay& call, const Request& request, const Modified& modified, Tally& tally);

  u64 history_key_of(const Request& request) const;

  HistoryRecorder& recorder_;
  const KeyShare keys_;
  const u32 thread_;
  Clock& clock_;
  const RequestAccount account_;
  std::unique_ptr<Preemption> preemption_;  // null if the thread is not interrupted
  PreemptionCounts preemptions_;            // `all` is set in the end
  // For a multi-get:
  std::vector<ErasedKey> asked_;
  std::vector<Found> answers_;
};

/// Sets marks[i] to 1 for each request whose calls are recorded, else to 0. `numbers`: keys are numbers.
void mark_requests(std::span<const Request> requests, std::span<const Request> gets, KeyShare keys, bool numbers,
                   std::span<u8> marks);

/// Finds out whether the clock is ordered between the threads of a team: a time that a thread reads is not below one
/// that another thread had read and handed over. All threads hand the time around in a ring.
class ClockRelay {
 public:
  static constexpr u64 kHandOffs = 4096;
  static constexpr u64 kLongestNs = 200'000'000;  // where threads share processors, a hand-off takes a time slice

  ClockRelay(ThreadTeam& team, u32 threads) : team_(team), threads_(threads) {}

  /// The part of thread t. All threads must run theirs at the same time.
  void run(u32 t);
  /// Returns why times of different threads cannot be compared, in one line; empty if they can. Call it when all
  /// threads are done.
  [[nodiscard]] std::string why_unordered() const;

 private:
  ThreadTeam& team_;
  const u32 threads_;
  std::atomic<u64> turn_{0};  // turn i is thread i mod threads_'s; kHandOffs ends the relay
  // Only the thread whose turn it is uses these. It gets them with its turn.
  u64 first_ = 0, last_ = 0, back_ns_ = 0, backwards_ = 0, done_ = 0;
};

}  // namespace latchlab
