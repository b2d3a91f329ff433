// The global locks on the race finder: no fiber sees half an operation, readers of shared locks are inside together,
// `ticket`, `mcs`, `hapax` and `combine` serve in order of arrival, `reciprocating` lets each thread overtake once,
// `cna` stays on a NUMA node for a while, `gcr` keeps threads away from its lock, and `combine` runs the operations of
// others.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "sync/bravo.h"
#include "sync/cna.h"
#include "sync/combine.h"
#include "sync/gcr.h"
#include "sync/hapax.h"
#include "sync/hle.h"
#include "sync/mcs.h"
#include "sync/mutex.h"
#include "sync/race_crew_test.h"
#include "sync/reciprocating.h"
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
  check_no_race<WriteAndRead<Cna<Simulated>>>();
  check_no_race<WriteAndRead<Reciprocating<Simulated>>>();
  check_no_race<WriteAndRead<Hapax<Simulated>>>();
  check_no_race<WriteAndRead<Bravo<Simulated>>>();
  check_no_race<WriteAndRead<Gcr<Simulated>>>("gcr:1");
  check_no_race<WriteAndRead<Gcr<Simulated>>>("gcr:2");
  check_no_race<WriteAndRead<Combine<Simulated>>>();
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
  check_no_race<ReadTogether<Bravo<Simulated>>>();
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

TEST_CASE("Races: ticket, mcs, hapax and combine serve in order of arrival, and spin does not", "[race]") {
  check_no_race<InOrder<Ticket, false>>();
  check_no_race<InOrder<Mcs, false>>();
  check_no_race<InOrder<Hapax, false>>();
  check_no_race<InOrder<Combine, false>>();
  CHECK(fails_with<InOrder<Spin, false>>("a fiber was served before another that was waiting when it came"));
}

TEST_CASE("Races: under mcs and combine each fiber waits on a word of its own, under ticket all on the same",
          "[race]") {
  check_no_race<InOrder<Mcs, true>>();
  check_no_race<InOrder<Combine, true>>();
  CHECK(fails_with<InOrder<Ticket, true>>("two fibers waited on the same word"));
}

using BugsOfHapax = hapax::BugFlags<bool>;

/// `hapax` whose threads draw two tokens at once and all wait on one slot.
template <class M>
using SmallHapaxLock = HapaxLock<M, HapaxQueue<M, 2, 1, BugsOfHapax>>;
template <class M>
struct SmallHapax : OneLock<M, SmallHapaxLock<M>, typename SmallHapaxLock<M>::Guard> {
  static constexpr std::string_view kName = "hapax";
  using Learned = typename SmallHapaxLock<M>::Tokens;
  using SmallHapax::OneLock::OneLock;
};

TEST_CASE("Races: fibers under hapax may share a slot", "[race]") {
  check_no_race<WriteAndRead<SmallHapax<Simulated>>>();
  check_no_race<InOrder<SmallHapax, false>>();
  CHECK(fails_with<InOrder<SmallHapax, true>>("two fibers waited on the same word"));
}

TEST_CASE("Seeded bugs: a token of hapax that is used again is found", "[race]") {
  const Seeded seeded(BugsOfHapax::kRepeatToken);
  const RaceReport report = find_races<WriteAndRead<SmallHapax<Simulated>>>(kSearch);
  INFO(report.str());
  CHECK(report.failures > 0);
}

using BugsOfBravo = bravo::BugFlags<bool>;

/// `bravo` with kSlots slots.
template <class M, u32 kSlots>
struct SmallBravo : OneLock<M, BravoLock<M, RwSpinLock<M>, kSlots, BugsOfBravo>,
                            typename BravoLock<M, RwSpinLock<M>, kSlots, BugsOfBravo>::Reading,
                            std::lock_guard<BravoLock<M, RwSpinLock<M>, kSlots, BugsOfBravo>>> {
  static constexpr std::string_view kName = "bravo";
  using Learned = typename BravoLock<M, RwSpinLock<M>, kSlots, BugsOfBravo>::Reader;
  using SmallBravo::OneLock::OneLock;
};

TEST_CASE("Races: readers of bravo that share a slot are inside together", "[race]") {
  check_no_race<WriteAndRead<SmallBravo<Simulated, 1>>>();
  check_no_race<WriteAndRead<SmallBravo<Simulated, 2>>>();
  check_no_race<ReadTogether<SmallBravo<Simulated, 1>>>();
}

TEST_CASE("Seeded bugs: a reader of bravo that looks at the bias once is found", "[race]") {
  const Seeded seeded(BugsOfBravo::kTrustBias);
  const RaceReport report = find_races<WriteAndRead<SmallBravo<Simulated, 2>>>(kSearch);
  INFO(report.str());
  CHECK(report.failures > 0);
}

