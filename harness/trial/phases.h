// Runs the phases of a trial on its threads. The threads make requests and run them: in turns, in rounds, in one
// window, or as requests are due. A phase ends when the requests or the time end; meanwhile the caller keeps the time
// and samples. The results stay in the workers, the meter and the rounds. run_trial.cc decides which phases there are
// and reports them.
//
// Two kinds of phases must not be confused. Phases here are those of the run: load, warm-up, measure. The phases of a
// workload's file (workloads/phases_file.h) are sections of its stream, within the measured phase. At the end of a
// section all threads wait for the last one.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/config/arrivals.h"
#include "harness/config/or_reason.h"
#include "harness/config/plan.h"
#include "harness/host/on_processor.h"
#include "harness/host/placement.h"
#include "harness/host/pmu_groups.h"
#include "harness/host/progress.h"
#include "harness/host/thread_team.h"
#include "harness/loop/latency.h"
#include "harness/loop/request.h"
#include "harness/loop/trial.h"
#include "harness/trial/dealer.h"
#include "harness/trial/meeting.h"
#include "harness/trial/meter.h"
#include "harness/trial/open_loop.h"
#include "harness/trial/recorded_run.h"
#include "harness/trial/rounds.h"
#include "harness/trial/request_maker.h"
#include "harness/trial/stationed_run.h"
#include "harness/trial/turns.h"
#include "src/base/types.h"

namespace latchlab {

/// The data of one thread of the team. No other thread touches it while a phase runs.
struct alignas(kFalseSharingBytes) Worker {
  std::unique_ptr<Runner> runner;
  // Runs the requests, if calls are recorded.
  std::unique_ptr<RecordedRun> recorded;
  // Runs the requests, if they meet in a station.
  std::unique_ptr<StationedRun> stationed;

  Tally tally;                           // since the index was empty
  Tally measured;                        // `tally` when the measured phase began
  RequestQueue requests;                 // made and not yet run; they outlast a phase
  std::vector<u64> counters_before;      // when the measured phase began
  std::unique_ptr<Latencies> latencies;  // in the measured phase, if calls are timed
  std::unique_ptr<PmuGroups> pmu;        // in the measured phase, if events are counted
  ArrivalShare share;                    // this thread's share of the offered load of an open loop
  u64 first = 0;                         // the next operation of this thread's part of the stream
  u64 own = 0;                           // how many operations this thread is to do, if it has a part
  std::unique_ptr<OpenLoop> loop;        // the last one, as the thread left it
  std::optional<u64> until;              // ns from the loop's beginning to when the thread ran out of operations
  u64 making_ns = 0;                     // processor time of this thread for making all its requests
  u64 made = 0;                          // how many it made
  u64 print = 0;                         // the fingerprint of those among them that StreamPrint covers
  bool clocked = true;                   // the kernel told the thread's processor time
  bool pinned = true;
  std::optional<u32> seen_on;                   // its processor at the end of the measured phase
  std::optional<ProcessorTime> processor_time;  // in the measured phase, without `meetings`
  std::optional<ThreadWaits> waits;             // in the measured phase
  ProcessorTime meetings;                       // its time in the meetings of the measured phase
};

/// The message of std::bad_alloc in Outcome::failure.
inline constexpr std::string_view kMemoryRanOut = "memory ran out";

class Phases {
 public:
  /// The outcome of one phase.
  struct Outcome {
    std::string name;
    double seconds = 0;
    u64 operations = 0;
    std::string failure;       ///< the message of a thread's exception, in one line; empty if there was none
    u64 accessed_cleared = 0;  ///< how often Accessed bits were cleared
  };

  /// Prepares phases on a team that has not begun. `window` is how many records the index holds while the workload
  /// replaces them; 0 if it does not (dealer.h). All arguments must outlive this.
  Phases(Trial& trial, const Plan& plan, const RequestMaker& maker, u64 window, ThreadTeam& team, Progress& progress)
      : trial_(trial),
        plan_(plan),
        maker_(maker),
        team_(team),
        progress_(progress),
        in_turns_(trial.loads_in_turns()),
        dealer_(config_.threads, window, maker.stream().parts(), maker.stream().sections(), maker.stream().most_keys()),
        workers_(config_.threads) {}

  /// Records calls on the keys of the maker's share from begin() on, until a buffer is full. Call it before begin().
  void record(HistoryRecorder& recorder) { history_ = &recorder; }
  /// Returns why calls cannot be recorded, in one line; empty if they can. Call it after begin().
  [[nodiscard]] const std::string& not_recorded() const { return not_recorded_; }
  /// Returns how often threads were interrupted, or why they were not, for --preempt. Call it after leave().
  [[nodiscard]] OrReason<PreemptionCounts> preemptions() const;

  /// Starts the threads, each on its seat and with a runner of its own. Returns the message of an exception that a
  /// thread threw while it joined the index. Throws std::system_error if the system has no more threads.
  [[nodiscard]] std::string begin();
  /// Ends the sessions, on the threads that began them. Call it before the index is examined: leaving frees what they
  /// retired. Returns the message of a thread's exception.
  [[nodiscard]] std::string leave();
  /// Ends the threads, if there are any.
  void end() { team_.end(); }

