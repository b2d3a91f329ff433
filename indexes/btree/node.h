#pragma once
// The nodes of the B+-tree, of four lines each. (Latches are only there if the layout has them.)
//
//   Inner  | latch | number of keys | key 0 ... key 13 | child 0 ... child 14 |
//   Leaf   | latch | order          | key 0 ... key 13 | value 0 ... value 13 |
//            ----------- two lines ------------------     ---- two lines ----
//
// Invariants
//   1. The keys of an inner node are sorted. Below child i are the keys k with key[i - 1] <= k < key[i], as far as
//      these keys are there. Children behind the last are null.
//   2. The entries of a leaf stay where they are. Its order says where, and in which order they are (order.h).
//   3. A key that is unused holds Keys::kNone. So a search compares all keys, whatever their number.
//
// A reader may see a node in the middle of a change. Its searches stay within the node all the same, since they depend
// on nothing but their bounds: the number of keys that are less is at most that of all keys.
#include "indexes/btree/keys.h"
#include "indexes/btree/order.h"
#include "src/base/scale.h"
#include "src/base/types.h"
#include "src/machine/machine.h"

namespace latchlab::btree {

/// The part of a node that transactions know. The anchor of the tree is one, too.
template <class Layout>
struct Node {
  [[no_unique_address]] typename Layout::Latch latch;
  static constexpr u8 tag() { return 0; }
};

/// The most keys of a node.
template <class Layout>
inline constexpr u32 kMostKeys = Layout::kScale == Scale::kTiny ? 4 : Order::kMost;

template <class Layout, class Key>
class alignas(kLineBytes) Inner : public Node<Layout> {
 public:
  using Keys = btree::Keys<Layout, Key, kMostKeys<Layout>>;
  using Kept = typename Keys::Kept;
  using Child = Node<Layout>*;
  static constexpr u32 kMost = kMostKeys<Layout>;

  u32 keys() const { return keys_.load(); }
  bool full() const { return keys() == kMost; }
  /// Returns true if so few keys are left that the node should be merged.
  bool sparse() const { return keys() <= kMost / 4; }
  Kept key(u32 i) const { return key_.load(i); }
  /// Returns a child, or null if there is none.
  Child child(u32 i) const { return child_[i].load(); }

  /// Returns the number of the child below which the key belongs.
  [[gnu::always_inline]] u32 child_of(Kept key) const {
    if (key == Keys::kNone) [[unlikely]]
      return keys();
    return key_.less(key + 1);
  }

  /// Makes `child` the first child of a node that has none.
  void begin_with(Child child) { child_[0].store(child); }
  /// Adds a key as number i, and the child behind it. The node must not be full.
  void insert(u32 i, Kept key, Child child) {
    const u32 count = keys();
    for (u32 at = count; at > i; --at) {
      key_.store(at, key_.load(at - 1));
      child_[at + 1].store(child_[at].load());
    }
    key_.store(i, key);
    child_[i + 1].store(child);
    keys_.store(count + 1);
  }
  /// Removes child i, and the key between it and a neighbour. There must be a key.
  void remove_child(u32 i) {
    const u32 count = keys();
    for (u32 at = i == 0 ? 0 : i - 1; at + 1 < count; ++at) key_.store(at, key_.load(at + 1));
    for (u32 at = i; at < count; ++at) child_[at].store(child_[at + 1].load());
    cut(count - 1);
  }
  /// Moves what is behind key number `stay` to `right`, which is empty. Removes that key and returns it.
  Kept split(u32 stay, Inner& right) {
    const u32 count = keys();
    const Kept between = key_.load(stay);
    right.begin_with(child_[stay + 1].load());
    for (u32 i = stay + 1; i < count; ++i) right.insert(i - stay - 1, key_.load(i), child_[i + 1].load());
    cut(stay);
    return between;
  }
  /// Adds the content of the right neighbour, and the key `between` the two.
  void merge(Kept between, const Inner& right) {
    const u32 count = right.keys();
    insert(keys(), between, right.child(0));
    for (u32 i = 0; i < count; ++i) insert(keys(), right.key(i), right.child(i + 1));
  }

