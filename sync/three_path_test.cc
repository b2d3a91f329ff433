// Tests of which of its paths three-path takes, on the emulated machine, and its races.
#include "sync/three_path.h"

#include <new>
#include <string_view>

#include "src/base/error.h"
#include "sync/race_crew_test.h"
#include "sync/tiny_testing.h"

namespace latchlab::testing {
namespace {

using P = ThreePath<Emulated>;

TEST_CASE("three-path parses its options and refuses others") {
  const auto parse = [](std::string_view spec) { return ThreePathOptions::parse(Spec::parse(spec)); };
  CHECK(parse("three-path").restarts == 10);
  CHECK(parse("three-path:0,middle=3").restarts == 0);
  CHECK(parse("three-path:0,middle=3").middle == 3);
  for (const auto& [key, value] : parse("three-path").resolved()) CHECK_FALSE(ThreePathOptions::about(key).empty());
  for (const char* wrong : {"three-path:x", "three-path:1,slow=2", "three-path:1000001"})
    CHECK_THROWS_AS(parse(wrong), InputError);
}

TEST_CASE("three-path goes from path to path as tries abort") {
  House<P> house("three-path:1,middle=2");
  Twins<P::Layout> twins;
  for (const u32 aborts : {0u, 1u, 2u, 4u, 5u}) {
    House<P>::ThreadState me(house);
    const AbortInjection::Script conflicts(aborts, PlannedAbort{.status = kAbortConflict});
    const auto injected = Emulated::inject(AbortInjection::script(conflicts));
    house.policy.write(me, [&](auto& tx) { return twins.add_in(tx); });
    INFO(aborts << " aborts");
    CHECK(me.counters.ops == 1);
    CHECK(me.counters.fallbacks == (aborts == 5));
    CHECK(me.counters.commits == (aborts < 5));
    CHECK(me.counters.middle_commits == (aborts >= 2 && aborts < 5));
    CHECK(me.counters.conflict == aborts);
    CHECK(me.counters.inconsistency() == "");
  }
  CHECK(twins.now().first == 5);
  CHECK(twins.now().second == 5);
}

TEST_CASE("three-path: while an operation is on the slow path, others take the middle one") {
  House<P> house("three-path:0,middle=0");
  Twins<P::Layout> one, another;
  House<P>::ThreadState slow(house), me(house);
  // The slow operation reads; what the other one changes meanwhile is another node.
  house.policy.read(slow, [&](auto& tx) {
    if (Emulated::in_transaction()) Emulated::abort<1>();
    house.policy.write(me, [&](auto& other) { return another.add_in(other); });
    return one.read_in(tx);
  });
  CHECK(slow.counters.fallbacks == 1);
  CHECK(me.counters.commits == 1);
  CHECK(me.counters.middle_commits == 1);
  CHECK(me.counters.begins == 1);  // the fast path was not tried
  house.policy.write(me, [&](auto& tx) { return another.add_in(tx); });
  CHECK(me.counters.middle_commits == 1);  // and then it is open again
}

TEST_CASE("three-path: a middle transaction makes a slow reader restart") {
  House<P> house("three-path:0,middle=0");
  Twins<P::Layout> twins;
  House<P>::ThreadState slow(house), me(house);
  u32 runs = 0;
  const auto both = house.policy.read(slow, [&](auto& tx) {
    if (Emulated::in_transaction()) Emulated::abort<1>();
    return twins.read_in(tx, [&] {
      if (runs++ == 0) house.policy.write(me, [&](auto& other) { return twins.add_in(other); });
    });
  });
  CHECK(me.counters.middle_commits == 1);
  CHECK(slow.counters.read_restarts == 1);
  CHECK(both.first == 1);
  CHECK(both.second == 1);
}

TEST_CASE("three-path: a middle transaction aborts at a word beside which a value is being changed") {
  House<P> house("three-path:0,middle=0");
  AnyWordNode<P::Layout> node;
  House<P>::ThreadState slow(house), me(house);
  bool changed = true;
  house.policy.write(slow, [&](auto& tx) -> Attempt<bool> {
    if (Emulated::in_transaction()) Emulated::abort<1>();
    auto at = tx.enter(&node);
    if (!tx.upgrade_value(at)) return kRestart;
    changed = house.policy.write(me, [&](auto& other) -> Attempt<bool> {
      if (!Emulated::in_transaction()) return false;  // the slow path would wait for the word
      auto there = other.enter(&node);
      return other.upgrade_value(there);
    });
    return true;
  });
  CHECK_FALSE(changed);
  CHECK(me.counters.lock_busy == 1);
}

TEST_CASE("three-path: tries that run out of memory count as aborts, and the slow path throws") {
  House<P> house("three-path:1,middle=1");
  House<P>::ThreadState me(house);
  CHECK_THROWS_AS(house.policy.write(me, [](auto&) -> Attempt<int> { return kNoMemory; }), std::bad_alloc);
  CHECK(me.counters.begins == 4);
  CHECK(me.counters.arena == 4);
  CHECK(me.counters.fallbacks == 1);
  CHECK(me.counters.inconsistency() == "");
}

TEST_CASE("Races: the three paths keep operations apart", "[race]") {
  check_no_race<WriteAndRead<Tiny<ThreePath<Simulated>>>>("three-path:0,middle=0");
  check_no_race<WriteAndRead<Tiny<ThreePath<Simulated>>>>("three-path:1,middle=1");
}

TEST_CASE("Seeded bugs: paths that do not see each other are found", "[race]") {
  using Broken = Tiny<ThreePath<Simulated, BugsOnRequest>>;
  for (bool* const bug : {&BugsOnRequest::kDropSubscription, &BugsOnRequest::kDropSlowCount,
                          &BugsOnRequest::kPassLatches, &BugsOnRequest::kDropChange}) {
    const Seeded seeded(*bug);
    CHECK(mixes_operations<Broken>("three-path:0,middle=0"));
  }
}

}  // namespace
}  // namespace latchlab::testing