  /// Runs a phase of `total` requests without measuring it. Thread t runs the chunks t, t + threads, ... that `make`
  /// makes.
  [[nodiscard]] Outcome chunks(const std::string& name, u64 total,
                               const std::function<Slice(Worker&, u64 first, u32 count)>& make);

  /// Runs one phase on all threads, while the calling thread keeps the time. The caller:
  ///   1. ends the phase `length_ns` after the first operation could begin (0: when the tasks end), but not before one
  ///      operation is done;
  ///   2. samples the throughput every `sample_ns`, and clears Accessed bits as --clear-accessed asks (0: neither);
  ///   3. watches for an interruption.
  /// `open`: the task is run_arrivals.
  [[nodiscard]] Outcome phase(const std::string& name, u64 total, u64 length_ns, const std::function<void(u32)>& task,
                              u64 sample_ns = 0, bool open = false);

  /// The task of thread t in a closed loop: makes requests of the workload and runs them, round after round and section
  /// after section. It ends when there are no more, or when the phase is stopped.
  void run_requests(u32 t);
  /// The task of thread t in an open loop: runs each request when it is due, for `length_ns` (0: until there are no
  /// more).
  void run_arrivals(u32 t, const Rate& rate, u64 length_ns);

  /// Makes threads count these events from here on, while they run requests of the workload. Returns the message of a
  /// thread's exception.
  [[nodiscard]] std::string count(const std::vector<PmuEvent>& events);

  /// Sets a function that the last thread of every round of run_requests calls from here on, with its own worker. No
  /// thread runs requests meanwhile.
  void between_rounds(std::function<void(const Worker&)> what) { between_rounds_ = std::move(what); }

  /// Sets a function that a thread calls at the end of every section but the last from here on, with the section's
  /// number. No thread runs requests meanwhile.
  void between_sections(std::function<void(std::size_t section)> what) { between_sections_ = std::move(what); }

  /// Limits the operations of the workload that remain to `total`. Those that threads hold since the warm-up come
  /// first.
  void limit_to(u64 total);
  /// Returns how many operations there are without a limit.
  [[nodiscard]] u64 left() const;

  // Call these while no phase runs:
  [[nodiscard]] std::vector<Worker>& workers() { return workers_; }
  [[nodiscard]] const std::vector<Worker>& workers() const { return workers_; }
  [[nodiscard]] const Meter& meter() const { return meter_; }
  [[nodiscard]] const Rounds& rounds() const { return rounds_; }
  /// Return the first operation of the stream's first part that no thread has claimed, and that part's end
  /// (Stream::parts).
  [[nodiscard]] u64 next() const { return dealer_.next(); }
  [[nodiscard]] u64 end_of_first() const { return dealer_.end_of_first(); }
  /// Returns the section of the stream that run_requests has reached, from 0.
  [[nodiscard]] std::size_t section() const { return dealer_.section(); }
  /// Returns true if an insert found no room, which ended its phase. Relaxed: waiting for the team synchronizes.
  [[nodiscard]] bool full() const { return full_.load(kRelaxed); }

 private:
  std::string everyone(const std::function<void(u32)>& task);
  std::string begin_recording();
  std::string begin_preempting();
  void stop();
  /// A profile knows the stacks of operations by this function's name (commands/profile.h), so it is not inlined.
  [[gnu::noinline]] u32 run_until_full(Worker& me, const Slice& slice, const std::atomic<bool>& stopped,
                                       u32 stop_requests, Latencies* latencies);
  bool make_ready(Worker& me, u32 most);
  std::unique_ptr<Arrivals> arrivals(u32 t, const Rate& rate) const;
  void run_section(u32 t);
  bool meet(Worker& me);
  bool next_section();

  Trial& trial_;
  const Plan& plan_;
  const Config& config_ = plan_.config;
  const Seats& seats_ = plan_.seats;
  const RequestMaker& maker_;
  ThreadTeam& team_;
  Clock& clock_ = team_.clock();
  Progress& progress_;
  const bool in_turns_;  // threads load and verify one after the other
  Turns turns_{team_};
  Dealer dealer_;
  u64 recorded_begin_ns_ = 0;  // recorded time of the first operation that limit_to has left, if a trace has times
  std::vector<Worker> workers_;
  Meter meter_;
  std::atomic<bool> full_{false};  // an insert found no room
  std::atomic<bool> stop_{false};  // ends the current phase; loads are relaxed, since it publishes nothing
  Rounds rounds_{team_, stop_};
  HistoryRecorder* history_ = nullptr;  // null if no calls are recorded
  std::string not_recorded_;
  std::string not_preempted_;
  std::function<void(const Worker&)> between_rounds_;
  std::function<void(std::size_t)> between_sections_;
  Meeting section_over_{team_};
};

}  // namespace latchlab
