// The threads of a trial, phase after phase: they make requests and run them, in turns, in rounds, in one window or as
// they come, until the requests or the time end, while the caller keeps the time and samples. What they did is left
// behind in the workers, the meter and the rounds; which phases there are and what is said of them is run_trial.cc's.
//
// A phase here is of the run: loading, warm-up, the measured one. Those that a workload's file has
// (workloads/phases_file.h) are sections of its stream, one after the other within the measured phase: at the end of
// each all threads wait for the last one.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/config/arrivals.h"
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
#include "harness/trial/rounds.h"
#include "harness/trial/request_maker.h"
#include "harness/trial/turns.h"
#include "src/base/types.h"

namespace latchlab {

/// What belongs to one thread of the team and is touched by no other while a phase runs.
struct alignas(kFalseSharingBytes) Worker {
  std::unique_ptr<Runner> runner;
  Tally tally;            // since the index was empty
  Tally measured;         // of the measured phase
  RequestQueue requests;  // made and not yet run, also over the end of a phase
  std::vector<u64> counters_before;
  std::unique_ptr<Latencies> latencies;  // of the measured phase, where calls are timed
  std::unique_ptr<PmuGroups> pmu;        // of the measured phase, where events are counted
  ArrivalShare share;                    // of the operations that come in an open loop
  u64 first = 0,
      own = 0;  // the next operation of the part that is this thread's, where it has one, and how many it is to do
  std::unique_ptr<OpenLoop> loop;  // the last one, as the thread left it
  std::optional<u64> until;        // ns since its beginning, where the thread then had no operation left to wait for
  u64 making_ns = 0;               // of this thread's time, for all the requests that it has made
  u64 made = 0;
  u64 print = 0;        // the fingerprint of those of them that StreamPrint is of
  bool clocked = true;  // the kernel told that time
  bool pinned = true;
  std::optional<u32> seen_on;                   // the processor, at the end of the measured phase
  std::optional<ProcessorTime> processor_time;  // in the measured phase, but for `meetings`
  ProcessorTime meetings;                       // those of that phase
};

class Phases {
 public:
  /// How a phase went.
  struct Outcome {
    std::string name;
    double seconds = 0;
    u64 operations = 0;
    std::string failure;       ///< what a thread threw, one line; empty if none did
    u64 accessed_cleared = 0;  ///< how often
  };

  /// On that team, which has not begun. `window`: how many records the index holds while the workload replaces them, 0
  /// where it does not (dealer.h). All that is referred to must outlive this.
  Phases(Trial& trial, const Plan& plan, const RequestMaker& maker, u64 window, ThreadTeam& team, Progress& progress)
      : trial_(trial),
        plan_(plan),
        maker_(maker),
        team_(team),
        progress_(progress),
        in_turns_(trial.loads_in_turns()),
        dealer_(config_.threads, window, maker.stream().parts(), maker.stream().sections(), maker.stream().most_keys()),
        workers_(config_.threads) {}

  /// Starts the threads, each on its seat and with a runner of its own. Returns what one threw while it joined; throws
  /// std::system_error if the system has no more threads.
  [[nodiscard]] std::string begin();
  /// Sessions end on the threads that began them, and before the index is looked at: leaving drains what they retired.
  /// Returns what one threw.
  [[nodiscard]] std::string leave();
  /// Ends the threads, if there are any.
  void end() { team_.end(); }

  /// A phase of `total` requests that has nothing to measure: thread t does chunks t, t + threads, ... of what `make`
  /// makes.
  [[nodiscard]] Outcome chunks(const std::string& name, u64 total,
                               const std::function<Slice(Worker&, u64 first, u32 count)>& make);

  /// Runs one phase on all threads while this one keeps the time: ends it `length_ns` after the first
  /// operation could begin (0: when the tasks end) but not before one is done, samples the throughput every
  /// `sample_ns` (0: never, nor are Accessed bits cleared, as --clear-accessed asks), and watches for an interruption.
  /// `open`: the task is run_arrivals.
  [[nodiscard]] Outcome phase(const std::string& name, u64 total, u64 length_ns, const std::function<void(u32)>& task,
                              u64 sample_ns = 0, bool open = false);

  /// The task of thread t: makes requests of the workload and runs them, round after round and section after section,
  /// until there are no more or somebody says stop.
  void run_requests(u32 t);
  /// The same in an open loop: a request when it is due, for `length_ns` (0: until there are no more).
  void run_arrivals(u32 t, const Rate& rate, u64 length_ns);

  /// From here on threads count these events while they run requests of the workload. Returns what one threw.
  [[nodiscard]] std::string count(const std::vector<PmuEvent>& events);

  /// Calls this after every round of run_requests from here on, with the worker of the thread that calls, while none
  /// runs requests.
  void between_rounds(std::function<void(const Worker&)> what) { between_rounds_ = std::move(what); }

  /// Calls this at the end of every section of the stream but the last from here on, with its number, while no thread
  /// runs requests.
  void between_sections(std::function<void(std::size_t section)> what) { between_sections_ = std::move(what); }

  /// Leaves `total` operations of the workload to do: first what threads hold since the warm-up.
  void limit_to(u64 total);
  /// How many there are to do without a limit.
  [[nodiscard]] u64 left() const;

  // While no phase runs:
  [[nodiscard]] std::vector<Worker>& workers() { return workers_; }
  [[nodiscard]] const std::vector<Worker>& workers() const { return workers_; }
  [[nodiscard]] const Meter& meter() const { return meter_; }
  [[nodiscard]] const Rounds& rounds() const { return rounds_; }
  /// The operations of the workload that nobody was dealt: the first of the first part, and where that part ends
  /// (Stream::parts).
  [[nodiscard]] u64 next() const { return dealer_.next(); }
  [[nodiscard]] u64 end_of_first() const { return dealer_.end_of_first(); }
  /// The section of the stream that run_requests has come to, from 0.
  [[nodiscard]] std::size_t section() const { return dealer_.section(); }
  /// An insert found no room, which ended its phase.
  [[nodiscard]] bool full() const { return full_.load(kRelaxed); }  // relaxed: the team has brought it

 private:
  std::string everyone(const std::function<void(u32)>& task);
  void stop();
  u32 run_until_full(Worker& me, const Slice& slice, const std::atomic<bool>& stopped, u32 stop_requests,
                     Latencies* latencies);
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
  u64 recorded_begin_ns_ = 0;  // when the first operation came that limit_to has left, where somebody has recorded it
  std::vector<Worker> workers_;
  Meter meter_;
  std::atomic<bool> full_{false};  // an insert found no room
  std::atomic<bool> stop_{false};  // ends the current phase; looks are relaxed, since it publishes nothing
  Rounds rounds_{team_, stop_};
  std::function<void(const Worker&)> between_rounds_;
  std::function<void(std::size_t)> between_sections_;
  Meeting section_over_{team_};
};

}  // namespace latchlab
