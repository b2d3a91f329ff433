// Tests of small attempts: what they change, and that an attempt of any size follows where one node is not enough.
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "sync/layout.h"
#include "sync/olc.h"
#include "sync/policy_testing.h"
#include "sync/small_tx.h"

namespace latchlab {
namespace {

using Small = SmallTx<Native, NoBugs, LatchInNode<Native>>;
using SmallNode = AnyNode<VersionedLayout<Native>>;
using SmallWordNode = AnyWordNode<VersionedLayout<Native>>;

struct SmallThread {
  Memory<Native> memory{MemoryConfig{}};
  PoolLease<Native> pool{memory};
  Small small() { return Small(*pool, {}); }
};

TEST_CASE("A small attempt changes one node, and its readers notice") {
  SmallThread me;
  SmallNode node;
  Small tx = me.small();
  const auto reader = tx.enter(&node);
  REQUIRE(tx.upgrade(reader));
  CHECK(node.latch.word() == 1);
  CHECK_FALSE(tx.needs_more());
  tx.commit();
  CHECK(node.latch.word() == 256);
  CHECK_FALSE(reader.follow(nullptr));

  Small late = me.small();
  CHECK_FALSE(late.upgrade(reader));  // the node has changed: a restart, not a wish for more
  CHECK_FALSE(late.needs_more());
  late.commit();
  CHECK(node.latch.word() == 256);
}

TEST_CASE("A small attempt gives a node its next word, or only values") {
  SmallThread me;
  SmallWordNode node;
  node.word.begin_with(4);
  Small tx = me.small();
  const auto reader = tx.enter(&node);
  REQUIRE(tx.upgrade(reader));
  tx.set_word(reader, 8);
  tx.commit();
  CHECK(node.word.load() == WordLatch<Native>::changed(4, 8));

  Small values = me.small();
  const auto early = values.enter(&node);
  REQUIRE(values.upgrade_value(early));
  CHECK(early.follow(nullptr));
  Small other = me.small();
  CHECK_FALSE(other.upgrade_value(early));
  values.commit();
  CHECK(early.follow(nullptr));
  CHECK(node.word.load() == early.word());
}

TEST_CASE("A small attempt locks none of several nodes, and asks for more") {
  SmallThread me;
  std::array<SmallNode, 2> nodes;
  Small two = me.small();
  CHECK_FALSE(two.upgrade(two.enter(&nodes[0]), two.enter(&nodes[1])));
  CHECK(two.needs_more());
  Small span = me.small();
  const std::array readers{span.enter(&nodes[0]), span.enter(&nodes[1])};
  CHECK_FALSE(span.upgrade(std::span<const Small::Reader<SmallNode>>(readers)));
  CHECK(span.needs_more());
  Small asks = me.small();
  CHECK(asks.ask_for_more() == kRestart);
  CHECK(asks.needs_more());
  for (const SmallNode& node : nodes) CHECK(node.latch.word() == 0);
}

TEST_CASE("Olc runs a body again that asks for more, and counts a restart only where data has changed") {
  using testing::House;
  using P = Olc<Native>;
  House<P> house("olc");
  House<P>::ThreadState me(house);
  std::array<SmallNode, 2> nodes;
  std::vector<void*> made;
  CHECK(house.policy.write(me, [&](auto& tx) -> Attempt<bool> {
    const auto one = tx.enter(&nodes[0]), other = tx.enter(&nodes[1]);
    made.push_back(tx.template make<SmallNode>());
    if (!tx.upgrade(one, other)) return kRestart;
    tx.retire(made.back(), sizeof(SmallNode));
    return true;
  }));
  REQUIRE(made.size() == 2);
  CHECK(made[0] == made[1]);  // the block of the small attempt went back to the pool
  CHECK(me.counters.write_restarts == 0);
  for (const SmallNode& node : nodes) CHECK(node.latch.word() == 256);

  int runs = 0;
  CHECK(house.policy.write(me, [&](auto& tx) -> Attempt<bool> {
    const auto one = tx.enter(&nodes[0]);
    if (++runs == 1) {
      REQUIRE(nodes[0].latch.try_lock(256));
      nodes[0].latch.set(512);
    }
    if (!tx.upgrade(one)) return kRestart;
    return true;
  }));
  CHECK(runs == 2);
  CHECK(me.counters.write_restarts == 1);
  CHECK(nodes[0].latch.word() == 768);
}

}  // namespace
}  // namespace latchlab
