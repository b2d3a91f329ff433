// Tests of every decision that hybrid:N takes after an abort, with planned aborts on the emulated machine, and of the
// versions that its transactions leave for readers.
#include "sync/hybrid.h"

#include <atomic>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/machine/emulated.h"
#include "src/machine/native.h"
#include "src/machine/race_finder.h"
#include "src/testing/catch.h"
#include "sync/policy_testing.h"

namespace latchlab {
namespace {

using testing::House;
using testing::Twins;
using P = Hybrid<Emulated>;

HybridOptions parse(std::string_view spec) { return HybridOptions::parse(Spec::parse(spec)); }

TEST_CASE("hybrid parses its options and refuses others") {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  CHECK(parse("hybrid").resolved() == Pairs{{"restarts", "3"}, {"suspend", "0"}});
  CHECK(parse("hybrid:0").resolved() == Pairs{{"restarts", "0"}, {"suspend", "0"}});
  CHECK(parse("hybrid:5,suspend=1").resolved() == Pairs{{"restarts", "5"}, {"suspend", "1"}});
  for (const auto& [key, value] : parse("hybrid").resolved()) CHECK_FALSE(HybridOptions::about(key).empty());
  CHECK_THROWS_AS(parse("hybrid:many"), InputError);
  CHECK_THROWS_AS(parse("hybrid:1000001"), InputError);
  CHECK_THROWS_AS(parse("hybrid:3,wait=1"), InputError);
  CHECK_THROWS_AS(parse("hybrid:3,suspend=2"), InputError);
}

const std::vector<u32> kStatuses{explicit_status(kBusyCode),
                                 explicit_status(0x5a),
                                 kAbortNested,
                                 kAbortDebug,
                                 kAbortCapacity,
                                 kAbortConflict,
                                 kAbortConflict | kAbortRetry,
                                 kAbortRetry,
                                 0};
// One more than the accesses of a change: the version, loaded and stored; the first number, loaded and stored; the
// second likewise.
constexpr u32 kAccesses = 7;

// Checks that an abort costs one of the tries, whatever its status and moment, and that the change is then made under
// latches.
void check_one_change(bool suspend, u64 restarts, u64 aborts, u32 status, AbortMoment at, u32 access) {
  House<P> house("hybrid:" + std::to_string(restarts) + (suspend ? ",suspend=1" : ""));
  House<P>::ThreadState me(house);
  Twins<P::Layout> twins;
  u64 before = 7;
  {
    const PlannedAbort planned{.at = at, .status = status, .access = access};
    const auto injected = Emulated::inject(AbortInjection::script(AbortInjection::Script(aborts, planned)));
    before = house.policy.write(me, [&](auto& tx) { return twins.add_in(tx); });
  }
  HybridCounters wanted;
  const bool commits = aborts <= restarts;
  wanted.begins = commits ? aborts + 1 : restarts + 1;
  if (commits) {
    wanted.commit(aborts + 1);
  } else {
    wanted.fallbacks = 1;
  }
  wanted.write_restarts = wanted.begins - wanted.commits;
  for (u64 i = 0; i < wanted.write_restarts; ++i) wanted.abort(status);

  bool same = before == 0 && twins.now().first == 1 && twins.now().second == 1;
  for (const auto& field : HybridCounters::fields()) same &= me.counters.*field.member == wanted.*field.member;
  if (same) return;
  for_each_counter(me.counters, [](auto name, u64 value) { UNSCOPED_INFO(name << " " << value); });
  FAIL("hybrid:" << restarts << ",suspend=" << suspend << ", " << aborts << " aborts of status " << status
                 << ", moment " << static_cast<int>(at) << ", access " << access);
}

TEST_CASE("Every abort of a change costs one try, and after the last the change is made under latches") {
  for (const bool suspend : {false, true}) {
    const u32 accesses = kAccesses + suspend;  // one more: the descent loads the version inside
    for (const u64 restarts : {0, 1, 3}) {
      for (u64 aborts = 0; aborts <= restarts + 2; ++aborts) {
        for (const u32 status : kStatuses) {
          check_one_change(suspend, restarts, aborts, status, AbortMoment::kBegin, 1);
          check_one_change(suspend, restarts, aborts, status, AbortMoment::kCommit, 1);
          for (u32 k = 1; k < accesses; ++k)
            check_one_change(suspend, restarts, aborts, status, AbortMoment::kAccess, k);
        }
      }
    }
  }
}

TEST_CASE("An operation that reads, or finds nothing to change, begins no transaction") {
  House<P> house("hybrid");
  House<P>::ThreadState me(house);
  Twins<P::Layout> twins;
  const auto both = house.policy.read(me, [&](auto& tx) { return twins.read_in(tx); });
  CHECK(both.first == both.second);
  house.policy.write(me, [&](auto& tx) { return twins.read_in(tx); });
  for_each_counter(me.counters, [](auto, u64 value) { CHECK(value == 0); });
}

struct Node {
  P::Layout::Latch latch;
  P::Layout::Cell<u64> value{0};
};

TEST_CASE("A change leaves its versions changed and unlocked, by transaction and under latches") {
  for (const char* spec : {"hybrid:0", "hybrid:3", "hybrid:3,suspend=1"}) {
    for (const u64 aborts : {0, 4}) {
      House<P> house(spec);
      House<P>::ThreadState me(house);
      Node one, other, third;
      const u64 version = one.latch.version();
      const auto injected = Emulated::inject(AbortInjection::script(AbortInjection::Script(aborts, PlannedAbort{})));
      house.policy.write(me, [&](auto& tx) -> Attempt<bool> {
        const auto first = tx.enter(&one), second = tx.enter(&other);
        if (!tx.upgrade(first, second, first)) return kRestart;  // a latch that is named twice is changed once
        one.value.store(1);
        return true;
      });
      CHECK(me.counters.commits + me.counters.fallbacks == 1);
      CHECK(one.latch.word() == version + 256);
      CHECK(other.latch.word() == version + 256);
      CHECK(third.latch.word() == version);
    }
  }
}

TEST_CASE("A change of a node that has changed since it was read aborts and stores nothing") {
  House<P> house("hybrid:3");
  House<P>::ThreadState me(house);
  Node one, other;
  u32 runs = 0;
  house.policy.write(me, [&](auto& tx) -> Attempt<bool> {
    const auto first = tx.enter(&one), second = tx.enter(&other);
    if (++runs == 1) {  // as another thread would
      const u64 version = other.latch.version();
      REQUIRE(other.latch.try_lock(version));
      other.latch.set(VersionLatch<Emulated>::changed(version));
    }
    if (!tx.upgrade(first, second)) return kRestart;
    CHECK(runs == 2);
    one.value.store(one.value.load() + 1);
    return true;
  });
  CHECK(me.counters.begins == 2);
  CHECK(me.counters.lock_busy == 1);
  CHECK(me.counters.commits == 1);
  CHECK(one.value.load() == 1);
  CHECK(one.latch.word() == 256);  // changed once: the abort has undone the first change
}

TEST_CASE("Two readers of one latch with different versions cause a restart before a transaction") {
  House<P> house("hybrid:3");
  House<P>::ThreadState me(house);
  Node one;
  u32 runs = 0;
  house.policy.write(me, [&](auto& tx) -> Attempt<bool> {
    const auto early = tx.enter(&one);
    if (++runs == 1) {
      const u64 version = one.latch.version();
      REQUIRE(one.latch.try_lock(version));
      one.latch.set(VersionLatch<Emulated>::changed(version));
    }
    const auto late = tx.enter(&one);
    if (!tx.upgrade(early, late)) return kRestart;
    return true;
  });
  CHECK(runs == 2);
  CHECK(me.counters.begins == 1);
  CHECK(me.counters.write_restarts == 1);
}

TEST_CASE(
    "With suspend the body descends inside the transaction, and another thread's change aborts it only if it changes "
    "the same node") {
  House<P> house("hybrid:3,suspend=1");
  House<P>::ThreadState me(house);
  // Returns how often the body runs if another thread changes `changed` between its descent and its upgrade.
  const auto change_one_while = [&](Node& one, Node& changed) {
    u32 runs = 0;
    bool inside = true;
    std::atomic<bool> done{false};
    std::thread other;
    house.policy.write(me, [&](auto& tx) -> Attempt<bool> {
      inside &= Emulated::in_transaction();
      const auto reader = tx.enter(&one);
      if (++runs == 1) {
        other = std::thread([&] {
          const u64 version = changed.latch.version();
          if (changed.latch.try_lock(version)) changed.latch.set(VersionLatch<Emulated>::changed(version));
          done.store(true, kRelease);  // pairs with the loads below
        });
        const u64 deadline = Emulated::now() + 10'000'000'000;
        while (!done.load(kAcquire) && Emulated::now() < deadline) std::this_thread::yield();
        CHECK(done.load(kAcquire));  // the transaction keeps no thread out
      }
      if (!tx.upgrade(reader)) return kRestart;
      one.value.store(one.value.load() + 1);
      return true;
    });
    other.join();
    CHECK(inside);
    CHECK(one.value.load() == 1);
    return runs;
  };
  Node one, passed;
  CHECK(change_one_while(one, passed) == 1);
  CHECK(me.counters.begins == 1);
  CHECK(me.counters.commits == 1);
  Node same;
  CHECK(change_one_while(same, same) == 2);
  CHECK(me.counters.begins == 3);
  CHECK(me.counters.lock_busy == 1);
  CHECK(me.counters.commits == 2);
  CHECK(me.counters.commits_at_2 == 1);
  CHECK(me.counters.inconsistency() == "");
}

TEST_CASE("With suspend a body that does not upgrade ends its transaction, which is counted as unused") {
  House<P> house("hybrid:3,suspend=1");
  House<P>::ThreadState me(house);
  Twins<P::Layout> twins;
  u32 runs = 0;
  house.policy.write(me, [&](auto& tx) -> Attempt<bool> {
    if (++runs == 1) return kRestart;
    if (!twins.read_in(tx)) return kRestart;
    return true;
  });
  CHECK_FALSE(Emulated::in_transaction());
  CHECK(me.counters.unused == 2);
  CHECK(me.counters.write_restarts == 1);
  CHECK(me.counters.begins == 0);
  CHECK(me.counters.commits == 0);
  CHECK(me.counters.fallbacks == 0);
  CHECK_THROWS_AS(house.policy.write(me, [](auto&) -> Attempt<bool> { return kNoMemory; }), std::bad_alloc);
  CHECK_FALSE(Emulated::in_transaction());
  CHECK(me.counters.unused == 3);
  // This end may abort too. Then the body has not run, whether it failed or not.
  for (const bool fails : {false, true}) {
    const auto injected = Emulated::inject(AbortInjection::script({PlannedAbort{.at = AbortMoment::kCommit}}));
    bool first = true;
    house.policy.write(me, [&](auto&) -> Attempt<bool> {
      if (std::exchange(first, false) && fails) return kRestart;
      return true;
    });
  }
  CHECK(me.counters.unused == 5);
  CHECK(me.counters.begins == 2);
  CHECK(me.counters.zero == 2);
  CHECK(me.counters.inconsistency() == "");
}

/// A block larger than a pool has ready.
struct Large {
  u64 words[32 << 10];
};

TEST_CASE(
    "With suspend blocks are made inside: the pool has most of them ready, and gets room for large ones after an "
    "abort") {
  House<P> house("hybrid:1,suspend=1");
  House<P>::ThreadState me(house);
  CHECK(house.policy.write(me, [](auto& tx) { return Attempt<bool>(tx.template make<Node>() != nullptr); }));
  CHECK(me.counters.arena == 0);
  CHECK(house.policy.write(me, [](auto& tx) { return Attempt<bool>(tx.template make<Large>() != nullptr); }));
  CHECK(me.counters.arena == 1);
  CHECK(me.counters.begins == 1);
  CHECK(me.counters.unused == 2);  // neither used its last try, which has no transaction
}

/// One fiber changes `below`. While its body descends, the other fiber changes `top`, which the first has passed. Only
/// the second changes `top`: two stores to one node would be a conflict that suspending cannot avert.
struct Passing {
  using S = Hybrid<Simulated>;
  struct alignas(kLineBytes) SimulatedNode {
    S::Layout::Latch latch;
    S::Layout::Cell<u64> value{0};
  };

