// The latches of nodes beside that of olc: claims beside a thread that unlinks the claimed node, readers that share
// latches after some restarts, and their options.
#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "src/base/error.h"
#include "src/machine/emulated.h"
#include "src/machine/native.h"
#include "src/testing/death.h"
#include "sync/hapax_olc.h"
#include "sync/latch_hybrid.h"
#include "sync/olc.h"
#include "sync/optiql.h"
#include "sync/parked_test.h"
#include "sync/race_crew_test.h"
#include "sync/ticket_olc.h"

namespace latchlab::testing {
namespace {

/// A parent with a child that changes. An operation adds one to both numbers of the child, or puts another child with
/// the same numbers in its place.
template <class Layout>
class Family {
 public:
  struct Both {
    u64 first, second;
  };

  Family() { parent_.child.store(&children_[0]); }

  template <class Tx>
  Attempt<Both> read_in(Tx& tx) {
    auto at = tx.enter(&parent_);
    Node* const child = at->child.load();
    if (!at.step_to(child)) return kRestart;
    return tx.confirm(Both{child->first.load(), child->second.load()}, at);
  }
  /// Adds one by a claim. An odd `turn` gives the claim up first, and claims again.
  template <class Tx>
  Attempt<u64> add_in(Tx& tx, u32 turn) {
    auto at = tx.enter(&parent_);
    Node* child = at->child.load();
    if (turn % 2 == 1) {
      auto in_vain = at;
      if (!tx.claim(in_vain, child)) return kRestart;
      tx.unclaim();
    }
    if (!tx.claim(at, child)) return kRestart;
    const u64 before = child->first.load();
    if (!tx.upgrade(at)) return kRestart;
    child->first.store(before + 1);
    child->second.store(child->second.load() + 1);
    return before;
  }
  /// Breaks a rule: claims both children.
  template <class Tx>
  Attempt<u64> claim_twice_in(Tx& tx) {
    auto first = tx.enter(&parent_), second = first;
    if (!tx.claim(first, &children_[0]) || !tx.claim(second, &children_[1])) return kRestart;
    return 0;
  }
  /// Puts the other child in the place of this one.
  template <class Tx>
  Attempt<bool> replace_in(Tx& tx) {
    auto parent = tx.enter(&parent_);
    auto at = parent;
    Node* const child = at->child.load();
    if (!at.step_to(child)) return kRestart;
    Node* const other = child == &children_[0] ? &children_[1] : &children_[0];
    if (!tx.upgrade(parent, at)) return kRestart;
    other->first.store(child->first.load());
    other->second.store(child->second.load());
    parent->child.store(other);
    return true;
  }
  Both now() const {
    const Node& child = *parent_.child.load();
    return {child.first.load(), child.second.load()};
  }

 private:
  struct Node {
    [[no_unique_address]] typename Layout::Latch latch;
    typename Layout::template Cell<Node*> child{nullptr};
    typename Layout::template Cell<u64> first{0}, second{0};
    u8 tag() const { return 0; }
  };
  Node parent_, children_[2];
};

/// Fibers that add, read, and put another child in its place.
template <class P>
struct Claiming : Crew<P> {
  using Crew<P>::Crew;
  Family<typename P::Layout> family;

  void fiber(u32 id) {
    auto& me = this->threads[id];
    for (u32 turn = 0; turn < kTurns; ++turn) {
      if (id == 0) {
        this->house.policy.write(me, [&](auto& tx) { return family.replace_in(tx); });
      } else {
        this->house.policy.write(me, [&](auto& tx) { return family.add_in(tx, turn); });
      }
      const auto both = this->house.policy.read(me, [&](auto& tx) { return family.read_in(tx); });
      expect(both.first == both.second, kHalf);
    }
  }
  std::string check() {
    const bool all = family.now().first == (kFibers - 1) * kTurns && family.now().second == (kFibers - 1) * kTurns;
    return std::string(all ? "" : kLost);
  }
};

TEST_CASE("Races: a claim keeps operations apart, and finds that its node was unlinked", "[race]") {
  check_no_race<Claiming<Olc<Simulated>>>();
  check_no_race<Claiming<TicketOlc<Simulated>>>();
  check_no_race<Claiming<HapaxOlc<Simulated>>>();
  check_no_race<Claiming<Optiql<Simulated>>>();
  check_no_race<Claiming<LatchHybrid<Simulated>>>("latch-hybrid:0");
  check_no_race<Claiming<LatchHybrid<Simulated>>>("latch-hybrid:1");
}

/// Every fiber claims the same child.
template <class P>
struct InTurn : Crew<P> {
  using Crew<P>::Crew;
  Family<typename P::Layout> family;

