// Tests of every decision that hle takes. Those that the processor takes under the prefixes are made by transactions on
// the emulated machine, and its answers are simulated.
#include "sync/hle.h"

#include <string_view>
#include <vector>

#include "src/base/error.h"
#include "src/machine/emulated.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "sync/policy_testing.h"

namespace latchlab {
namespace {

using testing::House;
using testing::NotingPool;
using testing::NotingThread;
using testing::run_beside_a_held_lock;
using testing::Twins;
using testing::Watched;

TEST_CASE("hle elides by prefixes unless it is told otherwise") {
  const auto parse = [](std::string_view spec) { return HleOptions::parse(Spec::parse(spec)); };
  CHECK_FALSE(parse("hle").emulated);
  CHECK_FALSE(parse("hle:native").emulated);
  CHECK(parse("hle:emulated").emulated);
  for (const auto& [key, value] : parse("hle").resolved()) CHECK_FALSE(HleOptions::about(key).empty());
  CHECK_THROWS_AS(parse("hle:20"), InputError);
  CHECK_THROWS_AS(parse("hle:emulated,wait=1"), InputError);
}

TEST_CASE("After one abort, whatever its status and moment, hle runs the exchange for real") {
  using P = Hle<Watched>;
  const u32 statuses[] = {explicit_status(kArenaCode), kAbortCapacity, kAbortConflict | kAbortRetry, 0};
  for (const u32 status : statuses) {
    for (const auto at : {AbortMoment::kBegin, AbortMoment::kAccess, AbortMoment::kCommit}) {
      House<P> house("hle:emulated");
      House<P>::ThreadState me(house);
      Twins<P::Layout> twins;
      Watched::exchanges = 0;
      const auto injected =
          Watched::inject(AbortInjection::script({PlannedAbort{.at = at, .status = status, .access = 1}}));
      house.policy.write(me, [&](auto& tx) { return twins.add_in(tx); });
      house.policy.write(me, [&](auto& tx) { return twins.add_in(tx); });
      CHECK(twins.now().second == 2);
      CHECK(me.counters.begins == 2);
      CHECK(me.counters.fallbacks == 1);
      CHECK(me.counters.commits == 1);
      CHECK(me.counters.respeculations == 0);
      CHECK(me.counters.prefix_elided == 0);
      CHECK(me.counters.inconsistency() == "");
      CHECK(Watched::exchanges == 1);
    }
  }
}

TEST_CASE("hle runs the exchange after an abort even if the lock is held, and then waits") {
  const auto seen = run_beside_a_held_lock<Hle<Watched>>("hle:emulated");
  CHECK_FALSE(seen.done_while_held);
  CHECK(seen.of_holder.fallbacks == 1);
  CHECK(seen.counters.begins == 2);
  CHECK(seen.counters.lock_busy == 1);
  CHECK(seen.counters.respeculations == 1);
  CHECK(seen.counters.commits == 1);
  CHECK(seen.counters.fallbacks == 0);
  CHECK(seen.counters.inconsistency() == "");
  CHECK(Watched::exchanges == 2);  // the holder's and the failed one, which aborts all elided operations
}

TEST_CASE("hle tops the pool up before each try") {
  for (const char* spec : {"hle:emulated", "hle"}) {
    House<Hle<Emulated>> house(spec);
    NotingThread<HleCounters> me{.pool = NotingPool(house.memory), .counters = {}};
    house.policy.write(me, [](auto&) -> Attempt<int> { return 0; });
    CHECK(me.pool.asked == std::vector<u64>{0});
  }
}

// A machine whose processor elides by the prefixes, or has aborted and run the exchange for real.
struct Heeding : Native {
  static inline bool elided = true;
  static bool prefixes_elide() { return true; }
  static bool in_elision() { return elided; }
};

TEST_CASE("Under the prefixes hle counts only whether an operation was elided") {
  using P = Hle<Heeding>;
  CHECK_FALSE(P::degraded({}));
  House<P> house("hle");
  House<P>::ThreadState me(house);
  Twins<P::Layout> twins;
  for (const bool elided : {true, true, false}) {
    Heeding::elided = elided;
    house.policy.write(me, [&](auto& tx) { return twins.add_in(tx); });
  }
  CHECK(twins.now().second == 3);
  CHECK(me.counters.ops == 3);
  CHECK(me.counters.prefix_elided == 2);
  CHECK(me.counters.elided() == 2);
  CHECK(me.counters.fallbacks == 1);
  CHECK(me.counters.begins == 0);
  CHECK(me.counters.inconsistency() == "");
  me.counters.prefix_elided = 1;
  CHECK(me.counters.inconsistency() == "ops 3 != commits + prefix_elided 1 + fallbacks 1");
}

}  // namespace
}  // namespace latchlab
