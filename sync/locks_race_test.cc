// The global locks on the race finder: no fiber sees half an operation, readers of shared locks are inside together,
// and `ticket` and `mcs` serve in order of arrival.
#include <array>

#include "sync/hle.h"
#include "sync/mcs.h"
#include "sync/mutex.h"
#include "sync/race_crew_test.h"
#include "sync/rwspin.h"
#include "sync/shared_mutex.h"
#include "sync/spin.h"
#include "sync/ticket.h"

namespace latchlab::testing {
namespace {

TEST_CASE("Races: every global lock keeps operations apart", "[race]") {
  check_no_race<WriteAndRead<Spin<Simulated>>>();
  check_no_race<WriteAndRead<RwSpin<Simulated>>>();
  check_no_race<WriteAndRead<Mutex<Simulated>>>();
  check_no_race<WriteAndRead<SharedMutex<Simulated>>>();
  check_no_race<WriteAndRead<Ticket<Simulated>>>();
  check_no_race<WriteAndRead<Mcs<Simulated>>>();
  check_no_race<WriteAndRead<Hle<Simulated>>>("hle");  // with prefixes that this machine ignores
}

/// Readers that stay inside until all have come: a deadlock unless the lock lets readers share it.
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

TEST_CASE("Races: readers of a shared lock are inside together", "[race]") {
  check_no_race<ReadTogether<RwSpin<Simulated>>>();
  check_no_race<ReadTogether<SharedMutex<Simulated>>>();
  CHECK(fails_with<ReadTogether<Mutex<Simulated>>>("deadlock"));
}

/// The simulated machine with a record of waiting fibers (a bit each) and of the word that each fiber waits on.
struct Noting : Simulated {
  static inline u64 called = 0;   // fibers that have asked for the lock and do not have it yet
  static inline u64 waiting = 0;  // the fibers of these that have been seen to wait
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

/// Fibers that check the order of arrival: a fiber that was waiting when another came must be inside before it.
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
        expect(ahead[id] == 0, "a fiber was served before another that was waiting when it came");
        Noting::called &= ~mine;
        Noting::waiting &= ~mine;
        for (u64& others : ahead) others &= ~mine;
        return 0;
      });
    }
  }
  std::string check() { return kOwnWord && Noting::word_is_shared ? "two fibers waited on the same word" : ""; }
};

TEST_CASE("Races: ticket and mcs serve in order of arrival, and spin does not", "[race]") {
  check_no_race<InOrder<Ticket, false>>();
  check_no_race<InOrder<Mcs, false>>();
  CHECK(fails_with<InOrder<Spin, false>>("a fiber was served before another that was waiting when it came"));
}

TEST_CASE("Races: under mcs each fiber waits on a word of its own, under ticket all wait on the same", "[race]") {
  check_no_race<InOrder<Mcs, true>>();
  CHECK(fails_with<InOrder<Ticket, true>>("two fibers waited on the same word"));
}

}  // namespace
}  // namespace latchlab::testing
