#pragma once
// The race finder: runs a small scenario under thousands of seeded schedules and says which seed breaks it.
//
//     struct TwoInserts {                      // the setup: constructed before, in simulated memory
//       Synchronized<...Simulated...> index{...};
//       void fiber(u32 id) { ... }              // inside; all at once, interleaved at every access to a cell
//       std::string check() { ... }             // outside, after all have returned; empty, or what is wrong
//     };
//     const RaceReport report = find_races<TwoInserts>({.schedules = 10000, .fibers = 3});
//     INFO(report.str());
//     REQUIRE(report.failures == 0);
//
// One seed is one schedule, down to the last access: schedule i of an exploration has the seed `seed + i`, so
// a failure is replayed by LATCHLAB_SEED, which replaces `seed`. Even seeds draw uniform costs, odd ones
// priorities (simulated_costs.h).
//
// A schedule fails when check() or expect() says so, when a cell in freed, poisoned or never allocated memory
// is accessed, when blocks are still allocated after the scenario's destruction, on deadlock, livelock and
// stray exceptions. A failed schedule's scenario is not destroyed: the structure in it may be broken.
//
// Keep what the fibers share in cells, and the scenario in itself: members are at the same simulated
// addresses in every replay. Memory of the system's allocator works too, but which cells share a line then
// depends on it.
//
// Whatever holds a std::mutex across cells or allocations (joining an index does) belongs into the
// constructor: all fibers are one thread, and one that were left while holding it would stop them all.
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "src/machine/simulated.h"

namespace latchlab {

struct RaceOptions {
  u64 seed = 1;  // of the first schedule; LATCHLAB_SEED in the environment replaces it
  u32 schedules = 10000;
  u32 fibers = 3;         // 1 to 64
  double abort_rate = 0;  // of the transactions, beside those that conflict
  std::vector<u32> abort_statuses{0, kAbortConflict | kAbortRetry, kAbortCapacity, kAbortRetry};
  bool stop_at_failure = true;
  u64 event_limit = 200'000;  // of one schedule; beyond it is a livelock
};

struct RaceReport {
  u64 schedules = 0;
  u64 failures = 0;
  u64 failing_seed = 0;  // the first; meaningful with failures
  std::string message;   // of that one
  std::string history;   // its last events, one a line
  u64 events = 0;
  u64 switches = 0;
  u64 aborts = 0;
  u64 trace = 0;  // a hash of everything that happened, in order
  double schedules_per_second = 0;

  /// One line: the failure with its seed, or what has been tried.
  std::string str() const;
};

template <class S>
concept RaceScenario = requires(S& scenario, u32 id) {
  scenario.fiber(id);
  { scenario.check() } -> std::convertible_to<std::string>;
};

/// For fibers and checks: the schedule fails with `what` unless `right`. Inside a fiber it does not return
/// then.
inline void expect(bool right, std::string_view what) {
  if (!right) [[unlikely]]
    World::get().fail(std::string(what));
}

namespace race_detail {

/// A scenario with its type erased: made in simulated memory before, destroyed after.
struct Scenario {
  std::size_t bytes;
  std::size_t alignment;
  std::function<void(void*)> construct;
  std::function<void(void*, u32)> fiber;
  std::function<std::string(void*)> check;
  std::function<void(void*)> destroy;
};

RaceReport find_races(const Scenario& scenario, RaceOptions options);

}  // namespace race_detail

/// Explores scenarios of type S constructed from `arguments`. Throws std::invalid_argument for options that
/// make no sense. The first failure is printed to stderr with its seed, and with its last events when
/// LATCHLAB_SEED was given.
template <RaceScenario S, class... Arguments>
RaceReport find_races(const RaceOptions& options, const Arguments&... arguments) {
  return race_detail::find_races({.bytes = sizeof(S),
                                  .alignment = alignof(S),
                                  .construct = [&](void* at) { new (at) S(arguments...); },
                                  .fiber = [](void* at, u32 id) { static_cast<S*>(at)->fiber(id); },
                                  .check = [](void* at) -> std::string { return static_cast<S*>(at)->check(); },
                                  .destroy = [](void* at) { static_cast<S*>(at)->~S(); }},
                                 options);
}

}  // namespace latchlab