/// Fibers that count how often each overtakes another that was waiting when it came. kBound is how often it may.
template <template <class> class Policy, u32 kBound>
struct Overtaking : Crew<Policy<Noting>> {
  std::array<u64, kFibers> ahead{};  // by fiber: those that were waiting when it came, and still wait
  std::array<std::array<u32, kFibers>, kFibers> overtaken{};  // by the waiting fiber, and by the one that came later

  Overtaking() {
    Noting::called = Noting::waiting = 0;
    Noting::word = {};
    Noting::word_is_shared = false;
  }
  void fiber(u32 id) {
    const u64 mine = u64{1} << id;
    for (u32 turn = 0; turn < 2 * kTurns; ++turn) {
      ahead[id] = Noting::waiting;
      Noting::called |= mine;
      this->house.policy.write(this->threads[id], [&](auto&) -> Attempt<int> {
        Noting::called &= ~mine;
        Noting::waiting &= ~mine;
        for (u64& others : ahead) others &= ~mine;
        overtaken[id] = {};
        for (u32 other = 0; other < kFibers; ++other) {
          if (ahead[id] >> other & 1) expect(++overtaken[other][id] <= kBound, "a fiber overtook another too often");
        }
        return 0;
      });
    }
  }
  std::string check() { return Noting::word_is_shared ? "two fibers waited on the same word" : ""; }
};

TEST_CASE("Races: under reciprocating a fiber overtakes each that waits at most once, and waits on a word of its own",
          "[race]") {
  check_no_race<Overtaking<Reciprocating, 1>>();
  CHECK(fails_with<Overtaking<Reciprocating, 0>>("a fiber overtook another too often"));
  CHECK(fails_with<Overtaking<Spin, 1>>("a fiber overtook another too often"));
}

using BugsOfCna = cna::BugFlags<bool>;

/// `cna` whose threads aside wait for kMost handovers.
template <class M, u32 kMost>
struct SmallCna : OneLock<M, CnaLock<M, kMost, BugsOfCna>, typename CnaLock<M, kMost, BugsOfCna>::Guard> {
  static constexpr std::string_view kName = "cna";
  using Learned = typename CnaLock<M, kMost, BugsOfCna>::Place;
  using SmallCna::OneLock::OneLock;
};
template <class M>
using PatientCna = SmallCna<M, 1u << 16>;
template <class M>
using CnaOfOne = SmallCna<M, 1>;
template <class M>
using CnaOfThree = SmallCna<M, 3>;
template <class M>
using CnaOfFive = SmallCna<M, 5>;

TEST_CASE("Races: cna keeps operations apart when threads aside get in front early", "[race]") {
  check_no_race<WriteAndRead<CnaOfOne<Simulated>>>();
  check_no_race<WriteAndRead<CnaOfThree<Simulated>>>();
}

/// `cna` on a machine with one node.
template <class M>
struct OneNode : M {
  static u32 node() { return 0; }
};
template <class M>
using CnaOnOneNode = Cna<OneNode<M>>;

TEST_CASE("Races: under cna a fiber of another node is overtaken for some handovers, and one of the same node never",
          "[race]") {
  check_no_race<Overtaking<CnaOfOne, 1>>();
  check_no_race<Overtaking<CnaOfThree, 2>>();
  CHECK(fails_with<Overtaking<CnaOfThree, 1>>("a fiber overtook another too often"));
  CHECK(fails_with<Overtaking<CnaOfFive, 2>>("a fiber overtook another too often"));
  check_no_race<InOrder<CnaOnOneNode, true>>();
}

/// Fibers that count how often the lock moves from one node to the other, over all schedules.
template <class P>
struct Moves : Crew<P> {
  static inline u64 moves = 0;
  u32 node = 0;

  void fiber(u32 id) {
    for (u32 turn = 0; turn < 2 * kTurns; ++turn) {
      this->house.policy.write(this->threads[id], [&](auto&) -> Attempt<int> {
        moves += node != Simulated::node();
        node = Simulated::node();
        Simulated::pause();
        return 0;
      });
    }
  }
  std::string check() { return ""; }
};

TEST_CASE("Races: under cna the lock moves between nodes less often than under mcs", "[race]") {
  check_no_race<Moves<Cna<Simulated>>>();
  check_no_race<Moves<Mcs<Simulated>>>();
  CAPTURE(Moves<Cna<Simulated>>::moves, Moves<Mcs<Simulated>>::moves);
  CHECK(Moves<Cna<Simulated>>::moves < Moves<Mcs<Simulated>>::moves / 4 * 3);
}

TEST_CASE("Seeded bugs: threads aside, their last guard and their link under cna are found", "[race]") {
  for (bool* const bug : {&BugsOfCna::kForgetAside, &BugsOfCna::kKeepLast, &BugsOfCna::kKeepLink}) {
    const Seeded seeded(*bug);
    const RaceReport report = find_races<WriteAndRead<PatientCna<Simulated>>>(kSearch);
    UNSCOPED_INFO(report.str());
    CHECK(report.failures > 0);
  }
}

using BugsOfGcr = gcr::BugFlags<bool>;

