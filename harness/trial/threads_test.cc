// The threads of a trial: which one does what, and on which processor.
#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "harness/host/placement.h"
#include "harness/host/topology.h"
#include "harness/loop/toy_index_testing.h"
#include "harness/loop/trial.h"
#include "harness/trial/trial_testing.h"
#include "src/testing/catch.h"
#include "sync/own.h"

namespace latchlab {
namespace {

using testing::phase_of;
using testing::run_on_threads;
using testing::small;
using toy::Toy;

struct NothingSaid : Own {};
struct OneWriter : Own {
  static constexpr bool kManyWriters = false;
};
struct WritersInTurn : Own {
  static constexpr bool kWritersTakeTurns = true;
};
/// An index that notes which threads insert, and whether two insert at once.
template <class P>
struct Filled : Toy<u64> {
  using Toy<u64>::Toy;
  using Policy = P;
  static inline std::mutex mutex;
  static inline std::set<std::thread::id> by;
  static inline std::atomic<u32> inside{0};
  static inline std::atomic<bool> together{false};
  bool insert(ThreadState& me, u64 key, u64 value) {
    if (inside.fetch_add(1) != 0) together = true;
    {
      const std::lock_guard lock(mutex);
      by.insert(std::this_thread::get_id());
    }
    std::this_thread::yield();
    const bool inserted = Toy<u64>::insert(me, key, value);
    inside.fetch_sub(1);
    return inserted;
  }
};
template <class P>
void check_that_all_load(bool in_turns) {
  const TrialResult result = run_on_threads<Filled<P>>(small("lookup"));
  CHECK(result.status <= Status::kNoisy);
  CHECK(phase_of(result, "load").operations == 20'000);
  CHECK(phase_of(result, "verify").operations == 20'000);
  CHECK(Filled<P>::by.size() == 2);
  if (in_turns) CHECK_FALSE(Filled<P>::together);
}

TEST_CASE("threads load in turns if only one may write at a time, and all records are verified", "[realtime]") {
  check_that_all_load<OneWriter>(true);
  check_that_all_load<WritersInTurn>(true);
  check_that_all_load<NothingSaid>(false);
}

TEST_CASE("a run on threads measures the limits of the memory under its index, and compares itself with them",
          "[realtime]") {
  const TrialResult result = run_on_threads<Toy<u64>>(small("lookup"));
  const Throughput& t = *result.throughput;
  REQUIRE(result.limits.footprint);
  CHECK(*result.limits.footprint == limits_footprint(*result.memory.index_reserved, available_memory()));
  REQUIRE(result.limits.chase_ns);
  CHECK(*result.limits.chase_ns > 0);
  CHECK(*result.limits.independent_ns > 0);
  const double operation_ns = t.seconds * 1e9 * *result.placement.processors / static_cast<double>(t.operations);
  CHECK(*result.limits.chase_ratio == Approx(operation_ns / *result.limits.chase_ns));
  CHECK(*result.limits.independent_ratio == Approx(operation_ns / *result.limits.independent_ns));
}

/// An index whose threads move to another processor than the one they were pinned to.
struct Moved : Toy<u64> {
  using Toy<u64>::Toy;
  std::optional<u64> find(ThreadState& me, u64 key) {
    if (!std::exchange(moved, true)) may_move = pin_this_thread(elsewhere);
    return Toy<u64>::find(me, key);
  }
  static inline bool moved = false;
  static inline u32 elsewhere = 0;
  static inline bool may_move = false;
};

TEST_CASE("the observed processor is the one that a thread ran on, whatever was requested", "[realtime]") {
  std::vector<u32> cpus;
  for (const Processor& processor : Topology::discover().processors) {
    if (processor.allowed) cpus.push_back(processor.os);
  }
  if (cpus.size() < 2) {
    WARN("skipped: this process may use one processor only");
    return;
  }
  Config config = small("lookup");
  config.threads = 1;
  config.pin = Pin{.kind = Pin::Kind::kList, .numbers = {cpus[0]}, .text = "one"};
  Moved::elsewhere = cpus[1];
  const TrialResult result = run_on_threads<Moved>(config);
  if (!Moved::may_move) {
    WARN("skipped: the kernel refuses to pin threads");
    return;
  }
  REQUIRE(result.placement.threads.size() == 1);
  CHECK(result.placement.threads[0].requested_cpu == cpus[0]);
  CHECK(*result.placement.threads[0].observed_cpu == cpus[1]);
}

}  // namespace
}  // namespace latchlab
