#pragma once
// Policies on the race finder: a crew of fibers under one policy, an operation that can be torn, and checks. They say
// that a race is found, or that none is.
#include <deque>
#include <string>
#include <string_view>

#include "src/arch/sanitizer.h"
#include "src/machine/race_finder.h"
#include "src/testing/catch.h"
#include "sync/policy_testing.h"
#include "sync/seeded_bugs_testing.h"

namespace latchlab::testing {

inline constexpr u32 kFibers = 4;
inline constexpr u32 kTurns = 3;
/// The options of a search for a failure, which ends at the first. A fifth of the transactions aborts by injection, so
/// that fallbacks run beside transactions. A lock that is not elided has no transactions.
inline const RaceOptions kSearch{.schedules = 10'000, .fibers = kFibers, .abort_rate = 0.2};
/// The options of a race without a failure, which runs all its schedules. Under a sanitizer each of them is slow.
inline const RaceOptions kProof{
    .schedules = kSanitized ? 500 : kSearch.schedules, .fibers = kFibers, .abort_rate = kSearch.abort_rate};

/// A policy with a thread for each fiber.
template <class P>
struct Crew {
  static constexpr std::string_view kPolicy = P::kName;

  explicit Crew(std::string_view spec = P::kName) : house(spec) {
    for (u32 i = 0; i < kFibers; ++i) threads.emplace_back(house);
  }
  House<P> house;
  std::deque<typename House<P>::ThreadState> threads;
};

inline constexpr std::string_view kHalf = "a reader saw half an operation", kLost = "an operation was lost";

template <class P>
struct WriteAndRead : Crew<P> {
  using Crew<P>::Crew;
  Twins<typename P::Layout> twins;

  void fiber(u32 id) {
    auto& me = this->threads[id];
    for (u32 turn = 0; turn < kTurns; ++turn) {
      this->house.policy.write(me, [&](auto& tx) { return twins.add_in(tx); });
      const auto both = this->house.policy.read(me, [&](auto& tx) { return twins.read_in(tx); });
      expect(both.first == both.second, kHalf);
    }
  }
  std::string check() {
    const bool all = twins.now().first == kFibers * kTurns && twins.now().second == kFibers * kTurns;
    return std::string(all ? "" : kLost);
  }
};

/// Returns true if a failure is found whose message begins with `message`. `spec` may be the policy with its options.
template <class Scenario, class... Spec>
bool fails_with(std::string_view message, const Spec&... spec) {
  return find_races<Scenario>(kSearch, spec...).message.starts_with(message);
}

/// Returns true if two operations are found that the policy did not keep apart.
template <class P>
bool mixes_operations(std::string_view spec) {
  const std::string message = find_races<WriteAndRead<P>>(kSearch, spec).message;
  return message.starts_with(kHalf) || message.starts_with(kLost);
}

template <class Scenario, class... Spec>
void check_no_race(const Spec&... spec) {
  const RaceReport report = find_races<Scenario>(kProof, spec...);
  INFO(Scenario::kPolicy << ": " << report.str());
  CHECK(report.failures == 0);
}

}  // namespace latchlab::testing
