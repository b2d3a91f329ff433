// Tests of the verbs of transactions: upgrades of readers that are named one by one or counted at run time, steps with
// a guess, links, and stripes.
#include <array>
#include <map>
#include <span>
#include <string>
#include <thread>
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

struct ThreadState {
  Memory<Native> memory{MemoryConfig{}};
  PoolLease<Native> pool{memory};
};

/// Upgrades all of `nodes` at once, like a body whose nodes are counted at run time, and stores to each.
template <class L, Transaction<L> AnyTx, std::size_t N>
Attempt<bool> add_to_all(AnyTx& tx, std::array<AnyNode<L>, N>& nodes) {
  std::vector<decltype(tx.enter(&nodes[0]))> readers;
  for (AnyNode<L>& node : nodes) readers.push_back(tx.enter(&node));
  readers.push_back(readers.front());
  if (!tx.upgrade(std::span(std::as_const(readers)))) return kRestart;
  for (const auto& reader : readers) reader->value.store(reader->value.load() + 1);
  return true;
}

TEST_CASE("Every transaction upgrades a span of readers") {
  ThreadState me;
  std::array<AnyNode<CoarseLayout<Native>>, 5> plain;
  DirectTx<Native> direct(*me.pool);
  CHECK(add_to_all<CoarseLayout<Native>>(direct, plain));
  CHECK(plain[4].value.load() == 1);

  std::array<Node, 5> nodes;
  Tx tx(*me.pool);
  CHECK(add_to_all<VersionedLayout<Native>>(tx, nodes));
  for (Node& node : nodes) CHECK_FALSE(node.latch.try_lock(0));
  tx.commit();
  CHECK(nodes[0].value.load() == 2);  // named twice, locked once
  for (Node& node : nodes) CHECK(node.latch.version() == 256);
}

