// Tests of every decision that adaptive takes after an abort, with planned aborts on the emulated machine.
#include "sync/adaptive.h"

#include <random>
#include <vector>

#include "src/machine/emulated.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "sync/policy_testing.h"

namespace latchlab {
namespace {

using testing::House;
using testing::kLargeNodesBytes;
using testing::make_large_nodes;
using testing::run_beside_a_held_lock;
using testing::Twins;
using testing::Watched;

using P = Adaptive<Emulated>;
constexpr u32 kBudget = kBudgets.back();  // the budget of a thread that has learned nothing yet

const std::vector<u32> kStatuses{explicit_status(kBusyCode),
                                 explicit_status(kArenaCode),
                                 explicit_status(0x5a),
                                 kAbortNested,
                                 kAbortDebug,
                                 kAbortCapacity,
                                 kAbortConflict,
                                 kAbortConflict | kAbortRetry,
                                 kAbortRetry,
                                 0};

/// Returns the counters that adaptive.h's description implies for one operation on an uncontended lock. Its
/// transactions abort with the given statuses, and the next one is left alone.
AdaptiveCounters decide(const std::vector<u32>& statuses) {
  AdaptiveCounters c;
  c.ops = 1;
  u64 dry = 0, zero = 0, too_large = 0, conflicts = 0, costly = 0;
  bool scouted = false;
  for (const u32 status : statuses) {
    ++c.begins;
    c.abort(status);
    scouted = false;
    bool gives_up = false;
    switch (classify(status)) {
      case AbortCause::kLockBusy: break;
      case AbortCause::kArena: gives_up = ++dry == 9; break;
      case AbortCause::kZero:
        gives_up = ++zero == 3;
        if (!gives_up) ++c.scouts;
        scouted = true;
        break;
      case AbortCause::kCapacity: gives_up = ++too_large == 2; break;
      case AbortCause::kConflict: c.queued += ++conflicts == 3; [[fallthrough]];
      default: gives_up = costly++ == kBudget;
    }
    if (!gives_up) continue;
    c.fallbacks = 1;
    return c;
  }
  ++c.begins;
  c.commit(c.begins);
  c.scout_repaired = scouted;
  return c;
}

void check_one_operation(const std::vector<u32>& statuses, AbortMoment at, u32 access) {
  House<P> house("adaptive");
  House<P>::ThreadState me(house);
  Twins<P::Layout> twins;
  AbortInjection::Script script;
  for (const u32 status : statuses) script.push_back(PlannedAbort{.at = at, .status = status, .access = access});
  u64 before = 7;
  {
    const auto injected = Emulated::inject(AbortInjection::script(script));
    before = house.policy.write(me, [&](auto& tx) { return twins.add_in(tx); });
  }
  AdaptiveCounters wanted = decide(statuses);
  wanted.wait_ns = me.counters.wait_ns, wanted.retry_ns = me.counters.retry_ns, wanted.hold_ns = me.counters.hold_ns;
  bool same = true;
  for (const auto& field : AdaptiveCounters::fields()) same &= me.counters.*field.member == wanted.*field.member;
  // The operation took effect once, and whole: traces of an abort or a scout would show here.
  same &= before == 0 && twins.now().first == 1 && twins.now().second == 1;
  same &= me.counters.inconsistency().empty();
  if (same) return;
  for (const auto& field : AdaptiveCounters::fields()) {
    UNSCOPED_INFO(field.name << " " << me.counters.*field.member << ", wanted " << wanted.*field.member);
  }
  FAIL(statuses.size() << " aborts, first 0x" << std::hex << statuses[0] << ", moment " << static_cast<int>(at)
                       << ", access " << access);
}

TEST_CASE("adaptive responds to each status as documented, and exactly as often") {
  for (const u32 status : kStatuses) {
    for (u32 aborts = 1; aborts <= kBudget + 2; ++aborts) {
      const std::vector<u32> statuses(aborts, status);
      check_one_operation(statuses, AbortMoment::kBegin, 1);
      check_one_operation(statuses, AbortMoment::kCommit, 1);
      for (u32 access = 1; access <= 5; ++access) check_one_operation(statuses, AbortMoment::kAccess, access);
    }
  }
}

TEST_CASE("adaptive counts the causes of mixed statuses separately") {
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 3000; ++round) {
    std::vector<u32> statuses(1 + random() % 40);
    for (u32& status : statuses) status = kStatuses[random() % kStatuses.size()];
    check_one_operation(statuses, static_cast<AbortMoment>(random() % 3), 1 + static_cast<u32>(random() % 5));
  }
}

TEST_CASE("A scout runs the body outside transactions and leaves nothing behind") {
  struct Block {
    u64 words[8];
  };
  House<P> house("adaptive");
  House<P>::ThreadState me(house);
  u32 inside = 0, outside = 0;
  std::vector<void*> made;
  {
    const auto injected =
        Emulated::inject(AbortInjection::script({PlannedAbort{.at = AbortMoment::kBegin, .status = 0}}));
    house.policy.write(me, [&](auto& tx) -> Attempt<int> {
      ++(Emulated::in_transaction() ? inside : outside);
      made.push_back(tx.template make<Block>());
      if (!tx.upgrade()) return kRestart;
      return 0;
    });
  }
  CHECK(outside == 1);
  CHECK(inside == 1);
  REQUIRE(made.size() == 2);
  CHECK(made[0] == made[1]);  // the operation gets the block whose page the scout has touched
  CHECK(house.memory.bytes().live == sizeof(Block));
  CHECK(me.counters.scout_repaired == 1);
}

TEST_CASE("A retired block waits for scouts") {
  struct Block {
    u64 words[8];
  };
  House<P> house("adaptive");
  House<P>::ThreadState me(house);
  House<P>::ThreadState other(house);
  void* block = nullptr;
  house.policy.write(me, [&](auto& tx) -> Attempt<int> {
    block = tx.template make<Block>();
    return 0;
  });
  other.reclaim.enter();  // as a scout does
  house.policy.write(me, [&](auto& tx) -> Attempt<int> {
    tx.retire(block, sizeof(Block));
    return 0;
  });
  CHECK(house.reclaimer.counters().pending == 1);
  other.reclaim.leave();
}

TEST_CASE("An operation enters the queue at its third conflict") {
  using OnWatched = Adaptive<Watched>;
  for (const u32 conflicts : {2, 3}) {
    CAPTURE(conflicts);
    House<OnWatched> house("adaptive");
    House<OnWatched>::ThreadState me(house);
    Watched::exchanges = 0;
    const auto injected = Emulated::inject(AbortInjection::script(
        AbortInjection::Script(conflicts, PlannedAbort{.at = AbortMoment::kCommit, .status = kAbortConflict})));
    house.policy.write(me, [](auto&) -> Attempt<int> { return 0; });
    CHECK(me.counters.commits == 1);
    CHECK(Watched::exchanges == (conflicts == 3));  // one exchange of the queue's tail; the lock is not taken
  }
}

TEST_CASE("A thread that idles after a scout holds up no retired block") {
  struct Block {
    u64 words[8];
  };
  House<P> house("adaptive", {.reclaim = Reclaim::kQsbr});
  House<P>::ThreadState scout(house);
  House<P>::ThreadState other(house);
  {
    const auto injected =
        Emulated::inject(AbortInjection::script({PlannedAbort{.at = AbortMoment::kBegin, .status = 0}}));
    house.policy.write(scout, [](auto&) -> Attempt<int> { return 0; });
  }
  REQUIRE(scout.counters.scouts == 1);
  void* block = nullptr;
  for (int i = 0; i < 10'000; ++i) {
    house.policy.write(other, [&](auto& tx) -> Attempt<int> {
      if (block != nullptr) tx.retire(block, sizeof(Block));
      block = tx.template make<Block>();
      return 0;
    });
    other.reclaim.idle();
  }
  CHECK(house.reclaimer.counters().freed > 0);
}

TEST_CASE("A thread whose operations exceed the capacity skips speculation for a while") {
  House<P> house("adaptive");
  House<P>::ThreadState me(house);
  const auto add = [](auto&) -> Attempt<int> { return 0; };
  for (int i = 0; i < 4; ++i) {
    const auto injected = Emulated::inject(AbortInjection::script(
        AbortInjection::Script(2, PlannedAbort{.at = AbortMoment::kCommit, .status = kAbortCapacity})));
    CHECK(me.counters.skips == 0);
    house.policy.write(me, add);
  }
  CHECK(me.counters.fallbacks == 4);
  const u64 begins = me.counters.begins;
  for (int i = 0; i < 50; ++i) house.policy.write(me, add);
  CHECK(me.counters.skips == 50);
  CHECK(me.counters.direct_lock == 50);
  CHECK(me.counters.begins == begins);
  for (int i = 0; i < 50; ++i) house.policy.write(me, add);
  CHECK(me.counters.skips == 64);
  CHECK(me.counters.commits > 0);
  CHECK(me.counters.inconsistency() == "");
}

TEST_CASE("Enough operations that fit keep a thread from skipping speculation") {
  House<P> house("adaptive");
  House<P>::ThreadState me(house);
  const auto add = [](auto&) -> Attempt<int> { return 0; };
  for (int i = 0; i < 10; ++i) {
    {
      const auto injected = Emulated::inject(AbortInjection::script(
          AbortInjection::Script(2, PlannedAbort{.at = AbortMoment::kCommit, .status = kAbortCapacity})));
      house.policy.write(me, add);
    }
    for (int fits = 0; fits < 64; ++fits) house.policy.write(me, add);
  }
  CHECK(me.counters.fallbacks == 10);
  CHECK(me.counters.skips == 0);
}

TEST_CASE("A pool that runs dry inside adaptive's transaction is filled outside, and the operation commits") {
  House<P> house("adaptive");
  House<P>::ThreadState me(house);
  for (int i = 0; i < 32; ++i) {
    house.policy.write(me, [](auto& tx) { return make_large_nodes(tx); });
  }
  CHECK(me.counters.commits == 32);
  CHECK(me.counters.arena > 0);
  CHECK(house.memory.bytes().live == 32 * kLargeNodesBytes);
}

TEST_CASE("The budget 0, which takes the lock without speculation, is tried too") {
  House<P> house("adaptive");
  House<P>::ThreadState me(house);
  for (int i = 0; i < 20'000; ++i) house.policy.read(me, [](auto&) -> Attempt<int> { return 0; });
  CHECK(me.counters.direct_lock >= 64);
  CHECK(me.counters.commits > 0);
  CHECK(me.counters.skips == 0);
  CHECK(me.counters.ops == 20'000);
  CHECK(me.counters.inconsistency() == "");
}

TEST_CASE("Beside a held lock adaptive waits and then runs") {
  const auto seen = run_beside_a_held_lock<Adaptive<Watched>>("adaptive");
  CHECK_FALSE(seen.done_while_held);
  CHECK(seen.of_holder.fallbacks == 1);
  CHECK(seen.counters.begins == 1);
  CHECK(seen.counters.commits == 1);
  CHECK(seen.counters.lock_busy == 0);
  CHECK(seen.counters.wait_ns > 0);
}

TEST_CASE("Adaptive says why it runs under its lock") {
  const auto why = Adaptive<Native>::degraded({});
  CHECK(why.has_value() == !Native::transactions_work());
  if (why) CHECK_THAT(*why, Catch::StartsWith("adaptive runs under its lock: "));
}

}  // namespace
}  // namespace latchlab