  void fiber(u32 id) {
    for (u32 turn = 0; turn < kTurns; ++turn)
      this->house.policy.write(this->threads[id], [&](auto& tx) { return family.add_in(tx, 0); });
  }
  std::string check() {
    u64 restarts = 0;
    for (const auto& me : this->threads) restarts += me.counters.write_restarts;
    return restarts == 0 ? "" : "a change that had its turn began again";
  }
};

TEST_CASE("Races: a change of a claimed node is never in vain", "[race]") {
  check_no_race<InTurn<TicketOlc<Simulated>>>();
  check_no_race<InTurn<HapaxOlc<Simulated>>>();
  check_no_race<InTurn<Optiql<Simulated>>>();
  CHECK(fails_with<InTurn<Olc<Simulated>>>("a change that had its turn"));
}

TEST_CASE("a latch has room for 255 readers that share it, and others read its version", "[sync]") {
  SharedLatch<Native> latch;
  const u64 version = latch.version();
  bool shared = false;
  for (u32 reader = 0; reader < 255; ++reader) {
    CHECK(latch.lock_shared(shared) == version);
    REQUIRE(shared);
  }
  CHECK(latch.lock_shared(shared) == version);
  CHECK_FALSE(shared);
  latch.unlock_shared();
  CHECK(latch.lock_shared(shared) == version);
  CHECK(shared);
}

TEST_CASE("a claim beside a claim ends the process", "[sync]") {
  const std::string words = last_words([] {
    House<TicketOlc<Native>> house("ticket-olc");
    House<TicketOlc<Native>>::ThreadState me(house);
    Family<TicketOlc<Native>::Layout> family;
    house.policy.write(me, [&](auto& tx) { return family.claim_twice_in(tx); });
  });
  CHECK(words.find("call unclaim before") != std::string::npos);
}

TEST_CASE("Races: no fiber that sleeps for a claim is forgotten", "[race]") {
  check_no_race<InLot<Claiming<TicketOlc<Parked>>>>();
  check_no_race<InLot<Claiming<HapaxOlc<Parked>>>>();
  check_no_race<InLot<Claiming<Optiql<Parked>>>>();
  check_no_race<InLot<Claiming<LatchHybrid<Parked>>>>("latch-hybrid:1");
}

TEST_CASE("Seeded bugs: a claim that does not validate the parent loses operations", "[race]") {
  const Seeded seeded(BugsOnRequest::kTrustClaim);
  CHECK(fails_with<Claiming<TicketOlc<Simulated, BugsOnRequest>>>(kLost));
  CHECK(fails_with<Claiming<HapaxOlc<Simulated, BugsOnRequest>>>(kLost));
  CHECK(fails_with<Claiming<Optiql<Simulated, BugsOnRequest>>>(kLost));
}

/// Four threads add, read and replace. Few times each: where threads share processors, every claim waits for a context
/// switch.
template <class P>
void check_threads() {
  constexpr u32 kThreads = 4, kAdds = 300;
  INFO(P::kName << " on " << P::Machine::kName);
  House<P> house(P::kName);
  Family<typename P::Layout> family;
  std::atomic<u64> torn{0};
  std::vector<std::thread> threads;
  for (u32 t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      typename House<P>::ThreadState me(house);
      for (u32 i = 0; i < kAdds; ++i) {
        house.policy.write(me, [&](auto& tx) { return family.add_in(tx, i); });
        if (i % 16 == 0) house.policy.write(me, [&](auto& tx) { return family.replace_in(tx); });
        const auto both = house.policy.read(me, [&](auto& tx) { return family.read_in(tx); });
        if (both.first != both.second) torn.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(torn == 0);
  CHECK(family.now().first == kThreads * kAdds);
  CHECK(family.now().second == kThreads * kAdds);
}

TEST_CASE("Claims keep the operations of four threads apart") {
  check_threads<TicketOlc<Native>>();
  check_threads<TicketOlc<Emulated>>();
  check_threads<HapaxOlc<Native>>();
  check_threads<HapaxOlc<Emulated>>();
  check_threads<Optiql<Native>>();
  check_threads<Optiql<Emulated>>();
  check_threads<LatchHybrid<Native>>();
  check_threads<LatchHybrid<Emulated>>();
}

TEST_CASE("optiql: threads that end give their elements back, and later ones use them") {
  House<Optiql<Native>> house("optiql");
  Family<Optiql<Native>::Layout> family;
  for (u32 i = 0; i < 2 * OptiqlElements<Native>::kMostThreads; ++i) {
    House<Optiql<Native>>::ThreadState me(house);
    house.policy.write(me, [&](auto& tx) { return family.add_in(tx, i); });
  }
  CHECK(family.now().second == 2 * OptiqlElements<Native>::kMostThreads);
}

TEST_CASE("latch-hybrid shares latches after its restarts, and a shared latch is not locked") {
  using P = LatchHybrid<Native>;
  using Node = AnyNode<P::Layout>;
  for (const u64 most : {0, 1, 3}) {
    House<P> house("latch-hybrid:" + std::to_string(most));
    House<P>::ThreadState me(house);
    Node node;
    u64 runs = 0;
    const bool locked = house.policy.read(me, [&](auto& tx) -> Attempt<bool> {
      auto at = tx.enter(&node);
      if (runs++ < most) return kRestart;
      const bool could_lock = node.latch.try_lock(node.latch.version());
      return tx.confirm(could_lock, at);
    });
    CHECK_FALSE(locked);
    CHECK(me.counters.read_restarts == most);
    CHECK(me.counters.shared_reads == 1);
    CHECK(node.latch.try_lock(node.latch.version()));  // it is shared no more
  }
}

TEST_CASE("latch-hybrid gives up the oldest of many latches, and still sees a change") {
  using P = LatchHybrid<Native>;
  using Node = AnyNode<P::Layout>;
  constexpr u32 kNodes = Shares<Native, NoBugs>::kMostShares + 1;
  House<P> house("latch-hybrid:0");
  House<P>::ThreadState me(house);
  std::vector<Node> nodes(kNodes);
  u32 runs = 0;
  const bool second = house.policy.read(me, [&](auto& tx) -> Attempt<bool> {
    auto first = tx.enter(&nodes[0]);
    for (u32 i = 1; i < kNodes; ++i) (void)tx.enter(&nodes[i]);
    if (runs++ == 0) {
      const u64 version = nodes[0].latch.version();
      if (!nodes[0].latch.try_lock(version)) return kNoMemory;  // it was not given up
      nodes[0].latch.set(SharedLatch<Native>::changed(version));
    }
    return tx.confirm(runs == 2, first);
  });
  CHECK(second);
}

TEST_CASE("latch-hybrid parses its restarts and refuses others") {
  const auto parse = [](std::string_view spec) { return LatchHybridOptions::parse(Spec::parse(spec)).restarts; };
  CHECK(parse("latch-hybrid") == 3);
  CHECK(parse("latch-hybrid:0") == 0);
  for (const char* wrong : {"latch-hybrid:x", "latch-hybrid:1001", "latch-hybrid:1,k=2"})
    CHECK_THROWS_AS(parse(wrong), InputError);
}

}  // namespace
}  // namespace latchlab::testing
