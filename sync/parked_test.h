#pragma once
// The simulated machine whose waiting fibers park as threads do (src/machine/parking_lot.h): only a wake ends a wait.
// So a store without its wake is a deadlock that the race finder finds.
#include "src/machine/parking_lot.h"
#include "sync/race_crew_test.h"

namespace latchlab::testing {

using BugsOfParking = parking::BugFlags<bool>;

struct Parked : Simulated {
  /// The kernel. A change of the word ends a sleep, since it comes before the call that wakes.
  struct Kernel {
    static void sleep_while(const Atomic<u32>& word, u32 seen) {
      Simulated::wait_until(word, [seen](u32 now) { return now != seen; });
    }
    static void wake_all(const Atomic<u32>&) {}
  };
  /// Few spaces, so that cells share them.
  using Lot = ParkingLot<Parked, Kernel, 4, BugsOfParking>;
  static inline Lot* lot = nullptr;
  static inline bool deaf = false;  // wakes have no effect

  template <class A, class Done>
  static auto wait_until(const A& atomic, Done&& done) {
    World& world = World::get();
    for (typename Lot::Stay stay(*lot, &atomic);; stay.pass()) {
      if (const auto value = atomic.load(kAcquire); done(value) || world.unwinding()) return value;
      if (world.in_transaction()) world.abort(0);
    }
  }
  static void wake(const void* cell) {
    if (!deaf) lot->wake(cell);
  }
};

/// A scenario in a world with a parking lot.
template <class Scenario>
struct InLot {
  static constexpr std::string_view kPolicy = Scenario::kPolicy;

  InLot() : scenario() {}
  explicit InLot(std::string_view spec) : scenario(spec) {}
  ~InLot() { Parked::lot = nullptr; }

  void fiber(u32 id) { scenario.fiber(id); }
  std::string check() { return scenario.check(); }

 private:
  struct Opened {
    Opened() { Parked::lot = &lot; }
    Parked::Lot lot;
  };
  Opened opened_;  // first: a policy may wait in its constructor

 public:
  Scenario scenario;
};

}  // namespace latchlab::testing