/// Checks that `upgrade` of four nodes, the third of which has changed, leaves all others unlocked and unchanged.
template <class Upgrade>
void check_all_or_none(Upgrade&& upgrade) {
  ThreadState me;
  std::array<Node, 4> nodes;
  Tx tx(*me.pool);
  std::vector<Tx::Reader<Node>> readers;
  for (Node& node : nodes) readers.push_back(tx.enter(&node));
  REQUIRE(nodes[2].latch.try_lock(0));
  nodes[2].latch.set(VersionLatch<Native>::changed(0));
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

TEST_CASE("A node that was read twice is not upgraded if it changed in between") {
  ThreadState me;
  Node node;
  Tx tx(*me.pool);
  const auto early = tx.enter(&node);
  REQUIRE(node.latch.try_lock(0));
  node.latch.set(VersionLatch<Native>::changed(0));
  const auto late = tx.enter(&node);
  CHECK_FALSE(tx.upgrade(late, early));  // the late reader locks the node, and the early one has another version
  CHECK(node.latch.word() == 256);
  CHECK_FALSE(tx.upgrade(std::span<const Tx::Reader<Node>>(std::array{late, early})));
  CHECK(node.latch.word() == 256);
  CHECK(tx.upgrade(late, late));
  tx.release();
}

using WordNode = AnyWordNode<VersionedLayout<Native>>;
constexpr u64 kOwn = ((u64{1} << WordLatch<Native>::kOwnBits) - 1) << WordLatch<Native>::kOwnShift;

TEST_CASE("The word of a node changes at the commit, with the version, and readers notice") {
  ThreadState me;
  WordNode node;
  node.word.begin_with(4);
  Tx tx(*me.pool);
  const auto reader = tx.enter(&node);
  CHECK((reader.word() & kOwn) == 4);
  REQUIRE(tx.upgrade(reader));
  CHECK_FALSE(reader.follow(nullptr));  // locked
  tx.set_word(reader, 8);
  tx.set_word(reader, ~u64{0});
  CHECK((node.word.load() & kOwn) == 4);
  tx.commit();
  CHECK((node.word.load() & kOwn) == kOwn);
  CHECK_FALSE(reader.follow(nullptr));

  const auto again = tx.enter(&node);
  REQUIRE(tx.upgrade(again));
  tx.commit();  // without another word, only the version changes
  CHECK((node.word.load() & kOwn) == kOwn);
  CHECK_FALSE(again.follow(nullptr));

  DirectTx<Native> direct(*me.pool);
  AnyWordNode<CoarseLayout<Native>> plain;
  plain.word.begin_with(4);
  const auto at = direct.enter(&plain);
  CHECK(at.word() == 4);
  REQUIRE(direct.upgrade(at));
  direct.set_word(at, 8);
  CHECK(at.word() == 8);
}

TEST_CASE("While values of a node are updated, its readers go on, and nobody else may change it") {
  ThreadState me;
  WordNode node;
  Tx tx(*me.pool), other(*me.pool);
  const auto early = tx.enter(&node);
  REQUIRE(tx.upgrade_value(early));
  node.value.store(7);
  CHECK(early.follow(nullptr));
  const auto meanwhile = other.enter(&node);
  CHECK(meanwhile.follow(nullptr));
  CHECK_FALSE(other.upgrade_value(meanwhile));
  CHECK_FALSE(other.upgrade(meanwhile));
  tx.commit();
  CHECK(early.follow(nullptr));
  CHECK(meanwhile.follow(nullptr));
  CHECK(other.upgrade(meanwhile));  // the value is new, the node is not
  other.commit();
  CHECK_FALSE(early.follow(nullptr));
  CHECK_FALSE(tx.upgrade_value(early));
}

TEST_CASE("The versions of a word do not run over into the node's bits") {
  u64 word = 0;
  for (u32 i = 0; i < (1u << 23); ++i) word = WordLatch<Native>::changed(word, kOwn);
  CHECK(word == kOwn);  // the versions have begun again
  CHECK(WordLatch<Native>::changed(kOwn | WordLatch<Native>::kUpdating, 0) ==
        u64{1} << (WordLatch<Native>::kOwnShift + WordLatch<Native>::kOwnBits));
}

/// A node whose tag can be guessed.
template <class L>
struct Tagged {
  explicit Tagged(u8 tag) : latch(tag), tag_(tag) {}
  u8 tag() const { return tag_; }
  [[no_unique_address]] typename L::Latch latch;

 private:
  const u8 tag_;
};

TEST_CASE("A step with a guess succeeds either way, and says whether the guess was right") {
  ThreadState me;
  Tagged<CoarseLayout<Native>> plain(6), below(8);
  auto direct = DirectTx<Native>(*me.pool).enter(&plain);
  CHECK(direct.step_to(&below, 8) == GuessResult::kGuessed);
  CHECK(direct.node() == &below);
  CHECK(direct.step_to(&plain, 8) == GuessResult::kOther);
  CHECK(direct.node() == &plain);

  Tagged<VersionedLayout<Native>> parent(6), child(8);
  Tx tx(*me.pool);
  for (const u8 guess : {u8{8}, u8{6}}) {
    auto at = tx.enter(&parent);
    CHECK(at.step_to(&child, guess) == (guess == 8 ? GuessResult::kGuessed : GuessResult::kOther));
    CHECK(at.node() == &child);
    CHECK(at.follow(nullptr));
    const u64 version = child.latch.version();
    REQUIRE(child.latch.try_lock(version));
    CHECK_FALSE(at.follow(nullptr));
    child.latch.set(VersionLatch<Native>::changed(version));
    CHECK(VersionLatch<Native>::tag(child.latch.version()) == 8);
    CHECK_FALSE(at.follow(nullptr));
  }
  auto late = tx.enter(&parent);
  const u64 version = parent.latch.version();
  REQUIRE(parent.latch.try_lock(version));
  parent.latch.set(VersionLatch<Native>::changed(version));
  CHECK(late.step_to(&child, 8) == GuessResult::kChanged);
  CHECK(late.node() == &parent);
}

TEST_CASE("Entering by a link fails if the link has changed, and not if the parent has") {
  ThreadState me;
  Tagged<VersionedLayout<Native>> parent(6), child(8);
  Tx tx(*me.pool);
  Tx::Reader<Tagged<VersionedLayout<Native>>> at;
  VersionedLayout<Native>::Cell<u64> link(7);  // a cell of the parent
  for (const u8 guess : {u8{8}, u8{6}}) {
    const u64 version = parent.latch.version();
    REQUIRE(parent.latch.try_lock(version));
    CHECK(tx.enter_by(at, &child, guess, link, 7) == (guess == 8 ? GuessResult::kGuessed : GuessResult::kOther));
    parent.latch.set(VersionLatch<Native>::changed(version));
    CHECK(at.node() == &child);
    CHECK(at.follow(nullptr));
  }
  CHECK(tx.enter_by(at, &child, 8, link, 9) == GuessResult::kChanged);
  CHECK(tx.enter_by(at, &child, 6, link, 9) == GuessResult::kChanged);

  DirectTx<Native> direct_tx(*me.pool);
  DirectTx<Native>::Reader<Tagged<CoarseLayout<Native>>> direct;
  Tagged<CoarseLayout<Native>> plain(6);
  const CoarseLayout<Native>::Cell<u64> plain_link(7);
  CHECK(direct_tx.enter_by(direct, &plain, 6, plain_link, 7) == GuessResult::kGuessed);
  CHECK(direct_tx.enter_by(direct, &plain, 8, plain_link, 7) == GuessResult::kOther);
  CHECK(direct.node() == &plain);
}

TEST_CASE("A step with a guess waits for a locked child and still tells its tag") {
  ThreadState me;
  Tagged<VersionedLayout<Native>> parent(6), child(8);
  const u64 version = child.latch.version();
  REQUIRE(child.latch.try_lock(version));
  Tx tx(*me.pool);
  auto at = tx.enter(&parent);
  std::thread other([&] { child.latch.set(VersionLatch<Native>::changed(version)); });  // before or during the wait
  CHECK(at.step_to(&child, 8) == GuessResult::kGuessed);
  other.join();
  CHECK(at.follow(nullptr));
}

TEST_CASE("Nodes that share a stripe are locked once, and a change of one is a change of all") {
  using StripedTx = VersionedTx<Native, NoBugs, LatchInStripe<Native>>;
  using Striped = Tagged<UnlatchedLayout<Native>>;
  ThreadState me;
  const Stripes<Native> one(1);
  Striped parent(6), child(8), stranger(8);
  VersionLatch<Native>& latch = one.of(&parent);
  REQUIRE(&latch == &one.of(&child));
  StripedTx tx(*me.pool, LatchInStripe<Native>(one));

  auto before = tx.enter(&parent), at = before;
  CHECK(at.step_to(&child, 8) == GuessResult::kGuessed);
  CHECK(at.step_to(&parent, 8) == GuessResult::kOther);
  REQUIRE(at.step_to(&child));
  CHECK(at.node() == &child);
  CHECK(tx.upgrade(before, at));
  CHECK_FALSE(latch.try_lock(0));
  tx.commit();
  CHECK(latch.version() == 256);

  auto late = tx.enter(&parent);
  CHECK_FALSE(before.step_to(&child));
  CHECK(before.step_to(&stranger, 8) == GuessResult::kChanged);
  CHECK_FALSE(tx.upgrade(late, at));  // one latch with two versions
  CHECK(latch.version() == 256);      // unlocked again
  CHECK(late.follow(nullptr));
  UnlatchedLayout<Native>::Cell<u64> link(7);
  StripedTx::Reader<Striped> reader;  // has no node and no table yet
  CHECK(tx.enter_by(reader, &child, 8, link, 7) == GuessResult::kGuessed);
  CHECK(tx.enter_by(reader, &child, 8, link, 9) == GuessResult::kChanged);
}

TEST_CASE("Stripes: neighbouring addresses scatter over all stripes") {
  const Stripes<Native> few(7);
  std::array<u64, 1000> nodes;
  std::map<VersionLatch<Native>*, u32> hits;
  for (const u64& node : nodes) ++hits[&few.of(&node)];
  CHECK(hits.size() == 7);
  for (const auto& [latch, count] : hits) CHECK(count > nodes.size() / 14);
}

TEST_CASE("If an attempt locks too many nodes, the message names the constant to raise") {
  const auto lock = [](u32 count) {
    ThreadState me;
    std::array<Node, kMaxLocks + 1> nodes;
    Tx tx(*me.pool);
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
