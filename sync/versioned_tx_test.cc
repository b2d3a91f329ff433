// What an upgrade promises, whether its readers are named one by one or counted at run time.
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/machine/native.h"
#include "src/memory/memory.h"
#include "src/testing/catch.h"
#include "src/testing/death.h"
#include "sync/concepts.h"
#include "sync/direct_tx.h"
#include "sync/layout.h"
#include "sync/versioned_tx.h"

namespace latchlab {
namespace {

using Tx = VersionedTx<Native>;
using Node = AnyNode<VersionedLayout<Native>>;
constexpr u32 kMaxLocks = Tx::kMaxLocks;

struct Thread {
  Memory<Native> memory{MemoryConfig{}};
  ThreadContext<Native> context{memory};
};

/// Upgrades all of `nodes` at once, as a body whose nodes are counted at run time does, and stores to each.
template <class L, Transaction<L> AnyTx, std::size_t N>
Attempt<bool> add_to_all(AnyTx& tx, std::array<AnyNode<L>, N>& nodes) {
  std::vector<decltype(tx.enter(&nodes[0]))> readers;
  for (AnyNode<L>& node : nodes) readers.push_back(tx.enter(&node));
  readers.push_back(readers.front());
  if (!tx.upgrade(std::span(std::as_const(readers)))) return kRestart;
  for (const auto& reader : readers) reader->value.store(reader->value.load() + 1);
  return true;
}

TEST_CASE("A span of readers is upgraded under every transaction") {
  Thread me;
  std::array<AnyNode<CoarseLayout<Native>>, 5> plain;
  DirectTx<Native> direct(me.context);
  CHECK(add_to_all<CoarseLayout<Native>>(direct, plain));
  CHECK(plain[4].value.load() == 1);

  std::array<Node, 5> nodes;
  Tx tx(me.context);
  CHECK(add_to_all<VersionedLayout<Native>>(tx, nodes));
  for (Node& node : nodes) CHECK_FALSE(node.latch.try_lock(0));
  tx.commit();
  CHECK(nodes[0].value.load() == 2);   // named twice, locked once
  for (Node& node : nodes) CHECK(node.latch.version() == 256);
}

/// `upgrade` locks four nodes of which the third has changed: all others must be free afterwards, as they were.
template <class Upgrade>
void check_all_or_none(Upgrade&& upgrade) {
  Thread me;
  std::array<Node, 4> nodes;
  Tx tx(me.context);
  std::vector<Tx::Reader<Node>> readers;
  for (Node& node : nodes) readers.push_back(tx.enter(&node));
  REQUIRE(nodes[2].latch.try_lock(0));
  nodes[2].latch.unlock(0);
  CHECK_FALSE(upgrade(tx, readers));
  for (const u32 i : {0, 1, 3}) {
    CHECK(readers[i].follow(nullptr));
    CHECK(nodes[i].latch.try_lock(0));
  }
}

TEST_CASE("An upgrade locks all nodes or none") {
  check_all_or_none([](Tx& tx, auto& readers) { return tx.upgrade(readers[0], readers[1], readers[2], readers[3]); });
  check_all_or_none([](Tx& tx, auto& readers) { return tx.upgrade(std::span(std::as_const(readers))); });
}

TEST_CASE("An attempt that locks more nodes than a transaction can hold says which constant to raise") {
  const auto lock = [](u32 count) {
    Thread me;
    std::array<Node, kMaxLocks + 1> nodes;
    Tx tx(me.context);
    std::vector<Tx::Reader<Node>> readers;
    for (u32 i = 0; i < count; ++i) readers.push_back(tx.enter(&nodes[i]));
    const bool locked = tx.upgrade(std::span(std::as_const(readers)));
    tx.release();
    return locked;
  };
  CHECK(lock(kMaxLocks));
  const std::string words = testing::last_words([&] { (void)lock(kMaxLocks + 1); });
  INFO(words);
  CHECK(words.find("raise VersionedTx::kMaxLocks") != std::string::npos);
}

}  // namespace
}  // namespace latchlab
