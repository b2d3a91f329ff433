// Tests of every decision that rtm:N takes after an abort, with planned aborts on the emulated machine, and of the use
// of real transactions if the processor has them.
#include "sync/rtm.h"

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "src/base/error.h"
#include "src/machine/emulated.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "sync/policy_testing.h"
#include "sync/seeded_bugs_testing.h"

namespace latchlab {
namespace {

using testing::House;
using testing::kLargeNodesBytes;
using testing::Large;
using testing::make_large_nodes;
using testing::NotingPool;
using testing::NotingThread;
using testing::run_beside_a_held_lock;
using testing::Twins;
using testing::Watched;

RtmOptions parse(std::string_view spec) { return RtmOptions::parse(Spec::parse(spec)); }

TEST_CASE("The defaults of rtm are those of the reproduction") {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  CHECK(parse("rtm").resolved() ==
        Pairs{{"restarts", "20"}, {"wait", "1"}, {"busy_counts", "1"}, {"obey_retry", "0"}, {"respec", "1"}});
  CHECK(parse("rtm:7,respec=0,wait=0,obey_retry=1,busy_counts=0").resolved() ==
        Pairs{{"restarts", "7"}, {"wait", "0"}, {"busy_counts", "0"}, {"obey_retry", "1"}, {"respec", "0"}});
  for (const auto& [key, value] : parse("rtm").resolved()) CHECK_FALSE(RtmOptions::about(key).empty());
}

TEST_CASE("Wrong options of rtm are refused") {
  CHECK_THROWS_AS(parse("rtm:many"), InputError);
  CHECK_THROWS_AS(parse("rtm:-1"), InputError);
  CHECK_THROWS_AS(parse("rtm:1000001"), InputError);
  CHECK_THROWS_AS(parse("rtm:20,wait=2"), InputError);
  CHECK_THROWS_WITH(parse("rtm:20,wiat=1"), Catch::Contains("did you mean 'wait'?"));
  CHECK_THROWS_AS(parse("rtm:20,suspend=1"), InputError);
}

TEST_CASE("The counters of aborts have the names of their classes") {
  RtmCounters counters;
  for (u64 i = 0; i < kWords<AbortCause>.size(); ++i) counters.*RtmCounters::abort_fields()[i] = i + 1;
  u64 found = 0;
  for_each_counter(counters, [&](std::string_view name, u64 value) {
    for (u64 i = 0; i < kWords<AbortCause>.size(); ++i) {
      if (kWords<AbortCause>[i] != name) continue;
      CHECK(value == i + 1);
      ++found;
    }
  });
  CHECK(found == kWords<AbortCause>.size());
  CHECK(counters.aborts() == 45);
}

TEST_CASE("rtm's counters report the sum that does not hold") {
  RtmCounters counters;
  CHECK(counters.inconsistency() == "");
  counters.ops = counters.begins = counters.commits = 3;
  CHECK(counters.inconsistency() == "");
  counters.begins = 4;
  CHECK(counters.inconsistency() == "begins 4 != commits 3 + aborts 0");
  counters.abort(0);
  CHECK(counters.zero == 1);
  CHECK(counters.inconsistency() == "");
  counters.fallbacks = 1;
  CHECK(counters.inconsistency() == "ops 3 != commits 3 + fallbacks 1");
}

// The outcome that the documentation of the options implies for one operation on an uncontended lock. Its transactions
// abort with the given statuses, and the next one is left alone.
struct Decision {
  u64 begins = 0;
  bool commits = false;
};
Decision decide(const RtmOptions& options, const std::vector<u32>& statuses) {
  Decision decision;
  u64 restarts_used = 0;
  for (const u32 status : statuses) {
    ++decision.begins;
    const bool ours = status & kAbortExplicit;
    if (status == explicit_status(kBusyCode) && !options.busy_counts) continue;
    if (options.obey_retry && !ours && !(status & kAbortRetry)) return decision;
    if (restarts_used++ == options.restarts) return decision;
  }
  ++decision.begins;
  decision.commits = true;
  return decision;
}

const std::vector<u32> kStatuses{explicit_status(kBusyCode),
                                 explicit_status(kArenaCode),
                                 explicit_status(0x5a),
                                 explicit_status(0x5a) | kAbortNested,
                                 kAbortNested,
                                 kAbortDebug,
                                 kAbortCapacity,
                                 kAbortConflict,
                                 kAbortConflict | kAbortRetry,
                                 kAbortRetry,
                                 0};
constexpr u32 kAccesses = 5;  // the accesses of a transaction that adds: the lock word, and each of the twins twice

RtmOptions with(u64 restarts, u32 flags) {
  return {.restarts = restarts,
          .wait = (flags & 1) != 0,
          .busy_counts = (flags & 2) != 0,
          .obey_retry = (flags & 4) != 0,
          .respec = (flags & 8) != 0};
}

std::string spec_of(const RtmOptions& options) {
  Spec spec{.name = "rtm", .arg = std::to_string(options.restarts), .options = options.resolved()};
  spec.options.erase(spec.options.begin());
  return spec.str();
}

void check_one_operation(const RtmOptions& options, const std::vector<u32>& statuses, AbortMoment at, u32 access) {
  using P = Rtm<Emulated>;
  House<P> house(spec_of(options));
  House<P>::ThreadState me(house);
  Twins<P::Layout> twins;
  AbortInjection::Script script;
  for (const u32 status : statuses) {
    script.push_back(PlannedAbort{.at = at, .status = status, .access = access});
  }

  u64 before = 7;
  {
    const auto injected = Emulated::inject(AbortInjection::script(script));
    before = house.policy.write(me, [&](auto& tx) { return twins.add_in(tx); });
  }

  const Decision expected = decide(options, statuses);
  RtmCounters wanted;
  wanted.ops = 1;
  wanted.begins = expected.begins;
  if (expected.commits) {
    wanted.commit(expected.begins);
  } else {
    wanted.fallbacks = 1;
  }
  for (u64 i = 0; i < expected.begins - (expected.commits ? 1 : 0); ++i) wanted.abort(statuses[i]);

  wanted.wait_ns = me.counters.wait_ns, wanted.retry_ns = me.counters.retry_ns, wanted.hold_ns = me.counters.hold_ns;
  bool same = true;
  for (const auto& field : RtmCounters::fields()) same &= me.counters.*field.member == wanted.*field.member;
  // The operation took effect once, and whole: traces of an abort would show here.
  same &= before == 0 && twins.now().first == 1 && twins.now().second == 1;
  if (same) return;
  for_each_counter(me.counters, [](auto name, u64 value) { UNSCOPED_INFO(name << " " << value); });
  FAIL(spec_of(options) << ", " << statuses.size() << " aborts, first 0x" << std::hex << statuses[0] << ", moment "
                        << static_cast<int>(at) << ", access " << access << ", expected begins " << expected.begins);
}

TEST_CASE("rtm's budget is exact for every status, moment and combination of options") {
  for (u32 flags = 0; flags < 16; ++flags) {
    for (const u64 restarts : {0, 1, 3}) {
      for (const u32 status : kStatuses) {
        for (u64 aborts = 1; aborts <= restarts + 2; ++aborts) {
          const std::vector<u32> statuses(aborts, status);
          check_one_operation(with(restarts, flags), statuses, AbortMoment::kBegin, 1);
          check_one_operation(with(restarts, flags), statuses, AbortMoment::kCommit, 1);
          for (u32 k = 1; k <= kAccesses; ++k) {
            check_one_operation(with(restarts, flags), statuses, AbortMoment::kAccess, k);
          }
        }
      }
    }
  }
}

TEST_CASE("rtm's budget is exact for mixed statuses") {
  std::mt19937_64 random(test_seed());
  for (int round = 0; round < 3000; ++round) {
    std::vector<u32> statuses(1 + random() % 12);
    for (u32& status : statuses) status = kStatuses[random() % kStatuses.size()];
    const auto at = static_cast<AbortMoment>(random() % 3);
    check_one_operation(with(random() % 8, static_cast<u32>(random() % 16)), statuses, at,
                        1 + static_cast<u32>(random() % kAccesses));
  }
}

TEST_CASE("While the lock is held no transaction commits, and the options decide what happens instead") {
  struct Case {
    const char* spec;
    u64 begins, commits, fallbacks, lock_busy, respeculations;
  };
  const Case cases[] = {
      {"rtm:2,wait=1,busy_counts=1,respec=1", 1, 1, 0, 0, 0},  // waits, then runs
      {"rtm:2,wait=1,busy_counts=1,respec=0", 1, 1, 0, 0, 0},
      {"rtm:2,wait=0,busy_counts=1,respec=1", 4, 1, 0, 3, 1},  // burns its budget, waits, speculates again
      {"rtm:2,wait=0,busy_counts=1,respec=0", 3, 0, 1, 3, 0},  // burns its budget, queues for the lock
      {"rtm:0,wait=0,busy_counts=0,respec=1", 2, 1, 0, 1, 0},  // costs no retry, and waits
      {"rtm:0,wait=0,busy_counts=0,respec=0", 2, 1, 0, 1, 0},
      // An explicit abort carries no advice about retrying.
      {"rtm:2,wait=0,busy_counts=1,respec=0,obey_retry=1", 3, 0, 1, 3, 0},
  };
  for (const Case& expected : cases) {
    CAPTURE(expected.spec);
    const auto seen = run_beside_a_held_lock<Rtm<Watched>>(expected.spec);
    CHECK_FALSE(seen.done_while_held);
    CHECK(seen.of_holder.fallbacks == 1);
    CHECK(seen.of_holder.inconsistency() == "");
    CHECK(seen.counters.begins == expected.begins);
    CHECK(seen.counters.commits == expected.commits);
    CHECK(seen.counters.fallbacks == expected.fallbacks);
    CHECK(seen.counters.lock_busy == expected.lock_busy);
    CHECK(seen.counters.respeculations == expected.respeculations);
    CHECK(seen.counters.inconsistency() == "");
  }
}

TEST_CASE("Seeded: a transaction that does not subscribe commits beside the lock", "[no-tsan]") {
  const testing::Seeded bug(testing::BugsOnRequest::kDropSubscription);
  CHECK(run_beside_a_held_lock<Rtm<Watched, testing::BugsOnRequest>>("rtm:2,wait=0").done_while_held);
}

TEST_CASE("Seeded: a counter updated inside the transaction contradicts the others") {
  const testing::Seeded bug(testing::BugsOnRequest::kCountInside);
  using P = Rtm<Emulated, testing::BugsOnRequest>;
  House<P> house("rtm");
  House<P>::ThreadState me(house);
  const auto add = [](auto&) -> Attempt<int> { return 1; };
  house.policy.write(me, add);
  CHECK(me.counters.inconsistency() == "");
  const auto injected = Emulated::inject(AbortInjection::script({PlannedAbort{.at = AbortMoment::kCommit}}));
  house.policy.write(me, add);
  CHECK(me.counters.inconsistency() != "");
}

TEST_CASE("A pool that runs dry inside a transaction is filled outside, and the operation commits") {
  using P = Rtm<Emulated>;
  House<P> house("rtm:20");
  House<P>::ThreadState me(house);
  for (int i = 0; i < 64; ++i) {
    house.policy.write(me, [](auto& tx) { return make_large_nodes(tx); });
  }
  CHECK(me.counters.commits == 64);
  CHECK(me.counters.fallbacks == 0);
  CHECK(me.counters.arena > 0);
  CHECK(me.counters.arena <= 64 * 3);
  CHECK(me.counters.inconsistency() == "");
  CHECK(house.memory.bytes().live == 64 * kLargeNodesBytes);
}

TEST_CASE("rtm tops the pool up before each try, and by more each time that it has run dry") {
  House<Rtm<Emulated>> house("rtm:20");
  NotingThread<RtmCounters> me{.pool = NotingPool(house.memory), .counters = {}};
  AbortInjection::Script script(2, PlannedAbort{.status = explicit_status(kArenaCode)});
  script.push_back(PlannedAbort{.status = kAbortConflict});
  script.push_back(PlannedAbort{.status = explicit_status(kArenaCode)});
  const auto injected = Emulated::inject(AbortInjection::script(script));
  house.policy.write(me, [](auto&) -> Attempt<int> { return 0; });
  constexpr u64 kStep = Pool<Emulated>::kAttemptBytes;
  CHECK(me.pool.asked == std::vector<u64>{0, kStep, 0, 2 * kStep, 0, 0, 4 * kStep, 0});
  CHECK(me.counters.arena == 3);
  CHECK(me.counters.commits == 1);
}

TEST_CASE("The blocks that an aborted attempt made and retired are forgotten") {
  using P = Rtm<Emulated>;
  House<P> house("rtm:20");
  House<P>::ThreadState me(house);
  Large* kept = nullptr;
  house.policy.write(me, [&](auto& tx) -> Attempt<int> {
    kept = tx.template make<Large>();
    return 0;
  });
  AbortInjection::Script script(5, PlannedAbort{.at = AbortMoment::kCommit, .status = kAbortConflict});
  const auto injected = Emulated::inject(AbortInjection::script(script));
  house.policy.write(me, [&](auto& tx) -> Attempt<int> {
    tx.retire(kept, sizeof(Large));
    if (tx.template make<Large>() == nullptr) return kNoMemory;
    return 0;
  });
  CHECK(me.counters.conflict == 5);
  CHECK(house.memory.bytes().live == sizeof(Large));
}

TEST_CASE("rtm uses transactions if they work, and says why it runs under its lock if not") {
  using P = Rtm<Native>;
  constexpr u64 kOperations = 10000;
  House<P> house("rtm:20");
  House<P>::ThreadState me(house);
  Twins<P::Layout> twins;
  for (u64 i = 0; i < kOperations; ++i) house.policy.write(me, [&](auto& tx) { return twins.add_in(tx); });
  CHECK(twins.now().second == kOperations);
  CHECK(me.counters.ops == kOperations);
  CHECK(me.counters.inconsistency() == "");
  if (P::degraded({})) {
    CHECK(me.counters.begins == 0);
    CHECK(me.counters.fallbacks == kOperations);
    WARN("skipped: " << *P::degraded({}));
    return;
  }
  CHECK(me.counters.commits * 100 >= kOperations * 99);
  CHECK_FALSE(Rtm<Emulated>::degraded({}));
}

}  // namespace
}  // namespace latchlab
