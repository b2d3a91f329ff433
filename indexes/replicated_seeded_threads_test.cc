// Histories of real threads on two nodes find seeded bugs of node replication (docs/seeded_bugs.md has the counts).
#include "indexes/art/art.h"
#include "indexes/art/race_mixes_test.h"
#include "sync/replicated.h"
#include "indexes/seeded_histories_test.h"
#include "indexes/seeded_test.h"
#include "src/machine/emulated.h"

namespace latchlab::testing {
namespace {

using BugsOfNr = nr::BugFlags<bool>;
// Emulated has two nodes, with every other thread on each. The log goes round many times in a history.
using Index = Replicated<Art, Nr<Emulated>, BugsOfNr, 64>;

auto histories(u32 most) {
  return [most] { return run_histories<Index>("nr:2", number_mixes(), most, watch_history); };
}

TEST_CASE("Seeded bugs: histories of threads find those of nr", "[threads]") {
  CHECK(run_histories<Index>("nr:2", number_mixes(), 200, [] {}).message == "");
  CHECK(caught("nr on threads: read at once", BugsOfNr::kReadAtOnce, histories(500)));
  CHECK(caught("nr on threads: unfilled", BugsOfNr::kTakeUnfilled, histories(500)));
  CHECK(caught("nr on threads: readers", BugsOfNr::kMissReaders, histories(500)));
}

}  // namespace
}  // namespace latchlab::testing
