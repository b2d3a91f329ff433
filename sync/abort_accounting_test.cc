// Tests that the costs of aborts are counted and timed after them, by a clock that advances by one at each reading.
#include <vector>

#include "src/machine/emulated.h"
#include "src/testing/catch.h"
#include "sync/adaptive.h"
#include "sync/hle.h"
#include "sync/policy_testing.h"
#include "sync/rtm.h"

namespace latchlab {
namespace {

using testing::House;

struct Ticking : Emulated {
  static inline u64 reads = 0;
  static u64 now() { return ++reads; }
};

/// Returns the counters of one operation whose transactions abort with these statuses and then commit.
template <class P>
typename P::Counters after(std::string_view spec, const std::vector<u32>& statuses) {
  House<P> house(spec);
  typename House<P>::ThreadState me(house);
  AbortInjection::Script script;
  for (const u32 status : statuses) script.push_back(PlannedAbort{.at = AbortMoment::kCommit, .status = status});
  const auto injected = Emulated::inject(AbortInjection::script(script));
  house.policy.write(me, [](auto&) -> Attempt<int> { return 0; });
  CHECK(me.counters.inconsistency() == "");
  return me.counters;
}

TEST_CASE("An operation that commits at once reads no clock") {
  Ticking::reads = 0;
  const RtmCounters rtm = after<Rtm<Ticking>>("rtm:20", {});
  const HleCounters hle = after<Hle<Ticking>>("hle:emulated", {});
  CHECK(Ticking::reads == 0);
  for (const RtmCounters* seen : {&rtm, static_cast<const RtmCounters*>(&hle)}) {
    CHECK(seen->commits == 1);
    CHECK(seen->commits_at_2 == 0);
    CHECK(seen->retry_ns + seen->hold_ns + seen->wait_ns == 0);
  }
}

TEST_CASE("Commits are counted by the number of their try") {
  const auto at = [](std::size_t aborts) {
    return after<Rtm<Ticking>>("rtm:20", std::vector<u32>(aborts, kAbortConflict));
  };
  CHECK(at(1).commits_at_2 == 1);
  CHECK(at(2).commits_at_3 == 1);
  CHECK(at(3).commits_at_4_to_7 == 1);
  CHECK(at(6).commits_at_4_to_7 == 1);
  CHECK(at(7).commits_at_8_to_15 == 1);
  CHECK(at(14).commits_at_8_to_15 == 1);
  CHECK(at(15).commits_at_16_on == 1);
  CHECK(at(20).commits_at_16_on == 1);
  CHECK(at(21).commits == 0);
}

TEST_CASE("retry_ns is the time from the first abort to the commit") {
  const RtmCounters rtm = after<Rtm<Ticking>>("rtm:20", {kAbortConflict, kAbortConflict});
  CHECK(rtm.retry_ns == 1);
  CHECK(rtm.hold_ns == 0);
}

TEST_CASE("hold_ns is the time with the lock") {
  const RtmCounters rtm = after<Rtm<Ticking>>("rtm:0", {kAbortConflict});
  CHECK(rtm.fallbacks == 1);
  CHECK(rtm.retry_ns == 1);
  CHECK(rtm.hold_ns == 1);
  const HleCounters hle = after<Hle<Ticking>>("hle:emulated", {kAbortConflict});
  CHECK(hle.fallbacks == 1);
  CHECK(hle.retry_ns == 1);
  CHECK(hle.hold_ns == 1);
  const AdaptiveCounters adaptive = after<Adaptive<Ticking>>("adaptive", {kAbortCapacity, kAbortCapacity});
  CHECK(adaptive.fallbacks == 1);
  CHECK(adaptive.hold_ns == 1);
}

TEST_CASE("Aborts are counted by cause and by status, and a difference of the sums is reported") {
  const RtmCounters rtm = after<Rtm<Ticking>>("rtm:20", {kAbortConflict, kAbortConflict | kAbortRetry, 0});
  CHECK(rtm.histogram[kAbortConflict] == 1);
  CHECK(rtm.histogram[kAbortConflict | kAbortRetry] == 1);
  CHECK(rtm.histogram[0] == 1);
  TransactionCounters counters;
  counters.begins = 1;
  ++counters.conflict;
  CHECK(counters.inconsistency() == "aborts by cause 1 != aborts by status 0");
}

TEST_CASE("More commits after the first try than commits are reported") {
  TransactionCounters counters;
  counters.begins = 3;
  counters.abort(kAbortConflict);
  counters.abort(kAbortConflict);
  counters.commit(3);
  CHECK(counters.inconsistency() == "");
  ++counters.commits_at_2;
  CHECK(counters.inconsistency() == "commits after the first try 2 exceed commits 1 or aborts 2");
}

}  // namespace
}  // namespace latchlab
