// Every decision that hybrid:N takes after an abort, with aborts planned on the emulated machine, and what its transactions
// leave for readers.
#include "sync/hybrid.h"

#include <vector>

#include "src/base/error.h"
#include "src/machine/emulated.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "sync/policy_testing.h"

namespace latchlab {
namespace {

using testing::House;
using testing::Twins;
using P = Hybrid<Emulated>;

HybridOptions parse(std::string_view spec) { return HybridOptions::parse(Spec::parse(spec)); }

TEST_CASE("The options of hybrid") {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  CHECK(parse("hybrid").resolved() == Pairs{{"restarts", "3"}});
  CHECK(parse("hybrid:0").resolved() == Pairs{{"restarts", "0"}});
  for (const auto& [key, value] : parse("hybrid").resolved()) CHECK_FALSE(HybridOptions::about(key).empty());
  CHECK_THROWS_AS(parse("hybrid:many"), InputError);
  CHECK_THROWS_AS(parse("hybrid:1000001"), InputError);
  CHECK_THROWS_AS(parse("hybrid:3,wait=1"), InputError);
}

const std::vector<u32> kStatuses{explicit_status(kBusyCode), explicit_status(0x5a), kAbortNested, kAbortDebug,
                                 kAbortCapacity, kAbortConflict, kAbortConflict | kAbortRetry, kAbortRetry, 0};
constexpr u32 kAccesses = 7;   // the version, loaded and stored; the first number, loaded and stored; the second, likewise

// Whatever an abort says and wherever it comes, it costs one of the restarts; then the change is made under latches.
void check_one_change(u64 restarts, u64 aborts, u32 status, AbortMoment at, u32 access) {
  House<P> house("hybrid:" + std::to_string(restarts));
  House<P>::Thread me(house);
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
  FAIL("hybrid:" << restarts << ", " << aborts << " aborts of status " << status << ", moment " << static_cast<int>(at)
                 << ", access " << access);
}

TEST_CASE("Every abort of a change costs one restart, and then it is made under latches") {
  for (const u64 restarts : {0, 1, 3}) {
    for (u64 aborts = 0; aborts <= restarts + 2; ++aborts) {
      for (const u32 status : kStatuses) {
        check_one_change(restarts, aborts, status, AbortMoment::kBegin, 1);
        check_one_change(restarts, aborts, status, AbortMoment::kCommit, 1);
        for (u32 k = 1; k < kAccesses; ++k) check_one_change(restarts, aborts, status, AbortMoment::kAccess, k);
      }
    }
  }
}

TEST_CASE("What reads, or finds nothing to change, begins no transaction") {
  House<P> house("hybrid");
  House<P>::Thread me(house);
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

TEST_CASE("A change leaves its versions changed and unlocked, by transaction as under latches") {
  for (const char* spec : {"hybrid:0", "hybrid:3"}) {
    for (const u64 aborts : {0, 4}) {
      House<P> house(spec);
      House<P>::Thread me(house);
      Node one, other, third;
      const u64 version = one.latch.version();
      const auto injected = Emulated::inject(AbortInjection::script(AbortInjection::Script(aborts, PlannedAbort{})));
      house.policy.write(me, [&](auto& tx) -> Attempt<bool> {
        const auto first = tx.enter(&one), second = tx.enter(&other);
        if (!tx.upgrade(first, second, first)) return kRestart;   // a latch that is named twice is changed once
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

TEST_CASE("A change of what is not as it was read aborts or restarts, and nothing is stored") {
  House<P> house("hybrid:3");
  House<P>::Thread me(house);
  Node one, other;
  u32 runs = 0;
  house.policy.write(me, [&](auto& tx) -> Attempt<bool> {
    const auto first = tx.enter(&one), second = tx.enter(&other);
    if (++runs == 1) {   // somebody is faster
      const u64 version = other.latch.version();
      REQUIRE(other.latch.try_lock(version));
      other.latch.unlock(version);
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
  CHECK(one.latch.word() == 256);   // the transaction that aborted has changed it and taken that back
}

TEST_CASE("One latch of two moments is a restart, not a transaction") {
  House<P> house("hybrid:3");
  House<P>::Thread me(house);
  Node one;
  u32 runs = 0;
  house.policy.write(me, [&](auto& tx) -> Attempt<bool> {
    const auto early = tx.enter(&one);
    if (++runs == 1) {
      const u64 version = one.latch.version();
      REQUIRE(one.latch.try_lock(version));
      one.latch.unlock(version);
    }
    const auto late = tx.enter(&one);
    if (!tx.upgrade(early, late)) return kRestart;
    return true;
  });
  CHECK(runs == 2);
  CHECK(me.counters.begins == 1);
  CHECK(me.counters.write_restarts == 1);
}

TEST_CASE("Where the processor has transactions, changes are made by them") {
  using Real = Hybrid<Native>;
  House<Real> house("hybrid");
  House<Real>::Thread me(house);
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
    CHECK(Real::degraded({}).value().find("hybrid latches what it changes: ") == 0);
  }
}

}  // namespace
}  // namespace latchlab
