// Elided locks and hybrid on the race finder: transactions beside fallbacks, which injected aborts cause. No fiber sees
// half an operation and no operation is lost. With a step left out (seeded_bugs.h), that happens.
#include "sync/adaptive.h"
#include "sync/hle.h"
#include "sync/hybrid.h"
#include "sync/race_crew_test.h"
#include "sync/rtm.h"
#include "sync/tiny_testing.h"

namespace latchlab::testing {
namespace {

/// Specs with so many tries that every change is made by transaction; only the version checks keep changes apart.
constexpr std::string_view kNeverLatches = "hybrid:1000000", kSuspended = "hybrid:1000000,suspend=1";

TEST_CASE("Races: an elided lock keeps operations apart", "[race]") {
  check_no_race<WriteAndRead<Rtm<Simulated>>>("rtm:1");
  check_no_race<WriteAndRead<Hle<Simulated>>>("hle:emulated");
  check_no_race<WriteAndRead<Tiny<Adaptive<Simulated>>>>("adaptive");
}

TEST_CASE("Races: the versions that hybrid checks and changes keep operations apart", "[race]") {
  check_no_race<WriteAndRead<Tiny<Hybrid<Simulated>>>>("hybrid:0");
  check_no_race<WriteAndRead<Tiny<Hybrid<Simulated>>>>(kNeverLatches);
  check_no_race<WriteAndRead<Tiny<Hybrid<Simulated>>>>("hybrid:0,suspend=1");
  check_no_race<WriteAndRead<Tiny<Hybrid<Simulated>>>>(kSuspended);
}

TEST_CASE("Seeded bugs: an elided lock without subscription or without fallback lock is found", "[race]") {
  for (bool* const bug : {&BugsOnRequest::kDropSubscription, &BugsOnRequest::kDropFallbackLock}) {
    CAPTURE(bug == &BugsOnRequest::kDropSubscription);
    const Seeded seeded(*bug);
    CHECK(mixes_operations<Rtm<Simulated, BugsOnRequest>>("rtm:1"));
    CHECK(mixes_operations<Hle<Simulated, BugsOnRequest>>("hle:emulated"));
    CHECK(mixes_operations<Tiny<Adaptive<Simulated, BugsOnRequest>>>("adaptive"));
  }
}

TEST_CASE("Seeded bugs: a version that hybrid does not check or does not change is found", "[race]") {
  for (const std::string_view spec : {std::string_view("hybrid:0"), kNeverLatches, kSuspended}) {
    CAPTURE(spec);
    const auto found = [&](bool& bug) {
      const Seeded seeded(bug);
      return mixes_operations<Tiny<Hybrid<Simulated, BugsOnRequest>>>(spec);
    };
    CHECK(found(BugsOnRequest::kDropUpgrade));
    CHECK(found(BugsOnRequest::kDropChange));
    CHECK(found(BugsOnRequest::kDropValidation));  // drops the readers' validation; there is no link
  }
}

}  // namespace
}  // namespace latchlab::testing
