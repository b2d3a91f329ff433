#pragma once
// The nodes of the B+-tree, of four lines each. (Latches are only there if the layout has them.)
//
//   Inner  | latch | number of keys | key 0 ... key 13 | child 0 ... child 14 |
//   Leaf   | latch | order          | key 0 ... key 13 | value 0 ... value 13 |
//            ----------- two lines ------------------     ---- two lines ----
//
// With byte strings a key takes two words, so an inner node has 8 of them and a leaf 10.
//
// Invariants
//   1. The keys of an inner node are sorted. Below child i are the keys k with key[i - 1] <= k < key[i], as far as
//      these keys are there. Children behind the last are null.
//   2. The entries of a leaf stay where they are. Its order says where, and in which order they are (order.h).
//   3. A key that is unused holds kNone (keys.h). So a search compares all keys, whatever their number.
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

/// The most keys of an inner node and of a leaf: as many as fit into four lines, beside a latch and a word, with a
/// child or a value for each. They are even, so that a search may compare two at once.
template <class Layout, class Key>
inline constexpr u32 kInnerKeys = Layout::kScale == Scale::kTiny                 ? 4
                                  : Key::kFixedSize == 0                         ? 8
                                  : sizeof(typename Layout::Latch) > sizeof(u64) ? 12
                                                                                 : 14;
template <class Layout, class Key>
inline constexpr u32 kLeafKeys = Layout::kScale == Scale::kTiny                 ? 4
                                 : Key::kFixedSize != 0                         ? 14
                                 : sizeof(typename Layout::Latch) > sizeof(u64) ? 8
                                                                                : 10;

template <class Layout, class Key>
class alignas(kLineBytes) Inner : public Node<Layout> {
 public:
  static constexpr u32 kMost = kInnerKeys<Layout, Key>;
  using Forms = btree::Forms<Key>;
  using Kept = typename Forms::Kept;
  using Sought = typename Forms::Sought;
  using Child = Node<Layout>*;

  u32 keys() const { return keys_.load(); }
  bool full() const { return keys() == kMost; }
  /// Returns true if so few keys are left that the node should be merged.
  bool sparse() const { return keys() <= kMost / 4; }
  Kept key(u32 i) const { return key_.load(i); }
  /// Returns a child, or null if there is none.
  Child child(u32 i) const { return child_[i].load(); }

  /// Returns the number of the child below which the key belongs.
  [[gnu::always_inline]] u32 child_of(const Sought& key) const {
    return key_.not_greater(key, [this]() __attribute__((always_inline)) { return keys(); });
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
  /// Removes child i, and the key between it and a neighbour, which it returns. There must be a key.
  Kept remove_child(u32 i) {
    const u32 count = keys(), number = i == 0 ? 0 : i - 1;
    const Kept removed = key_.load(number);
    for (u32 at = number; at + 1 < count; ++at) key_.store(at, key_.load(at + 1));
    for (u32 at = i; at < count; ++at) child_[at].store(child_[at + 1].load());
    cut(count - 1);
    return removed;
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
  Keys<Layout, Key, kMost> key_;
  typename Layout::template Cell<Child> child_[kMost + 1]{};
};

template <class Layout, class Key>
class alignas(kLineBytes) Leaf : public Node<Layout> {
 public:
  static constexpr u32 kMost = kLeafKeys<Layout, Key>;
  static_assert(kMost <= Order::kMost);
  using Forms = btree::Forms<Key>;
  using Kept = typename Forms::Kept;
  using Sought = typename Forms::Sought;
  using Value = typename Layout::template Cell<u64>;

  Order order() const { return Order(order_.load()); }
  u32 entries() const { return order().entries(); }
  bool full() const { return entries() == kMost; }
  /// Returns true if so few entries are left that the leaf should be merged.
  bool sparse() const { return entries() <= kMost / 4; }
  Kept key(u32 place) const { return key_.load(place); }
  /// Returns the key with this rank.
  Kept key_at(u32 rank) const { return key_.load(order().place(rank)); }
  const Value& value(u32 place) const { return value_[place]; }
  /// Returns the number of entries with smaller keys.
  u32 rank(const Sought& key) const { return key_.less(key); }

  /// Returns the value of a key, or null if it is absent.
  [[gnu::always_inline]] const Value* find(const Sought& key) const {
    const u32 place = key_.find(key, [this] { return last_place(); });
    return place == kMost ? nullptr : &value_[place];
  }
  /// Returns a value that find() returned, to store to it after an upgrade.
  static Value& writable(const Value* value) { return const_cast<Value&>(*value); }

  /// Adds an absent key. The leaf must not be full.
  void insert(Kept key, u64 value) {
    const Order now = order();
    const u32 rank = this->rank(Forms::sought(key)), place = now.free_place();
    key_.store(place, key);
    value_[place].store(value);
    order_.store(now.inserted(rank).word());
  }
  /// Removes a present key, and returns it.
  Kept remove(const Sought& key) {
    const Order now = order();
    const u32 rank = this->rank(key), place = now.place(rank);
    const Kept removed = key_.load(place);
    key_.clear(place);
    order_.store(now.removed(rank).word());
    return removed;
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
  /// Returns the place of the greatest key, or kMost.
  [[gnu::noinline, gnu::cold]] u32 last_place() const {
    const Order now = order();
    return now.entries() == 0 ? kMost : now.place(now.entries() - 1);
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
  Keys<Layout, Key, kMost> key_;
  Value value_[kMost]{};
};

}  // namespace latchlab::btree
