// Every policy whose waits are the machine's, with fibers that sleep until they are woken: no wake-up is lost.
#include "sync/parked_test.h"

#include "sync/adaptive.h"
#include "sync/bravo.h"
#include "sync/cna.h"
#include "sync/combine.h"
#include "sync/ffwd.h"
#include "sync/gcr.h"
#include "sync/hapax.h"
#include "sync/hapax_olc.h"
#include "sync/hle.h"
#include "sync/hybrid.h"
#include "sync/latch_hybrid.h"
#include "sync/mcs.h"
#include "sync/olc.h"
#include "sync/optiql.h"
#include "sync/reciprocating.h"
#include "sync/rtm.h"
#include "sync/rwspin.h"
#include "sync/seq.h"
#include "sync/spin.h"
#include "sync/striped.h"
#include "sync/three_path.h"
#include "sync/ticket.h"
#include "sync/ticket_olc.h"
#include "sync/tiny_testing.h"

namespace latchlab::testing {
namespace {

template <class P>
using Waiting = InLot<WriteAndRead<P>>;

/// `gcr` that makes a promise after each operation.
template <class M>
using PromisingLock = GcrLock<M, SpinLock<M>, std::lock_guard<SpinLock<M>>, 1>;
struct Promising : OneLock<Parked, PromisingLock<Parked>, PromisingLock<Parked>::Guard> {
  static constexpr std::string_view kName = "gcr";
  using Learned = PromisingLock<Parked>::Turns;
  using Options = GcrOptions;
  explicit Promising(const Options& options) : OneLock(std::in_place, static_cast<u32>(options.threads)) {}
};

/// `combine` whose thread runs one operation beside its own.
struct Handing : RunsElsewhere<Handing, Parked> {
  static constexpr std::string_view kName = "combine";
  explicit Handing(const NoOptions&) {}
  template <class Me, class Operation>
  void run(Me&, const Operation& operation) {
    (void)queue.run(operation);
  }
  CombiningQueue<Parked, 1> queue;
};

/// Fibers that read and then write. The unlock of a writer may be the last thing that happens.
template <class P>
struct ReadAndWrite : Crew<P> {
  using Crew<P>::Crew;
  Twins<typename P::Layout> twins;

  void fiber(u32 id) {
    auto& me = this->threads[id];
    for (u32 turn = 0; turn < kTurns; ++turn) {
      this->house.policy.read(me, [&](auto& tx) { return twins.read_in(tx); });
      this->house.policy.write(me, [&](auto& tx) { return twins.add_in(tx); });
    }
  }
  std::string check() { return twins.now().first == kFibers * kTurns ? "" : std::string(kLost); }
};

/// The locks, with the name that each has in the checks below.
template <class Check>
void each_lock(const Check& check) {
  check.template operator()<Waiting<Spin<Parked>>>("spin");
  check.template operator()<Waiting<RwSpin<Parked>>>("rwspin");
  check.template operator()<Waiting<Ticket<Parked>>>("ticket");
  check.template operator()<Waiting<Mcs<Parked>>>("mcs");
  check.template operator()<Waiting<Cna<Parked>>>("cna");
  check.template operator()<Waiting<Reciprocating<Parked>>>("reciprocating");
  check.template operator()<Waiting<Hapax<Parked>>>("hapax");
  check.template operator()<Waiting<Bravo<Parked>>>("bravo");
  check.template operator()<Waiting<Gcr<Parked>>>("gcr:1");
  check.template operator()<Waiting<Promising>>("gcr:2");
  check.template operator()<Waiting<Combine<Parked>>>("combine");
  check.template operator()<Waiting<Handing>>("combine");
  check.template operator()<Waiting<Ffwd<Parked>>>("ffwd");
  check.template operator()<Waiting<Hle<Parked>>>("hle");
  check.template operator()<Waiting<Rtm<Parked>>>("rtm:1");
  check.template operator()<Waiting<Tiny<Adaptive<Parked>>>>("adaptive");
}

TEST_CASE("Races: no fiber that sleeps at a global lock is forgotten", "[race]") {
  each_lock([]<class Scenario>(std::string_view spec) { check_no_race<Scenario>(spec); });
  check_no_race<InLot<ReadAndWrite<RwSpin<Parked>>>>();
  check_no_race<InLot<ReadAndWrite<Bravo<Parked>>>>();
}

TEST_CASE("Races: no fiber that sleeps at a latch is forgotten", "[race]") {
  check_no_race<Waiting<Seq<Parked>>>("seq");
  check_no_race<Waiting<Striped<Parked>>>("striped");
  check_no_race<Waiting<Olc<Parked>>>("olc");
  check_no_race<Waiting<TicketOlc<Parked>>>("ticket-olc");
  check_no_race<Waiting<HapaxOlc<Parked>>>("hapax-olc");
  check_no_race<Waiting<Optiql<Parked>>>("optiql");
  check_no_race<Waiting<LatchHybrid<Parked>>>("latch-hybrid:0");
  check_no_race<Waiting<LatchHybrid<Parked>>>("latch-hybrid:1");
  check_no_race<Waiting<Tiny<Hybrid<Parked>>>>("hybrid:0");
  check_no_race<Waiting<Tiny<Hybrid<Parked>>>>("hybrid:1");
  check_no_race<Waiting<Tiny<ThreePath<Parked>>>>("three-path:0,middle=0");
  check_no_race<Waiting<Tiny<ThreePath<Parked>>>>("three-path:1,middle=1");
}

TEST_CASE("Races: every lock forgets a fiber if stores wake none", "[race]") {
  const Seeded seeded(Parked::deaf);
  each_lock([]<class Scenario>(std::string_view spec) {
    INFO(spec);
    CHECK(fails_with<Scenario>("deadlock", spec));
  });
  CHECK(fails_with<Waiting<Olc<Parked>>>("deadlock", "olc"));
  CHECK(fails_with<Waiting<Optiql<Parked>>>("deadlock", "optiql"));
}

TEST_CASE("Seeded bugs: a thread that parks without a look, or a wake that is not counted, is found", "[race]") {
  for (bool* const bug : {&BugsOfParking::kSleepUnseen, &BugsOfParking::kKeepCalls}) {
    const Seeded seeded(*bug);
    CHECK(fails_with<Waiting<Ticket<Parked>>>("deadlock", "ticket"));
  }
}

}  // namespace
}  // namespace latchlab::testing
