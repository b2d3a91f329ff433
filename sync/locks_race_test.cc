// The global locks on the race finder: nobody sees half an operation, readers are inside together, and whoever waits
// under `ticket` or `mcs` is served in order of arrival.
#include <array>
#include <deque>

#include "src/arch/sanitizer.h"
#include "src/machine/race_finder.h"
#include "src/testing/catch.h"
#include "sync/mcs.h"
#include "sync/mutex.h"
#include "sync/policy_testing.h"
#include "sync/rwspin.h"
#include "sync/shared_mutex.h"
#include "sync/spin.h"
#include "sync/ticket.h"

namespace latchlab::testing {
namespace {

constexpr u32 kFibers = 4;
constexpr u32 kTurns = 3;
const RaceOptions kOptions{.schedules = kSanitized ? 500 : 10'000, .fibers = kFibers};

/// A policy with a thread for each fiber.
template <class P>
struct Crew {
  static constexpr std::string_view kPolicy = P::kName;

  Crew() {
    for (u32 i = 0; i < kFibers; ++i) threads.emplace_back(house);
  }
  House<P> house{P::kName};
  std::deque<typename House<P>::Thread> threads;
};

template <class P>
struct WriteAndRead : Crew<P> {
  Twins<typename P::Layout> twins;

  void fiber(u32 id) {
    auto& me = this->threads[id];
    for (u32 turn = 0; turn < kTurns; ++turn) {
      this->house.policy.write(me, [&](auto& tx) { return twins.add_in(tx); });
      const auto both = this->house.policy.read(me, [&](auto& tx) { return twins.read_in(tx); });
      expect(both.first == both.second, "a reader saw half an operation");
    }
  }
  std::string check() {
    const bool all = twins.now().first == kFibers * kTurns && twins.now().second == kFibers * kTurns;
    return all ? "" : "an operation was lost";
  }
};

/// Whether a failure is found whose message begins so.
template <class Scenario>
bool fails_with(std::string_view message) {
  return find_races<Scenario>(kOptions).message.starts_with(message);
}

template <class Scenario>
void check_no_race() {
  const RaceReport report = find_races<Scenario>(kOptions);
  INFO(Scenario::kPolicy << ": " << report.str());
  CHECK(report.failures == 0);
}

TEST_CASE("Races: every global lock keeps operations apart", "[race]") {
  check_no_race<WriteAndRead<Spin<Simulated>>>();
  check_no_race<WriteAndRead<RwSpin<Simulated>>>();
  check_no_race<WriteAndRead<Mutex<Simulated>>>();
  check_no_race<WriteAndRead<SharedMutex<Simulated>>>();
  check_no_race<WriteAndRead<Ticket<Simulated>>>();
  check_no_race<WriteAndRead<Mcs<Simulated>>>();
}

/// Each stays inside until all have come: a deadlock unless readers share.
template <class P>
struct ReadTogether : Crew<P> {
  Simulated::Atomic<u32> inside{0};

  void fiber(u32 id) {
    this->house.policy.read(this->threads[id], [&](auto&) -> Attempt<int> {
      inside.fetch_add(1, kRelaxed);
      Simulated::wait_until(inside, [](u32 now) { return now == kFibers; });
      return 0;
    });
  }
  std::string check() { return ""; }
};

TEST_CASE("Races: readers are inside together where a lock lets them share", "[race]") {
  check_no_race<ReadTogether<RwSpin<Simulated>>>();
  check_no_race<ReadTogether<SharedMutex<Simulated>>>();
  CHECK(fails_with<ReadTogether<Mutex<Simulated>>>("deadlock"));
}

/// The simulated machine, but who waits, and on which word, is noted: as bits and by the numbers of the fibers.
struct Noting : Simulated {
  static inline u64 called = 0;    // ask for the lock and have not had it
  static inline u64 waiting = 0;   // those of them that have been seen to wait
  static inline std::array<const void*, kFibers> word{};
  static inline bool word_is_shared = false;

  template <class A, class Done>
  static auto wait_until(const A& atomic, Done&& done) {
    return Simulated::wait_until(atomic, [&](auto value) {
      const u32 me = World::get().fiber();
      const bool over = done(value);
      if (!over) waiting |= u64{1} << me & called;
      word[me] = nullptr;
      for (const void* const other : word) word_is_shared |= !over && other == &atomic;
      if (!over) word[me] = &atomic;
      return over;
    });
  }
};

/// Whoever was waiting when somebody came must have been inside before that one is.
template <template <class> class Policy, bool kOwnWord>
struct InOrder : Crew<Policy<Noting>> {
  std::array<u64, kFibers> ahead{};

  InOrder() {
    Noting::called = Noting::waiting = 0;
    Noting::word = {};
    Noting::word_is_shared = false;
  }
  void fiber(u32 id) {
    const u64 mine = u64{1} << id;
    for (u32 turn = 0; turn < kTurns; ++turn) {
      ahead[id] = Noting::waiting;
      Noting::called |= mine;
      this->house.policy.write(this->threads[id], [&](auto&) -> Attempt<int> {
        expect(ahead[id] == 0, "one was served before another who had been waiting when it came");
        Noting::called &= ~mine;
        Noting::waiting &= ~mine;
        for (u64& others : ahead) others &= ~mine;
        return 0;
      });
    }
  }
  std::string check() { return kOwnWord && Noting::word_is_shared ? "two waited on the same word" : ""; }
};

TEST_CASE("Races: ticket and mcs serve in order of arrival, and spin does not", "[race]") {
  check_no_race<InOrder<Ticket, false>>();
  check_no_race<InOrder<Mcs, false>>();
  CHECK(fails_with<InOrder<Spin, false>>("one was served before another who had been waiting when it came"));
}

TEST_CASE("Races: under mcs each waits on a word of its own, under ticket all on the same", "[race]") {
  check_no_race<InOrder<Mcs, true>>();
  CHECK(fails_with<InOrder<Ticket, true>>("two waited on the same word"));
}

}  // namespace
}  // namespace latchlab::testing
