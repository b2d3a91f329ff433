#pragma once
// The race finder: runs a small scenario under thousands of seeded schedules and reports the seed that breaks it.
//
//     struct TwoInserts {                      // constructed before each schedule, in simulated memory
//       Synchronized<...Simulated...> index{...};
//       void fiber(u32 id) { ... }              // all fibers run together, interleaved at every access to a cell
//       std::string check() { ... }             // runs after all have returned; returns "" or what is wrong
//     };
//     const RaceReport report = find_races<TwoInserts>({.schedules = 10000, .fibers = 3});
//     INFO(report.str());
//     REQUIRE(report.failures == 0);
//
// One seed determines one schedule down to the last access. Schedule i of an exploration has the seed `seed + i`.
// LATCHLAB_SEED replaces `seed`, and so replays a failure. Even seeds draw uniform costs, odd seeds priorities
// (simulated_costs.h).
//
// A schedule fails if
//   1. check() or expect() says so,
//   2. a fiber accesses a cell in freed, poisoned or never allocated memory,
//   3. blocks are still allocated after the scenario's destruction,
//   4. the fibers deadlock or livelock, or
//   5. an exception leaves a fiber.
// The scenario of a failed schedule is not destroyed: the structure in it may be broken.
//
// Keep what the fibers share in cells, and the cells in the scenario: its members have the same simulated addresses in
// every replay. Memory of the system's allocator works too, but then the allocator decides which cells share a line.
//
// Code that holds a std::mutex across cells or allocations (joining an index does) belongs in the constructor. All
// fibers are one thread, so a fiber that is switched out while it holds the mutex would stop them all.
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "src/machine/simulated.h"

namespace latchlab {

struct RaceOptions {
  u64 seed = 1;  // the first schedule's seed; LATCHLAB_SEED in the environment replaces it
  u32 schedules = 10000;
  u32 fibers = 3;         // 1 to 64
  double abort_rate = 0;  // the share of transactions with an injected abort; conflicts abort besides
  std::vector<u32> abort_statuses{0, kAbortConflict | kAbortRetry, kAbortCapacity, kAbortRetry};
  bool stop_at_failure = true;
  u64 event_limit = 200'000;  // a schedule with more events counts as a livelock
};

struct RaceReport {
  u64 schedules = 0;
  u64 failures = 0;
  u64 failing_seed = 0;  // the first seed that failed; meaningful only with failures
  std::string message;   // the message of that failure
  std::string history;   // its last events, one a line
  u64 events = 0;
  u64 switches = 0;
  u64 aborts = 0;
  u64 trace = 0;  // a hash of everything that happened, in order
  double schedules_per_second = 0;

  /// Returns one line: the failure with its seed, or how much was tried.
  std::string str() const;
};

template <class S>
concept RaceScenario = requires(S& scenario, u32 id) {
  scenario.fiber(id);
  { scenario.check() } -> std::convertible_to<std::string>;
};

/// Fails the schedule with the message `what` unless `right`. Fibers and checks may call it; inside a fiber a failure
/// does not return.
inline void expect(bool right, std::string_view what) {
  if (!right) [[unlikely]]
    World::get().fail(std::string(what));
}

namespace race_detail {

/// A scenario with its type erased: constructed in simulated memory before a schedule, destroyed after it.
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

/// Explores scenarios of type S constructed from `arguments`. Throws std::invalid_argument for options out of range.
/// Prints the first failure to stderr with its seed, and with its last events if LATCHLAB_SEED is set.
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
