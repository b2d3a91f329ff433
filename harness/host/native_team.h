// A team of the system's threads. Between phases they sleep on a condition variable. At the start of a phase they meet
// at a barrier. The calling thread watches the time meanwhile.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "harness/host/barrier.h"
#include "harness/host/thread_team.h"
#include "src/base/types.h"

namespace latchlab {

class NativeTeam final : public ThreadTeam {
 public:
  NativeTeam() = default;
  explicit NativeTeam(u32 threads) { begin(threads); }
  ~NativeTeam() override { end(); }
  NativeTeam(const NativeTeam&) = delete;
  NativeTeam& operator=(const NativeTeam&) = delete;

  [[nodiscard]] Clock& clock() override { return wall_clock(); }
  void begin(u32 threads) override;
  void end() override;
  [[nodiscard]] std::exception_ptr run(const std::function<void(u32)>& task, const std::function<u64()>& watch,
                                       const std::function<void()>& on_failure) override;

  void wait_while(const std::atomic<u64>& word, u64 value) override;
  void sleep_until(const std::function<bool()>& done) override;
  void wake() override;
  void idle(u64 until_ns, bool yields) override;

  void wait_by(WaitBy way, bool watches_switches) override;
  void extend_slices() override;
  [[nodiscard]] std::optional<ThreadWaits> waits() override;

  bool pin(u32 cpu) override;
  bool place(const PagePlacement& pages) override;
  [[nodiscard]] OrReason<std::unique_ptr<Preemption>> preemption(u64 seed) override;
  [[nodiscard]] std::optional<u32> cpu() override;
  [[nodiscard]] std::optional<u64> ran_ns() override;
  [[nodiscard]] std::optional<ProcessorTime> processor_time() override;
  [[nodiscard]] Limits limits(const LimitsPlan& plan) override;

 private:
  void work(u32 thread);
  void fail();

  std::unique_ptr<Barrier> start_;
  std::vector<std::thread> threads_;
  std::mutex sleepers_;  // no wake() comes between a sleeper's check and its wait
  std::condition_variable changed_;
  std::condition_variable begin_;     // a phase has begun, or the team ends
  std::condition_variable finished_;  // the last thread of a phase is done
  std::mutex mutex_;                  // guards the members below
  u64 phase_ = 0;
  u32 busy_ = 0;
  bool over_ = false;
  std::exception_ptr failure_;
  const std::function<void(u32)>* task_ = nullptr;
  const std::function<void()>* on_failure_ = nullptr;
};

}  // namespace latchlab
