// ART under global locks on the race finder. `cna`, `reciprocating`, `hapax`, `gcr` and `bravo` are not here: they
// differ from `mcs` and `rwspin` only by the lock, which sync/locks_race_test.cc explores.
#include "indexes/art/art.h"
#include "indexes/art/race_mixes_test.h"
#include "sync/combine.h"
#include "sync/ffwd.h"
#include "sync/mcs.h"
#include "sync/mutex.h"
#include "sync/rwspin.h"
#include "sync/shared_mutex.h"
#include "sync/spin.h"
#include "sync/synchronized.h"
#include "sync/ticket.h"

namespace latchlab::testing {
namespace {

/// Explores fewer schedules than elsewhere. Within a lock there is nothing to interleave with, and tests in sync/
/// explore the locks alone.
template <template <class> class P>
void explore_under() {
  explore<Synchronized<Art, P<Simulated>, U64Key>>(number_mixes(), P<Simulated>::kName, {}, kRaceSchedules / 5);
}

TEST_CASE("Races: ART under mutex", "[race]") { explore_under<Mutex>(); }
TEST_CASE("Races: ART under spin", "[race]") { explore_under<Spin>(); }
TEST_CASE("Races: ART under ticket", "[race]") { explore_under<Ticket>(); }
TEST_CASE("Races: ART under mcs", "[race]") { explore_under<Mcs>(); }
TEST_CASE("Races: ART under combine", "[race]") { explore_under<Combine>(); }
TEST_CASE("Races: ART under ffwd", "[race]") { explore_under<Ffwd>(); }
TEST_CASE("Races: ART under rwspin", "[race]") { explore_under<RwSpin>(); }
TEST_CASE("Races: ART under shared_mutex", "[race]") { explore_under<SharedMutex>(); }

}  // namespace
}  // namespace latchlab::testing