/// The lock of `mcs`, which notes how many fibers came to it at once.
template <class M>
struct Crowded {
  static inline u32 most = 0;
  typename M::template Atomic<u32> here{0};
  McsLock<M> lock;

  class Guard {
   public:
    explicit Guard(Crowded& at) : at_(at) {
      most = std::max(most, at.here.fetch_add(1, kRelaxed) + 1);
      held_.emplace(at.lock);
    }
    ~Guard() {
      held_.reset();
      at_.here.fetch_add(-1u, kRelaxed);
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Crowded& at_;
    std::optional<typename McsLock<M>::Guard> held_;
  };
};

/// `gcr` that lets kSlots fibers come to its lock, each of which makes room after kTurnsEach operations.
template <class M, u32 kSlots, u32 kTurnsEach>
class SmallGcr
    : public OneLock<M, GcrLock<M, Crowded<M>, typename Crowded<M>::Guard, kTurnsEach, BugsOfGcr>,
                     typename GcrLock<M, Crowded<M>, typename Crowded<M>::Guard, kTurnsEach, BugsOfGcr>::Guard> {
  using Lock = GcrLock<M, Crowded<M>, typename Crowded<M>::Guard, kTurnsEach, BugsOfGcr>;

 public:
  static constexpr std::string_view kName = "gcr";
  using Learned = typename Lock::Turns;
  explicit SmallGcr(const NoOptions&) : SmallGcr::OneLock(std::in_place, kSlots) {}
};
template <class M>
using GcrOfOneTurn = SmallGcr<M, 1, 1>;
template <class M>
using GcrOfManyTurns = SmallGcr<M, 1, 1u << 12>;

TEST_CASE("Races: no more fibers come to the lock under gcr than it lets", "[race]") {
  Crowded<Simulated>::most = 0;
  check_no_race<WriteAndRead<SmallGcr<Simulated, 1, 2>>>();
  CHECK(Crowded<Simulated>::most == 1);
  check_no_race<WriteAndRead<SmallGcr<Simulated, 2, 2>>>();
  CHECK(Crowded<Simulated>::most == 2);
  check_no_race<WriteAndRead<SmallGcr<Simulated, 3, 1>>>();
  CHECK(Crowded<Simulated>::most == 3);
}

// A fiber that makes room after each operation may still miss one that has begun to wait meanwhile.
TEST_CASE("Races: under gcr a fiber that waits is overtaken until the others make room", "[race]") {
  check_no_race<Overtaking<GcrOfOneTurn, 1>>();
  CHECK(fails_with<Overtaking<GcrOfOneTurn, 0>>("a fiber overtook another too often"));
  CHECK(fails_with<Overtaking<GcrOfManyTurns, 2>>("a fiber overtook another too often"));
}

TEST_CASE("Seeded bugs: a free lock that is missed and a slot that is promised twice under gcr are found", "[race]") {
  for (bool* const bug : {&BugsOfGcr::kMissFree, &BugsOfGcr::kPromiseTwice}) {
    const Seeded seeded(*bug);
    const RaceReport report = find_races<WriteAndRead<SmallGcr<Simulated, 2, 4>>>(kSearch);
    UNSCOPED_INFO(report.str());
    CHECK(report.failures > 0);
  }
}

/// Fibers that count which of them runs an operation, where each may run kMost operations of others in a row.
template <u32 kMost>
struct Combining {
  static constexpr std::string_view kPolicy = "combine";
  static inline u64 by_others = 0, alone = 0;  // over all schedules

  CombiningQueue<Simulated, kMost> queue;
  u32 inside = 0, sum = 0;
  std::array<u32, kFibers> in_a_row{};  // operations of others that a fiber has run since its own

  void fiber(u32 id) {
    for (u32 turn = 0; turn < kTurns; ++turn) {
      u32 runs = 0, runner = kFibers;
      const bool combined = queue.run([&] {
        expect(inside++ == 0, "two operations ran at once");
        ++runs;
        runner = World::get().fiber();
        in_a_row[runner] = runner == id ? 0 : in_a_row[runner] + 1;
        expect(in_a_row[runner] <= kMost, "a fiber ran more operations of others than it may");
        const u32 before = sum;
        Simulated::pause();
        sum = before + 1;
        --inside;
      });
      expect(runs == 1, "an operation ran twice, or not at all");
      expect(combined == (runner != id), "the answer does not say which fiber ran the operation");
      ++(combined ? by_others : alone);
    }
  }
  std::string check() { return sum == kFibers * kTurns ? "" : std::string(kLost); }
};

TEST_CASE("Races: a fiber inside runs the operations of the waiting fibers, each once and not too many", "[race]") {
  check_no_race<Combining<1>>();
  CHECK(Combining<1>::by_others > 0);
  CHECK(Combining<1>::alone > 0);
  check_no_race<Combining<2>>();
  check_no_race<Combining<64>>();
  CHECK(Combining<64>::by_others > 0);
}

}  // namespace
}  // namespace latchlab::testing
