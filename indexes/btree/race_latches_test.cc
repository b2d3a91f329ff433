// The B+-tree on the race finder, with the latches of nodes beside that of olc. Its writers claim leaves.
#include <string>
#include <string_view>

#include "indexes/btree/btree.h"
#include "indexes/btree/race_mixes_test.h"
#include "indexes/seeded_test.h"
#include "sync/hapax_olc.h"
#include "sync/latch_hybrid.h"
#include "sync/optiql.h"
#include "sync/synchronized.h"
#include "sync/ticket_olc.h"

namespace latchlab::testing {
namespace {

using BugsOfHapax = hapax::BugFlags<bool>;

/// `hapax-olc` whose threads draw two tokens at once and all wait on one slot.
template <class M>
struct SmallHapaxOlc : Queued<M, HapaxLatch<M, HapaxQueue<M, 2, 1, BugsOfHapax>>, NoBugs> {
  static constexpr std::string_view kName = "hapax-olc";
  using SmallHapaxOlc::Queued::Queued;
};

template <class Policy>
using Tree = Synchronized<BTree, Tiny<Policy>, U64Key>;

TEST_CASE("Races: B+-tree under ticket-olc", "[race]") {
  explore<Tree<TicketOlc<Simulated>>>(btree_mixes(), "ticket-olc", {});
}

TEST_CASE("Races: B+-tree under hapax-olc", "[race]") {
  explore<Tree<SmallHapaxOlc<Simulated>>>(btree_mixes(), "hapax-olc", {});
}

TEST_CASE("Races: B+-tree under optiql", "[race]") {
  explore<Tree<Optiql<Simulated>>>(btree_mixes(), "optiql", {});
  explore<Synchronized<BTree, Tiny<Optiql<Simulated>>, BytesKey>>(btree_string_mixes(), "optiql", {});
}

TEST_CASE("Races: B+-tree under latch-hybrid", "[race]") {
  explore<Tree<LatchHybrid<Simulated>>>(btree_mixes(), "latch-hybrid:0", {});
  explore<Tree<LatchHybrid<Simulated>>>(btree_mixes(), "latch-hybrid:1", {});
}

TEST_CASE("Seeded bugs: the race finder finds each dropped step of latches of nodes", "[race]") {
  const auto ticket = find_in_mixes<Tree<TicketOlc<Simulated, BugsOnRequest>>>("ticket-olc", 0, btree_mixes());
  CHECK(caught("ticket-olc: parent of a claim", BugsOnRequest::kTrustClaim, ticket));
  CHECK(caught("ticket-olc: ticket put back", BugsOnRequest::kPutBack, ticket));
  const auto hapax = find_in_mixes<Tree<SmallHapaxOlc<Simulated>>>("hapax-olc", 0, btree_mixes());
  CHECK(caught("hapax-olc: repeated token", BugsOfHapax::kRepeatToken, hapax));
  const auto optiql = find_in_mixes<Tree<Optiql<Simulated, BugsOnRequest>>>("optiql", 0, btree_mixes());
  CHECK(caught("optiql: left open", BugsOnRequest::kStayOpen, optiql));
  CHECK(caught("optiql: locked while open", BugsOnRequest::kLockOpen, optiql));
  const auto hybrid = find_in_mixes<Tree<LatchHybrid<Simulated, BugsOnRequest>>>("latch-hybrid:0", 0, btree_mixes());
  CHECK(caught("latch-hybrid: latches kept", BugsOnRequest::kKeepShares, hybrid));
}

}  // namespace
}  // namespace latchlab::testing