  explicit Passing(std::string_view spec) : house(spec), passer(house), beside(house) {}
  House<S> house;
  House<S>::ThreadState passer, beside;
  SimulatedNode top, below;
  alignas(kLineBytes) Simulated::Atomic<u64> done{0};
  u32 changed = 0;

  void fiber(u32 id) {
    if (id == 0) {
      changed = house.policy.write(passer, [&](auto& tx) -> Attempt<u32> {
        auto reader = tx.enter(&top);
        const u64 version = top.latch.word();
        if (!reader.step_to(&below)) return kRestart;
        u32 looks = 200;
        while (looks != 0 && top.latch.word() == version) --looks;
        if (!tx.upgrade(reader)) return kRestart;
        below.value.store(below.value.load() + 1);
        return looks != 0;
      });
      done.store(1, kRelease);  // pairs with the load below
    } else {
      while (done.load(kAcquire) == 0) {
        house.policy.write(beside, [&](auto& tx) -> Attempt<bool> {
          const auto reader = tx.enter(&top);
          if (!tx.upgrade(reader)) return kRestart;
          top.value.store(top.value.load() + 1);
          return true;
        });
      }
    }
  }
  std::string check() {
    if (passer.counters.conflict != 0) return "a store to a node that was only passed aborted the transaction";
    if (below.value.load() != 1) return "the change was lost, or made twice";
    passed += changed;
    return passer.counters.inconsistency();
  }
  static inline u32 passed = 0;  // schedules in which the second fiber changed `top` during the descent
};

TEST_CASE("With suspend a node that was only passed is not in the read set", "[race]") {
  Passing::passed = 0;
  const RaceReport report =
      find_races<Passing>({.schedules = 200, .fibers = 2}, std::string_view("hybrid:3,suspend=1"));
  INFO(report.str());
  CHECK(report.failures == 0);
  CHECK(Passing::passed > 100);
}

/// A machine whose transactions work and whose loads cannot be suspended.
struct Tracking : Emulated {
  static bool suspends_loads() { return false; }
  static void suspend_loads() { FAIL("this machine cannot suspend loads"); }
};

TEST_CASE("If loads cannot be suspended, the transaction begins at the upgrade, and degraded says so") {
  using Later = Hybrid<Tracking>;
  House<Later> house("hybrid:3,suspend=1");
  House<Later>::ThreadState me(house);
  bool descended_inside = true;
  Twins<Later::Layout> twins;
  house.policy.write(me, [&](auto& tx) {
    descended_inside = Tracking::in_transaction();
    return twins.add_in(tx);
  });
  CHECK_FALSE(descended_inside);
  CHECK(me.counters.commits == 1);
  CHECK_FALSE(Later::degraded(parse("hybrid")));
  CHECK(
      Later::degraded(parse("hybrid:3,suspend=1")).value().find("hybrid begins its transactions after the descent: ") ==
      0);
  CHECK_FALSE(P::degraded(parse("hybrid:3,suspend=1")));
}

TEST_CASE("hybrid makes changes by transactions if the processor has them, and says so if not") {
  using Real = Hybrid<Native>;
  const auto* const spec = GENERATE("hybrid", "hybrid:3,suspend=1");
  House<Real> house(spec);
  House<Real>::ThreadState me(house);
  Twins<Real::Layout> twins;
  constexpr u64 kChanges = 10'000;
  for (u64 i = 0; i < kChanges; ++i) house.policy.write(me, [&](auto& tx) { return twins.add_in(tx); });
  CHECK(twins.now().first == kChanges);
  CHECK(me.counters.inconsistency() == "");
  CHECK(me.counters.commits + me.counters.fallbacks == kChanges);
  if (Native::transactions_work()) {
    CHECK(me.counters.commits > kChanges / 2);
  } else {
    CHECK(me.counters.begins == 0);
    CHECK(Real::degraded(parse(spec)).value().find("hybrid makes all changes under latches: ") == 0);
  }
}

}  // namespace
}  // namespace latchlab