 private:
  /// Removes the keys from number `stay` on, and the children behind them.
  void cut(u32 stay) {
    for (u32 i = stay, count = keys(); i < count; ++i) {
      key_.clear(i);
      child_[i + 1].store(nullptr);
    }
    keys_.store(stay);
  }

  typename Layout::template Cell<u32> keys_{0};
  Keys key_;
  typename Layout::template Cell<Child> child_[kMost + 1]{};
};

template <class Layout, class Key>
class alignas(kLineBytes) Leaf : public Node<Layout> {
 public:
  using Keys = btree::Keys<Layout, Key, kMostKeys<Layout>>;
  using Kept = typename Keys::Kept;
  using Value = typename Layout::template Cell<u64>;
  static constexpr u32 kMost = kMostKeys<Layout>;

  Order order() const { return Order(order_.load()); }
  u32 entries() const { return order().entries(); }
  bool full() const { return entries() == kMost; }
  /// Returns true if so few entries are left that the leaf should be merged.
  bool sparse() const { return entries() <= kMost / 4; }
  Kept key(u32 place) const { return key_.load(place); }
  /// Returns the least key of a leaf that is not empty.
  Kept least() const { return key_.load(order().place(0)); }
  const Value& value(u32 place) const { return value_[place]; }
  /// Returns the number of entries with smaller keys.
  u32 rank(Kept key) const { return key_.less(key); }

  /// Returns the value of a key, or null if it is absent.
  [[gnu::always_inline]] const Value* find(Kept key) const {
    if (key == Keys::kNone) [[unlikely]]
      return find_greatest();
    const u32 equal = key_.equal(key);
    return equal == 0 ? nullptr : &value_[std::countr_zero(equal)];
  }
  /// Returns a value that find() returned, to store to it after an upgrade.
  static Value& writable(const Value* value) { return const_cast<Value&>(*value); }

  /// Adds an absent key. The leaf must not be full.
  void insert(Kept key, u64 value) {
    const Order now = order();
    const u32 rank = this->rank(key), place = now.free_place();
    key_.store(place, key);
    value_[place].store(value);
    order_.store(now.inserted(rank).word());
  }
  /// Removes a present key.
  void remove(Kept key) {
    const Order now = order();
    const u32 rank = this->rank(key);
    key_.clear(now.place(rank));
    order_.store(now.removed(rank).word());
  }
  /// Moves all entries but the first `stay` to `right`, which is empty.
  void split(u32 stay, Leaf& right) {
    const Order now = order();
    right.append(*this, stay);
    for (u32 rank = stay; rank < now.entries(); ++rank) key_.clear(now.place(rank));
    order_.store(now.cut(stay).word());
  }
  /// Adds the entries of the right neighbour.
  void merge(const Leaf& right) { append(right, 0); }

 private:
  /// Finds Keys::kNone, which is also what unused places hold.
  [[gnu::noinline, gnu::cold]] const Value* find_greatest() const {
    const Order now = order();
    if (now.entries() == 0) return nullptr;
    const u32 last = now.place(now.entries() - 1);
    return key_.load(last) == Keys::kNone ? &value_[last] : nullptr;
  }
  /// Adds the entries of `from` that begin at rank `first`. All are greater than those that are here.
  void append(const Leaf& from, u32 first) {
    const Order those = from.order();
    Order mine = order();
    for (u32 rank = first; rank < those.entries(); ++rank) {
      const u32 place = mine.free_place(), source = those.place(rank);
      key_.store(place, from.key_.load(source));
      value_[place].store(from.value_[source].load());
      mine = mine.inserted(mine.entries());
    }
    order_.store(mine.word());
  }

  typename Layout::template Cell<u64> order_{Order().word()};
  Keys key_;
  Value value_[kMost]{};
};

}  // namespace latchlab::btree
