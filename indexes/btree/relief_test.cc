// Leaves in which threads meet are split, on the race finder: the threads of a schedule change keys of one leaf, and
// the test counts the schedules after which the tree has one leaf more.
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "indexes/btree/btree.h"
#include "indexes/btree/race_mixes_test.h"
#include "indexes/btree/relief.h"
#include "indexes/btree/shape_test.h"
#include "src/machine/race_finder.h"
#include "src/testing/catch.h"
#include "sync/hapax_olc.h"
#include "sync/olc.h"
#include "sync/optiql.h"
#include "sync/rtm.h"
#include "sync/synchronized.h"
#include "sync/ticket_olc.h"
#include "sync/tiny_testing.h"

namespace latchlab::testing {
namespace {

/// Two leaves, 10 to 40 and 50 to 80. Fiber i changes `keys[i]` a few times.
template <class P>
struct Meeting {
  using Of = Case<Tiny<P>>;
  using Index = Synchronized<Of::template Tree, Tiny<P>, U64Key>;

  Meeting(std::string_view policy, std::vector<u64> the_keys) : keys(std::move(the_keys)) {
    index.emplace(Spec::parse(policy), MemoryConfig{});
    auto me = index->join();
    for (const u64 key : tens(10, 80)) index->insert(me, key, 1);
    before = Of::template shape<U64Key>();
    for (std::size_t i = 0; i < keys.size(); ++i) threads.emplace_back(*index);
  }
  void fiber(u32 id) {
    for (u64 turn = 0; turn < 4; ++turn) index->update(threads[id], keys[id], turn);
  }
  std::string check() {
    const Shape now = Of::template shape<U64Key>();
    divided += now.leaves > before.leaves ? 1 : 0;
    if (!now.complaint.empty()) return now.complaint;
    return now.pairs == before.pairs ? "" : "a pair was lost";
  }

  static inline u64 divided = 0;  // schedules
  std::vector<u64> keys;
  std::optional<Index> index;
  std::deque<typename Index::ThreadState> threads;
  Shape before;
};

/// Returns the number of schedules after which a leaf was divided.
template <class S>
u64 divided_in(std::string_view policy, const std::vector<u64>& keys) {
  S::divided = 0;
  const RaceOptions options{
      .schedules = kSanitized ? 500u : 4000u, .fibers = static_cast<u32>(keys.size()), .abort_rate = 0.1};
  const RaceReport report = find_races<S>(options, policy, keys);
  INFO(report.str());
  CHECK(report.failures == 0);
  return S::divided;
}

TEST_CASE("Relief: a thread looks at leaves if one change in a hundred meets another", "[btree]") {
  btree::Relief<Scale::kReal> relief;
  const auto looks_after = [&](u32 conflicts, u32 alone_between) {
    bool looks = false;
    for (u32 i = 0; i < conflicts; ++i) {
      for (u32 j = 0; j < alone_between; ++j) looks = relief.changed(false) || looks;
      looks = relief.changed(true) || looks;
    }
    return looks;
  };
  CHECK_FALSE(looks_after(15, 0));
  CHECK(looks_after(1, 0));
  CHECK(looks_after(16, 99));
  CHECK_FALSE(looks_after(16, 100));
  CHECK(looks_after(16, 50));  // it has begun anew
}

TEST_CASE("Relief: two looks at one leaf name the greater of two ranks", "[btree]") {
  alignas(kLineBytes) const char leaves[2 * kLineBytes] = {};
  const void *const one = leaves, *const other = leaves + kLineBytes;
  CHECK(btree::Look(one, 3).between(btree::Look(one, 5)) == 5);
  CHECK(btree::Look(one, 5).between(btree::Look(one, 3)) == 5);
  CHECK(btree::Look(one, 5).between(btree::Look(one, 5)) == 0);
  CHECK(btree::Look(one, 5).between(btree::Look(other, 3)) == 0);
  CHECK(btree::Look(one, 5).between(btree::Look(0)) == 0);
}

TEST_CASE("Races: a leaf is split between two keys that threads change at once", "[race]") {
  CHECK(divided_in<Meeting<Olc<Simulated>>>("olc", {30, 40, 40}) > 0);
  CHECK(divided_in<Meeting<Rtm<Simulated>>>("rtm:3", {30, 40, 40}) > 0);
  CHECK(divided_in<Meeting<TicketOlc<Simulated>>>("ticket-olc", {30, 40, 40}) > 0);
  CHECK(divided_in<Meeting<HapaxOlc<Simulated>>>("hapax-olc", {30, 40, 40}) > 0);
  CHECK(divided_in<Meeting<Optiql<Simulated>>>("optiql", {30, 40, 40}) > 0);
}

TEST_CASE("Races: a leaf is not split where all threads change one key, nor if it is the last", "[race]") {
  CHECK(divided_in<Meeting<Olc<Simulated>>>("olc", {40, 40, 40}) == 0);
  CHECK(divided_in<Meeting<Olc<Simulated>>>("olc", {70, 80, 80}) == 0);
}

}  // namespace
}  // namespace latchlab::testing
